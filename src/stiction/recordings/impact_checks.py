"""Checks of how orientations are read, against mechanics: first impacts, and heights at rest.

An impact at the lowest corner changes the spin by the torque of a push there, r x dv = I dw / m, and a body at rest is
on the floor, whichever of its faces is down. Where the order of the quaternion, its direction or the edges of a box are
wrong, neither holds, and both do in one of a few other readings. A few tosses agree by chance: only significant
differences count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.recordings.mechanics_checks import GRAVITY, SURE, UNLEVEL, Finding, floor_height, least_extent, lowest
from stiction.recordings.poses import Clean, Conventions

AGREES = 0.5  # least correlation of torque and change of spin in a recording that is read right
LEVEL = 0.003  # [m] heights at rest that are less far apart are those of one plane


@dataclass(frozen=True)
class Impact:
    """The first impact of a toss: arm of the lowest corner, change of velocity, torque that changed the spin."""

    arm: NDArray[np.float64]
    dv: NDArray[np.float64]
    torque: NDArray[np.float64]  # I dw / m


def _first_impact(body: Body, toss: Clean, interval: float) -> Impact | None:
    """The first impact, or None; it is measured over two frames, which is too short for a second one."""
    if len(toss.frame) < 12:
        return None
    step = (np.diff(toss.frame) * interval)[:, np.newaxis]
    turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
    R = turn.as_matrix()
    velocity = np.diff(toss.position + R @ body.com, axis=0) / step
    velocity[:, 2] += GRAVITY * interval * toss.frame[1:]
    change = (velocity[2:, 2] - velocity[:-2, 2])[3:-6]
    in_flight = change[:8] if len(change) and not body.planar else np.zeros(1)
    noise = 1.4826 * float(np.median(np.abs(in_flight)))
    hit = np.flatnonzero(change > max(0.15, 5 * noise))  # [m/s] between frames
    if not len(hit):
        return None
    k = int(hit[0]) + 4  # velocities up to number k - 1 are before the impact, number k + 1 is after it
    spin = (turn[1:] * turn[:-1].inv()).as_rotvec() / step
    dv, dw = (part[k + 1] - part[k - 3 : k].mean(axis=0) for part in (velocity, spin))
    at = k + 1
    _, vertex = lowest(body, toss.position[at : at + 1], toss.quaternion[at : at + 1])
    arm = R[at] @ (body.vertices[vertex[0]] - body.com)
    return Impact(arm, dv, R[at] @ body.inertia @ R[at].T @ dw / body.mass)


def first_impacts(body: Body, tosses: list[Clean], interval: float) -> list[Impact]:
    """The first impacts of all tosses that have one."""
    return [impact for toss in tosses if (impact := _first_impact(body, toss, interval)) is not None]


@dataclass(frozen=True)
class Agreement:
    """A correlation over impacts, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"correlation of {self.value:.2f} ± {self.error:.2f}"

    def below(self, other: float, sure: float = SURE) -> bool:
        """Whether it is less than `other`, by `sure` standard errors."""
        return self.value + sure * self.error < other


def axis_agreement(impacts: list[Impact], axis: int) -> Agreement:
    """Correlation of the torque of one component of dv with the residual of the others: negative if mirrored.

    The inertia is known only roughly, so that its scale is taken from the impacts themselves.
    """
    one = np.eye(3)[axis]
    whole, torque = _arms(impacts, np.ones(3)), np.array([impact.torque for impact in impacts])
    scale = np.clip(np.sqrt((whole**2).sum() / max((torque**2).sum(), 1e-300)), 0.5, 2.0)
    along, residual = _arms(impacts, one), scale * torque - _arms(impacts, 1 - one)
    # Where a second corner hits at the same time, the residual is an outlier: it counts as one of median size.
    sizes = np.linalg.norm(residual, axis=1)
    share = np.minimum(1.0, np.median(sizes) / np.maximum(sizes, 1e-300))[:, np.newaxis]
    return _correlation(share * along, share * residual)


def _arms(impacts: list[Impact], some: NDArray) -> NDArray[np.float64]:
    """Torques r x dv (n, 3) of some components of dv."""
    return np.array([np.cross(impact.arm, impact.dv * some) for impact in impacts])


def _correlation(a: NDArray, b: NDArray) -> Agreement:
    """Correlation of vectors (n, 3), with a bootstrap standard error: their components are not independent."""
    products, squares = (a * b).sum(axis=1), ((a * a).sum(axis=1), (b * b).sum(axis=1))
    draws = np.random.default_rng(0).integers(0, len(a), (400, len(a)))
    p, x, y = (part[draws].sum(axis=1) for part in (products, *squares))
    drawn = p / np.sqrt(np.maximum(x * y, 1e-300))
    value = products.sum() / np.sqrt(max(squares[0].sum() * squares[1].sum(), 1e-300))
    # The bootstrap underestimates the error of few impacts.
    return Agreement(float(value), float(np.std(drawn) * np.sqrt(len(a) / max(1, len(a) - 1)) + 1 / (3 * len(a))))


@dataclass(frozen=True)
class Reading:
    """An interpretation of a recording, and how well it obeys mechanics.

    what: as a clause, such as "quaternions are xyzw"; remedy: the option that selects it
    spin: how well impacts fit the spin they cause; apart: how far apart the heights [m] are at which tosses end
    rests: how many tosses end
    change: the fields of `Conventions` that the option sets, where it can be detected
    """

    what: str
    remedy: str
    impacts: list[Impact]
    spin: Agreement
    apart: float
    rests: int
    change: dict[str, str]

    @property
    def decidable(self) -> bool:
        """Whether there are enough impacts for a decision."""
        return len(self.impacts) >= 3

    def clearly_turns_better(self, given: "Reading") -> bool:
        """Whether impacts fit the spin they cause in this reading, and significantly less as given."""
        margin = max(0.2, float(np.hypot(self.spin.error, given.spin.error)))
        return self.spin.value > max(AGREES, given.spin.value + margin) and self.apart < given.apart + LEVEL

    def clearly_rests_better(self, given: "Reading", extent: float) -> bool:
        """Whether tosses end on one plane in this reading and clearly not as given, and impacts do not contradict it.

        extent: the body's least [m]
        """
        flat = self.apart < max(LEVEL, 0.03 * extent) and self.rests >= 4
        contradicted = self.spin.value < min(AGREES, given.spin.value)
        return flat and given.apart > max(UNLEVEL * extent, 3 * self.apart) and not contradicted


def check_reading(
    body: Body, conventions: Conventions, interval: float, read: Callable[[Conventions], list[Clean]]
) -> list[Finding]:
    """Order of the quaternion, its direction, edges of a box, and handedness, from first impacts and rests."""

    order = conventions.quaternion

    def reading(what: str, remedy: str, conventions: Conventions, body: Body = body) -> Reading:
        tosses = read(conventions)
        found = first_impacts(body, tosses[:100], interval)
        agreement = Agreement(0.0, np.inf)
        if found:  # correlation of r x dv with I dw / m
            agreement = _correlation(_arms(found, np.ones(3)), np.array([impact.torque for impact in found]))
        apart = floor_height(body, tosses)[1] if tosses else np.inf
        change = {} if conventions.quaternion == order else {"quaternion": str(conventions.quaternion)}
        return Reading(what, remedy, found, agreement, apart, len(tosses), change)

    given = reading("", "", conventions)
    if not given.decidable:
        text = "There are too few impacts to confirm that orientations are read right."
        return [Finding(text, decided=False)]
    others = [reading(*other) for other in _orientations(conventions)]
    others += [reading(what, remedy, conventions, other) for what, remedy, other in _edges(body)]
    better = _best(given, [other for other in others if other.decidable], least_extent(body))
    if better is not None:
        return [better]
    level = given.apart <= UNLEVEL * least_extent(body)  # a mirror does not change heights
    if level and not conventions.mirror and len(given.impacts) >= 6:
        along = ((axis, axis_agreement(given.impacts, k)) for k, axis in enumerate("xy"))
        axis, sideways = next((found for found in along if found[1].below(0.0, 2.0)), ("", given.spin))
        if axis and reading("", "", replace(conventions, mirror=axis)).spin.value > max(AGREES, given.spin.value):
            text = f"Impacts turn the body the wrong way along {axis} ({sideways}): positions are from a left-handed "
            return [Finding(text + "frame, orientations are not.", True, f"--mirror {axis}")]
    if given.spin.value >= AGREES:
        return [Finding(f"Impacts turn the body as mechanics predicts ({given.spin}): orientations are read right.")]
    if given.spin.below(AGREES):
        text = (
            f"Impacts hardly turn the body as mechanics predicts ({given.spin}): is this the body, are its axes right?"
        )
        return [Finding(text, wrong=given.spin.below(0.2))]
    text = (
        f"Nothing contradicts how orientations are read, but the {len(given.impacts)} impacts do not confirm it: the "
        f"spin that mechanics predicts and the recorded one have a {given.spin}, and {AGREES:g} would confirm it."
    )
    return [Finding(text, decided=False)]


def _orientations(conventions: Conventions) -> Iterator[tuple[str, str, Conventions]]:
    """Other interpretations of quaternions: the clause, the option, and the conventions."""
    other = "xyzw" if conventions.quaternion == "wxyz" else "wxyz"
    yield f"quaternions are {other}", f"--quaternion {other}", replace(conventions, quaternion=other)
    turn, remedy = ("body into world", "no --inverse") if conventions.inverse else ("world into body", "--inverse")
    yield f"quaternions turn {turn} axes", remedy, replace(conventions, inverse=not conventions.inverse)


def _edges(body: Body) -> Iterator[tuple[str, str, Body]]:
    """Boxes with the same edges in another order: the clause, the option, and the body."""
    if body.shape != "box":
        return
    seen = {body.size}
    for order in permutations(range(3)):
        size = tuple(body.size[k] for k in order)
        if size not in seen:
            seen.add(size)
            com, inertia = body.com[list(order)], body.inertia[np.ix_(order, order)]
            edges = [f"{length:.6g}" for length in size]
            other = Body.box(size, body.mass, com=com, inertia=inertia, rounding=body.rounding)
            yield f"its edges are {', '.join(edges)} m", f"--body box:{','.join(edges)}", other


def _best(given: Reading, others: list[Reading], extent: float) -> Finding | None:
    """The reading that obeys mechanics significantly better than the one given, if there is one."""
    turning = [other for other in others if other.clearly_turns_better(given)]
    resting = [other for other in others if other.clearly_rests_better(given, extent)]
    if not turning and not resting:
        return None
    best = max([*turning, *resting], key=lambda other: other.spin.value)
    size = "The size of the body does not fit. " if best.remedy.startswith("--body") else ""
    if best in turning:
        text = f"Impacts do not turn the body as mechanics predicts ({given.spin}); they do if {best.what} "
        text += f"({best.spin.value:.2f})."
    else:
        heights = f"{1e3 * given.apart:.0f} mm apart; they are {1e3 * best.apart:.1f} mm apart if {best.what}"
        text = f"The heights at which the lowest corner comes to rest are {heights}."
    return Finding(size + text, True, best.remedy, best.change)
