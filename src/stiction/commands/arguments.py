"""What several commands share: kinds of arguments, and names with a line for each in the help."""

from collections.abc import Callable, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, TypeVar

import tyro

OptionalFolder = Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(optional)")]
Triple = Annotated[tuple[float, float, float], tyro.conf.arg(metavar="X Y Z")]
F = TypeVar("F", bound=Callable[..., None])


def scale_of(quick: bool, full: bool) -> str:
    """The scale of a measurement, from its two flags."""
    if quick and full:
        from stiction.basics.checks import InputError

        raise InputError("Give --quick or --full, not both.")
    return "quick" if quick else "full" if full else "usual"


def lines(about: Mapping[str, str]) -> str:
    """Names with what each is about, one a line."""
    width = max(map(len, about))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in about.items())


def explains(about: Mapping[str, str]) -> Callable[[F], F]:
    """Put names, each with its line, into the help of a command, before its arguments."""

    def explained(command: F) -> F:
        text, heading, arguments = cleandoc(command.__doc__ or "").partition("Args:\n")
        command.__doc__ = f"{text.rstrip()}\n{lines(about)}\n\n{heading}{arguments}"
        return command

    return explained
