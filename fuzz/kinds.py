"""What is tried: one line a kind."""

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of attempts.

    what: in a few words, for the table
    cases: how many are tried, and how many in the quick version
    size: how many things a case tries at once, such as contacts; the table counts these
    """

    what: str
    cases: int
    quick: int
    size: int = 1


KINDS: dict[str, Kind] = {  # by the name of the module; those that take longest come first
    "calls": Kind("calls", 20_000, 600),
    "contacts": Kind("contacts with the worst laws", 20_000, 400, size=50),
    "robots": Kind("random MuJoCo models", 1000, 40),
    "jointed": Kind("parts with joints", 1000, 40),
    "models": Kind("model files", 10_000, 300),
    "recordings": Kind("recordings", 5000, 150),
    "datasets": Kind("data sets and contacts", 2000, 80),
}
