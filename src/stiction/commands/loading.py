"""Slow imports, with a word at the terminal meanwhile: torch alone takes seconds."""

from importlib import import_module
from typing import Any


def load(module: str) -> Any:
    """The module of this name in stiction."""
    from stiction.basics.progress import status

    with status("Loading"):
        return import_module(f"stiction.{module}")
