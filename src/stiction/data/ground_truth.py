"""The ground truth that is asked: what all of them have, and those that have names, DART and the Coulomb law."""

from copy import copy
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.coulomb import DART_SOFTNESS, CoulombLaw
from stiction.laws.law import GRAVITY, Law
from stiction.laws.modelfile import load_law
from stiction.simulation.rollout import rollout

DART = ("dantzig", "nsgs")
COULOMB = {"coulomb-box": "box", "coulomb-round": "round"}
LAW = "law"
TRUTHS = (*DART, *COULOMB, LAW)
OWN, ELSEWHERE = "own", "elsewhere"  # truths that no file can hold: see own_truth.py and elsewhere.py


class Truth:
    """What a plan asks of its ground truth.

    name: says which one it is, in the plan's description
    friction: its coefficients, where it is known to have any
    """

    name: str = ""
    friction: tuple[float, ...] = ()

    def throw(
        self,
        body: Body,
        state: State,
        steps: int,
        *,
        timestep: float = 0.002,
        gravity: ArrayLike = GRAVITY,
        finite: bool = True,
    ) -> Trajectory:
        """Throw `body` from one state or from each state of a batch; with steps=1, ask what comes next.

        timestep: [s]
        gravity: [m/s^2], shape (3,)
        finite: refuse a motion that runs out of numbers
        """
        return self._throw(body, state, steps, timestep=timestep, gravity=gravity, finite=finite)

    def _throw(self, body: Body, state: State, steps: int, **how: Any) -> Trajectory:
        """The same for each ground truth; `how` has timestep, gravity and finite."""
        raise NotImplementedError(f"{type(self).__name__} must define _throw.")

    def packages(self) -> tuple[str, ...]:
        """The distributions whose versions decide the bits of a throw."""
        return ("stiction", "numpy", "scipy")

    def to_dict(self) -> dict[str, Any]:
        """A plain description that JSON can hold."""
        raise NotImplementedError(f"{type(self).__name__} must define to_dict.")

    def packed(self) -> bytes | None:
        """What the description cannot say, for the workers of this run; None if it says all."""
        return None


@dataclass(frozen=True)
class GroundTruth(Truth):
    """A ground truth that has a name.

    name: DART's solver, "dantzig" or "nsgs", the CoulombLaw "coulomb-box" or "coulomb-round", or "law"
    friction: coefficient, or (mu_x, mu_y) along the world axes, which only the Coulomb laws know
    softness: of the Coulomb laws, see CoulombLaw; DART has its own
    law: name or path of the law that is thrown where the name is "law", in whole steps, without cuts at impacts
    """

    name: str = "dantzig"
    friction: tuple[float, ...] = (0.5,)
    softness: float = DART_SOFTNESS
    law: str = ""

    def __post_init__(self) -> None:
        checks.choice("truth", self.name, TRUTHS)
        friction = checks.array("friction", self.friction, ()).reshape(-1)
        if friction.shape not in ((1,), (2,)) or (friction < 0).any():
            raise checks.InputError(
                f"friction must be one number or two (mu_x, mu_y), none negative, got {friction.tolist()!r:.80}."
            )
        if self.name in DART and len(friction) > 1:
            raise checks.InputError(
                f"DART knows one friction coefficient, got {friction.tolist()}: for two, take the truth "
                f"{' or '.join(COULOMB)}."
            )
        if (self.name == LAW) != bool(self.law):
            raise checks.InputError("A law is thrown with the truth 'law', and with no other.")
        object.__setattr__(self, "friction", tuple(friction.tolist()))
        object.__setattr__(self, "softness", checks.non_negative("softness", self.softness))

    def _throw(self, body: Body, state: State, steps: int, **how: Any) -> Trajectory:
        if self.name == LAW:
            return throw_law(load_law(self.law), state, steps, **how)
        if self.name in DART:
            return _dart().throw(body, state, steps, friction=self.friction[0], solver=self.name, **how)
        law = CoulombLaw(body, self.friction, cone=COULOMB[self.name], softness=self.softness)
        return rollout(law, state, steps, **how)

    def packages(self) -> tuple[str, ...]:
        return super().packages() + (("dartpy",) if self.name in DART else ())

    def to_dict(self) -> dict[str, Any]:
        plain = {**asdict(self), "friction": list(self.friction)}
        return plain if self.law else {name: value for name, value in plain.items() if name != "law"}

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> "GroundTruth":
        """The ground truth that `to_dict` described."""
        names = {field.name for field in fields(cls)}
        if not isinstance(description, dict) or set(description) | {"law"} != names:
            raise checks.InputError(f"A ground truth must have the fields {', '.join(sorted(names))}.")
        return cls(**description)


def throw_law(
    law: Law, state: State, steps: int, *, timestep: float, gravity: ArrayLike, finite: bool = True
) -> Trajectory:
    """Throw the body of a law in whole steps onto a ground at z = 0, which is where data sets have it."""
    if law.ground != 0.0:
        law = copy(law)  # the law itself belongs to whoever gave it
        law.ground = 0.0
    return rollout(law, state, steps, timestep=timestep, gravity=gravity, substeps=0, finite=finite)


def _dart():
    try:
        from stiction import dart  # only where it is needed: DART may be missing
    except ImportError as error:
        raise checks.InputError(needs("The ground truth dantzig or nsgs", "dartpy")) from error
    return dart


# What stands for the ground truth of contacts that were not thrown here.


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
