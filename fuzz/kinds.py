"""The targets of the fuzz tests."""

from typing import NamedTuple


class Kind(NamedTuple):
    """A target.

    what: its name in the table
    cases, quick: number of attempts, also of the quick version
    size: items per attempt, such as contacts, which the table counts
    """

    what: str
    cases: int
    quick: int
    size: int = 1


KINDS: dict[str, Kind] = {  # by the name of the module; the slowest first
    "calls": Kind("calls", 20_000, 600),
    "contacts": Kind("contacts with the worst laws", 20_000, 400, size=50),
    "robots": Kind("random MuJoCo models", 1000, 40),
    "jointed": Kind("parts with joints", 1000, 40),
    "models": Kind("model files", 10_000, 300),
    "recordings": Kind("recordings", 5000, 150),
    "datasets": Kind("data sets and contacts", 2000, 80),
}
