"""What stands for the ground truth of contacts that were not thrown here."""

from dataclasses import dataclass, field
from typing import Any

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.state import State, Trajectory
from stiction.learning.collect.truth import ELSEWHERE, Truth


@dataclass(frozen=True)
class Elsewhere(Truth):
    """The world that contacts came from, which cannot be asked.

    sha256: of the contacts
    """

    sha256: str
    name: str = field(default=ELSEWHERE, init=False)

    def _throw(self, body: Body, state: State, steps: int, **how: Any) -> Trajectory:
        raise checks.InputError("These contacts came from elsewhere, not from a ground truth that can be asked again.")

    def to_dict(self) -> dict[str, Any]:
        return {"name": ELSEWHERE, "sha256": self.sha256}
