"""Result files: written whole or not at all, with what they were made with."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`: it takes the place of `path` if the block succeeds, and disappears if not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")  # writers look at the suffix
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` as JSON that a person can read."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of stiction and of `packages`, as installed."""
    return {"python": platform.python_version(), **{name: _version(name) for name in ("stiction", *packages)}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from the sources
        return "not installed"
