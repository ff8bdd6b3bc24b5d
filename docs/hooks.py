"""What mkdocs is told beyond mkdocs.yml: pages of the checkout's root join the site, links to code become code."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# A file of the root, and the page that it is on the site.
PAGES = {"README.md": "start.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=re.sub(r"\bdocs/(?=[\w/.-]+\.(?:md|png)\b)", "", text)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that leave docs/ lead to the page of that file, or show its name."""

    def lead(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        folder = (ROOT / "docs" / page.file.src_uri).parent
        path = (folder / target).resolve() if (folder / target).exists() else (ROOT / target).resolve()
        if target in PAGES.values() or ((folder / target).exists() and path.is_relative_to(ROOT / "docs")):
            return match[0]
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else target
        up = "../" * page.file.src_uri.count("/")
        if name in PAGES:
            return f"[{words}]({up}{PAGES[name]}{anchor})"
        return f"{words} (`{name}`)" if name not in words else words

    return LINK.sub(lead, markdown)
