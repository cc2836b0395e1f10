"""The error that all input checks raise, and the parts of its sentences. Imports no NumPy, so that help is quick."""

from collections.abc import Collection
from difflib import get_close_matches


class InputError(ValueError):
    """Input that stiction cannot work with. The message is one sentence: what was wrong, what was given, what is
    allowed."""


def shown(value: object) -> str:
    """A value as error messages show it: on one line of at most 80 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # such as an integer of more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def first_line(error: BaseException) -> str:
    """The first line of another library's error message, short enough to be quoted."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".")[:150]


def known(what: str, name: str, names: Collection[str]) -> str:
    """`name` if it is one of `names`; the error suggests the closest ones. what: such as "study"."""
    if name in names:
        return name
    near = get_close_matches(name, names)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}."
    raise InputError(f"There is no {what} {name!r}; {hint}")
