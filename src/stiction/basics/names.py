"""Names that a person types: one that does not exist is answered with the nearest that do."""

from collections.abc import Collection
from difflib import get_close_matches


def known(what: str, name: str, names: Collection[str]) -> str:
    """`name`, which must be one of `names`; `what` says of what it is the name, such as "study"."""
    if name in names:
        return name
    from stiction.basics.checks import InputError  # brings numpy, for which help need not wait

    near = get_close_matches(name, names)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}."
    raise InputError(f"There is no {what} {name!r}; {hint}")
