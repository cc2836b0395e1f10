"""Is a recording read right? If not, which other reading of it would make impacts and rests obey mechanics?

Two things tell. An impact at the lowest corner turns the body as a push there would (impact_checks.py), and a body that
has come to rest lies on the floor, whichever of its faces it lies on. Where the order of the quaternion, its direction
or the edges of a box are wrong, neither holds, and both do in one of a few other readings. A few tosses agree or
disagree by chance: only what is sure counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from stiction.bodies.body import Body
from stiction.learning.recordings.impact_checks import (
    Agreement,
    Impact,
    axis_agreement,
    first_impact,
    spin_agreement,
)
from stiction.learning.recordings.physics_checks import UNLEVEL, Finding, floor_height, least_extent
from stiction.learning.recordings.poses import Clean, Conventions

AGREES = 0.5  # correlation of torque and change of spin in a recording that is read right
BETTER = 0.2  # by which another reading must win
HOPELESS = 0.2  # a correlation that is surely below is that of another body
MIRRORED = 2.0  # standard errors below 0 of one axis alone; read right, it would be far above
LEVEL = 0.003  # [m] a reading for which tosses end at heights further apart than as given is not the right one
FLAT = 0.03  # of the body's least extent: a reading for which tosses end at heights this close has them on the floor
CLEARLY = 3.0  # times farther apart as given than in a reading that is told by rests
FEWEST, FEWEST_MIRRORED, FEWEST_RESTS = 3, 6, 4  # impacts, and tosses
MOST_IMPACTS = 100


@dataclass(frozen=True)
class Reading:
    """A way to read a recording, and what mechanics says of it.

    what: as a clause, such as "quaternions are xyzw"; remedy: the option that asks for it
    spin: how well impacts fit the spin they cause; apart: how far apart the heights [m] are at which tosses end
    rests: how many tosses end
    """

    what: str
    remedy: str
    impacts: list[Impact]
    spin: Agreement
    apart: float
    rests: int

    @property
    def telling(self) -> bool:
        """Whether there are enough impacts to say anything."""
        return len(self.impacts) >= FEWEST

    def clearly_turns_better(self, given: "Reading") -> bool:
        """Whether impacts fit the spin they cause in this reading, and surely less as given."""
        margin = max(BETTER, float(np.hypot(self.spin.error, given.spin.error)))
        return self.spin.value > max(AGREES, given.spin.value + margin) and self.apart < given.apart + LEVEL

    def clearly_rests_better(self, given: "Reading", extent: float) -> bool:
        """Whether tosses end on one plane in this reading, and surely not as given, while impacts do not object.

        extent: the body's least [m]
        """
        flat = self.apart < max(LEVEL, FLAT * extent) and self.rests >= FEWEST_RESTS
        objected = self.spin.value < min(AGREES, given.spin.value)
        return flat and given.apart > max(UNLEVEL * extent, CLEARLY * self.apart) and not objected


def check_reading(
    body: Body, how: Conventions, interval: float, read: Callable[[Conventions], list[Clean]]
) -> list[Finding]:
    """Order of the quaternion, its direction, edges of a box, and handedness, from first impacts and rests."""

    def reading(what: str, remedy: str, conventions: Conventions, body: Body = body) -> Reading:
        tosses = read(conventions)
        found = [impact for toss in tosses[:MOST_IMPACTS] if (impact := first_impact(body, toss, interval)) is not None]
        agreement = spin_agreement(found) if found else Agreement(0.0, np.inf)
        apart = floor_height(body, tosses)[1] if tosses else np.inf
        return Reading(what, remedy, found, agreement, apart, len(tosses))

    given = reading("", "", how)
    if not given.telling:
        return [Finding("There are too few impacts to tell whether orientations are read right.")]
    others = [reading(*other) for other in _orientations(how)]
    others += [reading(what, remedy, how, other) for what, remedy, other in _edges(body)]
    better = _best(given, [other for other in others if other.telling], least_extent(body))
    if better is not None:
        return [better]
    level = given.apart <= UNLEVEL * least_extent(body)  # a mirror leaves heights alone
    mirrored = _mirrored_axis(given.impacts) if level and not how.mirror else None
    if mirrored is not None:
        axis, sideways = mirrored
        if reading("", "", replace(how, mirror=axis)).spin.value > max(AGREES, given.spin.value):
            return [_left_handed(axis, sideways)]
    return [_verdict(given)]


def _orientations(how: Conventions) -> Iterator[tuple[str, str, Conventions]]:
    """Other ways to read quaternions: what they are, the option, and the conventions."""
    other = "xyzw" if how.quaternion == "wxyz" else "wxyz"
    yield f"quaternions are {other}", f"--quaternion {other}", replace(how, quaternion=other)
    turn, remedy = ("body into world", "no --inverse") if how.inverse else ("world into body", "--inverse")
    yield f"quaternions turn {turn} axes", remedy, replace(how, inverse=not how.inverse)


def _edges(body: Body) -> Iterator[tuple[str, str, Body]]:
    """Boxes with the same edges in another order: what they are, the option, and the body."""
    if body.shape != "box":
        return
    seen = {body.size}
    for order in permutations(range(3)):
        size = tuple(body.size[k] for k in order)
        if size not in seen:
            seen.add(size)
            turned = {"com": body.com[list(order)], "inertia": body.inertia[np.ix_(order, order)]}
            edges = [f"{length:.6g}" for length in size]
            other = Body.box(size, body.mass, **turned, rounding=body.rounding)
            yield f"its edges are {', '.join(edges)} m", f"--body box:{','.join(edges)}", other


def _best(given: Reading, others: list[Reading], extent: float) -> Finding | None:
    """The reading that mechanics surely prefers to the one given, if there is one."""
    turning = [other for other in others if other.clearly_turns_better(given)]
    resting = [other for other in others if other.clearly_rests_better(given, extent)]
    if not turning and not resting:
        return None
    best = max([*turning, *resting], key=lambda other: other.spin.value)
    size = "The size of the body does not fit. " if best.remedy.startswith("--body") else ""
    if best in turning:
        text = f"Impacts do not fit the spin they cause ({given.spin}); they do if {best.what} ({best.spin.value:.2f})."
    else:
        heights = f"{1e3 * given.apart:.0f} mm apart; they are {1e3 * best.apart:.1f} mm apart if {best.what}"
        text = f"The heights at which the lowest corner comes to rest are {heights}."
    return Finding(size + text, True, best.remedy)


def _mirrored_axis(impacts: list[Impact]) -> tuple[str, Agreement] | None:
    """The axis along which impacts surely turn the body the wrong way, and how well they agree along it."""
    if len(impacts) < FEWEST_MIRRORED:
        return None
    along = ((axis, axis_agreement(impacts, k)) for k, axis in enumerate("xy"))
    return next((found for found in along if found[1].below(0.0, MIRRORED)), None)


def _left_handed(axis: str, sideways: Agreement) -> Finding:
    text = (
        f"Impacts turn the body the wrong way along {axis} ({sideways}): positions are from a left-handed frame, "
        "orientations are not."
    )
    return Finding(text, True, f"--mirror {axis}")


def _verdict(given: Reading) -> Finding:
    """What impacts say where no other reading is better."""
    score = given.spin
    if score.value >= AGREES:
        return Finding(f"Impacts fit the spin they cause ({score}).")
    if score.below(AGREES):
        text = f"Impacts hardly fit the spin they cause ({score}): is this the body, are its axes right?"
        return Finding(text, wrong=score.below(HOPELESS))
    return Finding(f"Impacts say little about whether orientations are read right ({score}, of {len(given.impacts)}).")
