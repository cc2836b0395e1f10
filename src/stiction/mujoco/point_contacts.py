"""Materials on pairs of geoms, at MuJoCo's own contact points: see core/mujoco/point_step.hpp."""

import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.basics import checks
from stiction.laws.material import Material
from stiction.mujoco import engine, mjcf, point_warnings
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.pair_contact import PairContact
from stiction.mujoco.pairs import Pairs

LEAST_GAP = 0.02  # [m] at which contacts are foreseen at least; with 1 mm, robots went 29 mm deep
FORESEEN_SPEED = 5.0  # [m/s] of approach that is foreseen whatever the time step
_REFUSALS = {
    _core.Outcome.RESET: "MuJoCo found a bad number in its accelerations, and began anew by itself unless its flag "
    "autoreset is off: the forces or the time step ({timestep:g} s) are too great for this model.",
    _core.Outcome.OTHER_INTEGRATOR: "The integrator was changed to one whose step cannot be split: use Euler, implicit "
    "or implicitfast.",
    _core.Outcome.NO_TIMESTEP: "The time step must be above zero, got {timestep:g} s.",
    _core.Outcome.SLEEP: "Sleeping bodies do not ask their law: switch the flag sleep off.",
    _core.Outcome.BAD_CONTROL: "MuJoCo found a control that is no number, and took a step without controls.",
}
# Gaps of geoms and of pairs of models before these were changed, for a second simulation on the same model.
_own_gaps: WeakKeyDictionary[Any, tuple[list[float], list[float]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class PointPlan:
    """How materials act: which holds between which geoms, and how much loaded points yield.

    gaps: of each geom [m], as the model has it by itself; pair_gaps: of pairs of geoms that the model names
    """

    pairs: Pairs
    softness: float
    gaps: list[float]
    pair_gaps: list[tuple[int, int, float]]

    @classmethod
    def of(
        cls,
        model: Any,
        laws: Mapping[Hashable, Material],
        *,
        pairs: Pairs,
        softness: float,
        gap: float | None,
    ) -> "PointPlan":
        """The plan for these materials; the model is prepared for it. pairs: where they hold"""
        usual = max(LEAST_GAP, FORESEEN_SPEED * model.opt.timestep)
        gap = usual if gap is None else checks.positive("gap [m]", gap)
        softness = checks.non_negative("softness", softness)
        point_warnings.tell_of_model(model, pairs, list(laws))
        own = _own_gaps.setdefault(model, (model.geom_gap.tolist(), model.pair_gap.tolist()))
        foresee(model, pairs, gap)  # the first change of the model: all that may be refused has been
        pair_gaps = list(zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), own[1]))
        return cls(pairs, softness, own[0], pair_gaps)

    def begin(self, model: Any, data: Any, laws: dict[Hashable, Material]) -> "PointContacts":
        """Make what the native core needs, on a model that is prepared."""
        return PointContacts(model, data, laws, self)


def foresee(model: Any, pairs: Pairs, gap: float) -> None:
    """Change the model so that contacts with laws are listed before they touch.

    Which are active stays as it is: MuJoCo lists what is nearer than margin and gap together, and acts on what is
    nearer than the margin.
    """
    # Gaps of two geoms add up. Between geoms that no key names there may be a law, too: by the key "*".
    class_of = np.array(pairs.class_of, dtype=int)
    table = np.array(pairs.table).reshape(pairs.classes, pairs.classes)
    unnamed = gap / 2 * (table[: pairs.unnamed, : pairs.unnamed] >= 0).any(axis=1)
    wanted = np.append(unnamed, np.full(pairs.classes - pairs.unnamed, gap))[class_of]
    model.geom_gap[:] = np.maximum(model.geom_gap, wanted)
    reach = model.geom_margin + model.geom_gap
    np.maximum.at(model.body_margin, model.geom_bodyid, reach)
    for k in range(model.npair):
        if pairs.covers(int(model.pair_geom1[k]), int(model.pair_geom2[k])):
            model.pair_gap[k] = max(model.pair_gap[k], gap)


def native_law(material: Material) -> _core.PairLaw:
    """A material as the core has it."""
    bounce = material.restitution
    return _core.PairLaw(
        map=material.native,
        e0=bounce.e0,
        fall=bounce.fall,
        threshold=bounce.threshold,
        body_axes=material.axes == "body",
        parts=material.parts,
    )


def touch_sensors(model: Any) -> list[tuple[int, int, int, int, float]]:
    """Touch sensors that show the present: places in sensordata, sites, bodies, shapes of the sites, cutoffs [N].

    MuJoCo fills them, but does not see contacts with laws, which are to be added. One that shows the past is left out.
    """
    found = []
    for k in np.flatnonzero(model.sensor_type == mujoco.mjtSensor.mjSENS_TOUCH):
        if model.sensor_historyadr[k] >= 0 or model.sensor_interval[k].any():
            continue
        site = int(model.sensor_objid[k])
        shape, body = int(model.site_type[site]), int(model.site_bodyid[site])
        found.append((int(model.sensor_adr[k]), site, body, shape, float(model.sensor_cutoff[k])))
    return found


class PointContacts:
    """The pairs with materials of a simulation, and what a step does with their contacts."""

    def __init__(self, model: Any, data: Any, laws: dict[Hashable, Material], plan: PointPlan) -> None:
        pairs = plan.pairs
        self._model, self._data = model, data
        self._said = self._said_unsolved = False
        self._unsolved = 0  # when it was last looked at
        self.core = engine.point_step(
            model,
            data,
            laws=[native_law(material) for material in laws.values()],
            class_of=pairs.class_of,
            classes=pairs.classes,
            unnamed=pairs.unnamed,
            table=pairs.table,
            gaps=plan.gaps,
            pair_gaps=plan.pair_gaps,
            softness=plan.softness,
        )
        self.core.set_touch_sensors(touch_sensors(model))
        bodies = [first.bodies[0] if len(first.bodies) == 1 else None for first, _ in pairs.sides]
        self.contacts = {key: PairContact(self.core, k, data, bodies[k]) for k, key in enumerate(laws)}

    def steps(self, count: int, before: int) -> None:
        """Time steps, all in one call of the core. before: how many the simulation has made, for messages"""
        outcome, done = self.core.steps(count)
        if outcome != _core.Outcome.DONE:
            self.tell(outcome, before + done)
        self.warn()

    def warn(self, but: Collection[Hashable] = ()) -> None:
        """Warn once of what was seen in the steps so far. but: bodies of which others warn"""
        if self.core.any_uncovered and not self._said:
            self._say([name for name in self.uncovered if name not in but])
        if not self._said_unsolved and self.core.unsolved != self._unsolved:
            self._unsolved = self.core.unsolved
            when = f"until t = {self._data.time:g} s"
            counts = self.core.unsolved, self.core.contact_steps
            self._said_unsolved = point_warnings.tell_of_unsolved(*counts, when, stacklevel=4)

    def tell(self, outcome: _core.Outcome, steps: int) -> None:
        """Raise or warn of what went wrong in a step."""
        if outcome == _core.Outcome.NO_NUMBERS:
            mjcf.raise_lost_numbers(self._model, self._data, steps)
        if outcome == _core.Outcome.OVERFULL:
            warnings.warn(
                "MuJoCo has no memory for all contacts or constraints and left some out: give the model more, "
                "<size memory=...>.",
                stacklevel=4,
            )
            return
        raise checks.InputError(_REFUSALS[outcome].format(timestep=self._model.opt.timestep))

    def _say(self, bodies: Sequence[Hashable]) -> None:
        """Warn once of contacts of these bodies that no law covers, if there are any."""
        if not bodies:
            return
        self._said = True
        names = ", ".join(repr(name) for name in bodies)
        warnings.warn(
            f"The body {names} has a law, but touches something that its law does not cover: there, MuJoCo's own "
            "contact acts, and `uncovered` counts such steps.",
            stacklevel=5,
        )

    def forget(self) -> None:
        """Set all counts to zero, and begin without memory."""
        self.core.forget()
        self._said = self._said_unsolved = False
        self._unsolved = 0

    def want_forces(self) -> None:
        """Find MuJoCo's forces on bodies (`cfrc_ext` and others) in each step, ours included."""
        self.core.forces_wanted = True

    @property
    def memory(self) -> NDArray[np.float64]:
        """What the next step must know of the last (n, 8): of bodies that the user moves, and the impulses."""
        return np.asarray(self.core.memory)

    @memory.setter
    def memory(self, rows: NDArray[np.float64]) -> None:
        self.core.memory = rows

    @property
    def counts(self) -> NDArray:
        """All counts, for a copy."""
        return np.asarray(self.core.counts)

    @counts.setter
    def counts(self, numbers: NDArray) -> None:
        self.core.counts = numbers

    @property
    def unsolved(self) -> int:
        """Steps so far in which the impulses were found by the guards alone."""
        return self.core.unsolved

    @property
    def uncovered(self) -> dict[Hashable, int]:
        """Of each body with a law: steps in which it touched something that no law covers."""
        counts = np.asarray(self.core.uncovered)
        return {self._model.body(int(b)).name or int(b): int(counts[b]) for b in np.flatnonzero(counts)}

    def patch(self, key: Hashable) -> NDArray[np.float64]:
        """Places where it pressed in the last step, world axes [m], (k, 3)."""
        return self.contacts[key].points
