"""Images, recordings and videos that raters were shown, on pages that people look at afterwards.

A page of its own folder links to the files, by their paths from there. One that is sent around holds small images
itself and says of the rest what it is.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.media import read_media
from seedvote.dialogue.records import Part

LARGEST = 200_000  # bytes of an image that a page holds itself


def link_files(folder: Path, page: Path) -> Callable[[str], str]:
    """How a page links to the files of this folder.

    >>> link_files(Path("study"), Path("study/out/browse.html"))("img/a b.png")
    '../img/a%20b.png'
    """
    return lambda name: quote(os.path.relpath(folder / name, page.parent).replace(os.sep, "/"))


def embed_images(folder: Path) -> Callable[[Part], str]:
    """How a page holds an image: as its address; empty for what is large, gone or no image."""

    def embed(part: Part) -> str:
        try:
            file = read_media(folder, part.file, "image") if part.type == "image" else None
        except InputError:
            return ""
        if file is None or file.size > LARGEST:
            return ""
        return f"data:{file.kind};base64,{base64.b64encode(file.path.read_bytes()).decode()}"

    return embed
