"""Makes Mephisto 1.1.1, the newest published, importable on Python 3.11 and 3.12, and keeps it inside one folder.

What stands in the way, each with its cure:
- its configuration uses dataclass instances as defaults, which Python 3.11 refuses: while it is imported, such
  defaults become factories that copy them, which is what they meant;
- importing it writes ~/.mephisto, and its first use asks for a data directory on standard input: its home is a folder
  of the study, and the answer is written there beforehand;
- it imports distutils, which Python 3.12 no longer has: where it is missing, a module with the one function is there;
- its operator opens port 3031 for metrics, and its mock units print addresses that lead nowhere: ours do not;
- it looks every ten seconds whether a run is over, and makes whoever stops it wait as long: ours looks every second.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import importlib.util
import inspect
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from seedvote.dialogue.errors import InputError


def settle_in(home: Path) -> None:
    """Import Mephisto with `home` as its home; may be called again, for another folder, in the same process."""
    if importlib.util.find_spec("mephisto") is None:
        raise InputError(
            "Mephisto is not installed. Type: pip install '.[mephisto]', then pip install --no-deps mephisto==1.1.1 "
            "(its own pins are older than the rest of this environment, hence --no-deps)."
        )
    stand_in_for_distutils()
    data = home.resolve() / "data"
    data.mkdir(parents=True, exist_ok=True)
    with _at_home(home), _lenient_dataclasses(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("mephisto")
        config: Any = importlib.import_module("mephisto.operations.config_handler")
        operator: Any = importlib.import_module("mephisto.operations.operator")
        launcher: Any = importlib.import_module("mephisto.operations.task_launcher")
        mock: Any = importlib.import_module("mephisto.abstractions.providers.mock.mock_unit")
    config.DEFAULT_CONFIG_FOLDER = str(home.resolve() / ".mephisto")
    config.DEFAULT_CONFIG_FILE = str(home.resolve() / ".mephisto" / "config.yml")
    config.init_config()
    config.add_config_arg(config.CORE_SECTION, config.DATA_STORAGE_KEY, str(data))
    sys.modules["mephisto.utils.dirs"].__dict__["loaded_data_dir"] = str(data)
    operator.start_metrics_server = lambda *_: None
    operator.launch_prometheus_server = lambda *_: False
    operator.RUN_STATUS_POLL_TIME = 1
    mock.print = lambda *_: None
    launcher.tqdm = iter


def stand_in_for_distutils() -> None:
    """Python 3.12 has no distutils, of which Mephisto needs one function: it copies a folder over another one."""
    if importlib.util.find_spec("distutils") is not None:
        return

    def copy_tree(source: str, target: str, **_: Any) -> list[str]:
        shutil.copytree(source, target, dirs_exist_ok=True)
        return [str(path) for path in Path(target).rglob("*") if path.is_file()]

    package, module = ModuleType("distutils"), ModuleType("distutils.dir_util")
    vars(module)["copy_tree"], vars(package)["dir_util"] = copy_tree, module
    sys.modules |= {"distutils": package, "distutils.dir_util": module}


@contextmanager
def _at_home(home: Path) -> Iterator[None]:
    """HOME for the time of the import: Mephisto asks for it once."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(home.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


@contextmanager
def _lenient_dataclasses() -> Iterator[None]:
    """`dataclass` as it was before Python 3.11: a dataclass instance may be a default."""
    strict: Callable[..., Any] = dataclasses.dataclass

    def make_lenient(cls: type | None = None, /, **options: Any) -> Any:
        def decorate_class(decorated: type) -> Any:
            for name in inspect.get_annotations(decorated):
                default = decorated.__dict__.get(name)
                if dataclasses.is_dataclass(default) and type(default).__hash__ is None:
                    setattr(decorated, name, dataclasses.field(default_factory=partial(copy.deepcopy, default)))
            return strict(decorated, **options)

        return decorate_class if cls is None else decorate_class(cls)

    dataclasses.dataclass = make_lenient
    try:
        yield
    finally:
        dataclasses.dataclass = strict
