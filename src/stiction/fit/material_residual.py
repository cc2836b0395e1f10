"""What the residuals of a material look like: which of the things that it cannot express explains them.

Residuals are those of single points that slide, in units of their friction: r = (f - f_material) / (mu n), along the
slip and across it. Whether they depend on some features x (the place, the slip in body axes, the past of the contact)
is asked of the nearest neighbours among the points of other throws:

    R^2(x) = 1 - sum |r_i - mean of r over the neighbours of x_i|^2 / sum |r_i - mean|^2
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from stiction.basics.splits import drawn
from stiction.bodies.state import Kind, Mode
from stiction.fit.contact_restitution import LEAST_APPROACH
from stiction.fit.gauss_newton import clustered_mean
from stiction.fit.material_points import Observed, torque_at, velocity_at
from stiction.laws.material import Material

NEIGHBOURS = 12
EXPLAINED = 0.2  # R^2 from which on residuals depend on something
CLEAR = 4.0  # standard errors from which on a mean is not zero
_MOST_POINTS = 3000


@dataclass(frozen=True)
class Points:
    """Single points of observed contacts with what a material says of them, n of them.

    before, after, foreseen: velocities of the point at the start of the step, after it, and after it by the material,
        (n, 3); load: normal impulse [N s]; friction, error: of friction (n, 2) [N s]
    torque: about the point, less that of the material (n, 3) [N m s]; spin: after the step (n, 3)
    place: on the ground (n, 2); rotation: of the body (n, 3, 3); path: slipped since the contact began [m], NaN if
        that is unknown
    """

    body_size: float
    slides: NDArray[np.bool_]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    foreseen: NDArray[np.float64]
    load: NDArray[np.float64]
    friction: NDArray[np.float64]
    error: NDArray[np.float64]
    torque: NDArray[np.float64]
    spin: NDArray[np.float64]
    place: NDArray[np.float64]
    rotation: NDArray[np.float64]
    path: NDArray[np.float64]
    throw: NDArray[np.int64]

    @classmethod
    def of(cls, material: Material, observed: Observed) -> "Points":
        """The single points among the contacts of one body."""
        path = _paths(observed)
        is_point = observed.kind == Kind.POINT
        part, path = observed[is_point], path[is_point]
        contacts = part.contacts()
        record: Any = contacts.record
        law = material.on(part.body, timestep=part.setting.timestep)
        impulse = law.respond(contacts)[0]
        foreseen = record.velocity + np.einsum("nij,nj->ni", contacts.inverse_inertia, impulse)
        arm = np.array(record.centre)
        before, after, foreseen = (velocity_at(twist, arm) for twist in (part.twist, part.after, foreseen))
        return cls(
            part.body.diameter, part.mode == Mode.DYNAMIC, before, after, foreseen, part.impulse[:, 2],
            part.impulse[:, :2], part.impulse[:, :2] - impulse[:, :2],
            torque_at(part.impulse, arm) - torque_at(impulse, arm), part.after[:, 3:],
            part.position[:, :2] + arm[:, :2], np.array(record.rotation), path, part.throw,
        )  # fmt: skip

    def some(self, which: NDArray) -> "Points":
        """Some of the points, by mask or by index."""
        parts = {name: value[which] for name, value in vars(self).items() if name != "body_size"}
        return Points(self.body_size, **parts)


def causes_of(material: Material, parts: list[Observed], seed: int) -> list[str]:
    """Return what the residuals of a material look like, most telling first; empty if they look like nothing known."""
    largest = max(parts, key=lambda part: int((part.kind == Kind.POINT).sum()))
    points = Points.of(material, largest)
    found = _pulls(largest)
    if len(points.load) < 60:
        return found
    found += _torques(points) + _rebounds(points)
    size = np.linalg.norm(points.friction, axis=1)
    speed = np.linalg.norm(points.after[:, :2], axis=1)
    sliding = np.flatnonzero(points.slides & (points.load > 0) & (speed > 1e-4) & (size > 0))
    if len(sliding) < 60:
        return found
    points = points.some(sliding[drawn(len(sliding), _MOST_POINTS, seed)])
    return found + _dependences(points)


def _dependences(points: Points) -> list[str]:
    """Return on what the residuals of sliding points depend."""
    slip = points.after[:, :2] / np.linalg.norm(points.after[:, :2], axis=1, keepdims=True)
    unit = float(np.median(np.linalg.norm(points.friction, axis=1) / points.load)) * points.load
    along = -(points.error * slip).sum(axis=1) / unit
    across = (points.error[:, 1] * slip[:, 0] - points.error[:, 0] * slip[:, 1]) / unit
    found = []
    turned, error = clustered_mean(-across, points.throw)
    angle = float(np.degrees(np.arctan(turned)))
    if abs(turned) > CLEAR * error and abs(angle) > 2.0:
        found.append(f"friction turned by {angle:.0f} degrees from the direction against the slip")
    residual = np.stack([along, across], axis=1)
    spread = 3 * np.median(np.abs(residual - np.median(residual, axis=0)), axis=0) + 1e-6
    residual = np.clip(residual, -spread, spread)
    if float(np.abs(residual).mean()) < 1e-3:
        return found
    log_speed = np.log(np.linalg.norm(points.before[:, :2], axis=1) + 1e-4)
    log_load = np.log(points.load)
    body_slip = np.einsum("nij,ni->nj", points.rotation[:, :2], slip)
    features = {
        "the place on the ground": points.place,
        "the direction of slip in the body's own axes": body_slip,
        "the past of the contact (how far it has slipped)": np.log(points.path + 1e-5)[:, np.newaxis],
        "the direction of slip, more sharply": slip,
        "speed and load together": np.stack([log_speed, log_load], axis=1),
        "the speed of approach": np.log(np.maximum(-points.before[:, 2], 1e-3))[:, np.newaxis],
    }
    shares = {name: _explained(x, residual, points.throw) for name, x in features.items()}
    best = max(shares.values())
    named = [name for name, share in shares.items() if share > EXPLAINED and share > best - 0.1]
    named.sort(key=lambda name: -shares[name])
    return found + [f"friction that depends on {name} ({shares[name]:.0%} of it)" for name in named]


def _explained(features: NDArray, residual: NDArray, throw: NDArray) -> float:
    """Return R^2 of the residuals (n, 2) by features (n, k): the mean of neighbours among other throws."""
    known = np.isfinite(features).all(axis=1)
    if known.sum() < 10 * NEIGHBOURS:
        return 0.0
    x, r, number = features[known], residual[known], throw[known]
    spread = x.std(axis=0)
    x = x / np.where(spread > 0, spread, 1.0)
    near = KDTree(x).query(x, k=min(5 * NEIGHBOURS, len(x)))[1]
    other = number[near] != number[:, np.newaxis]
    use = other & (np.cumsum(other, axis=1) <= NEIGHBOURS)
    count = use.sum(axis=1)
    enough = count >= NEIGHBOURS // 2
    if enough.sum() < 5 * NEIGHBOURS:
        return 0.0
    means = np.einsum("nk,nki->ni", use.astype(np.float64), r[near]) / np.maximum(count, 1)[:, np.newaxis]
    left = ((r - means)[enough] ** 2).sum()
    return 1.0 - float(left / max(((r - r.mean(axis=0))[enough] ** 2).sum(), 1e-300))


def turning_levers(points: Points) -> tuple[float, float]:
    """Return the torques of single points that a material lacks, against their spin and their rolling, over load [m].

    A lever that is not clearly above zero, or below a thousandth of the body, is zero.
    """
    loaded = points.some(points.load > 0.05 * max(float(np.median(points.load)), 0.0))
    ratio = loaded.torque / loaded.load[:, np.newaxis]
    spin = -ratio[:, 2] * np.sign(loaded.spin[:, 2])
    turning = np.maximum(np.linalg.norm(loaded.spin[:, :2], axis=1), 1e-300)
    roll = -(ratio[:, :2] * loaded.spin[:, :2]).sum(axis=1) / turning
    means = [clustered_mean(lever, loaded.throw) for lever in (spin, roll)]
    found = [mean if mean > max(CLEAR * error, 1e-3 * points.body_size) else 0.0 for mean, error in means]
    return found[0], found[1]


def _torques(points: Points) -> list[str]:
    """Return torques of single points that the material does not have."""
    what = ("spin torque, as of a soft contact ({:.2g} mm of load)", "rolling resistance ({:.2g} mm of load)")
    return [text.format(1e3 * lever) for text, lever in zip(what, turning_levers(points)) if lever > 0]


def _rebounds(points: Points) -> list[str]:
    """Return rebounds that the material does not have: along the normal, and along the ground."""
    hits = points.some((points.before[:, 2] < -LEAST_APPROACH) & (points.load > 0))
    if len(hits.load) < 30:
        return []
    found = []
    missing = (hits.after[:, 2] - hits.foreseen[:, 2]) / -hits.before[:, 2]
    if float(np.mean(np.abs(missing))) > 0.05:
        found.append("rebounds that the approach speed does not explain")
    fast = hits.some(np.linalg.norm(hits.before[:, :2], axis=1) > LEAST_APPROACH)
    if len(fast.load) >= 30:
        before = fast.before[:, :2]
        back = -((fast.after[:, :2] - fast.foreseen[:, :2]) * before).sum(axis=1) / (before**2).sum(axis=1)
        mean, error = clustered_mean(np.clip(back, -1.0, 1.0), fast.throw)
        turned = -(fast.after[:, :2] * before).sum(axis=1) / (before**2).sum(axis=1)
        if mean > CLEAR * error and mean > 0.05 and float(np.mean(turned > 0.05)) > 0.1:
            found.append("slip that impacts turn around, as rubber does (tangential restitution)")
    return found


def _pulls(part: Observed) -> list[str]:
    """Return whether the ground pulls, and whether friction gives energy back while nothing hits the ground."""
    weight = part.body.mass * float(np.linalg.norm(part.setting.gravity)) * part.setting.timestep
    pulled = float(np.mean(part.impulse[:, 2] < -1e-2 * weight))
    found = ["a ground that pulls (adhesion)"] if pulled > 2e-3 else []
    slow = part.sliding()
    centre = slow.contacts().record["centre"]
    before, after = (velocity_at(twist, centre) for twist in (slow.twist, slow.after))
    torque = torque_at(slow.impulse, centre)
    powers = np.column_stack([slow.impulse[:, :2] * after[:, :2], torque[:, 2] * slow.after[:, 5]])
    pushes, size = powers.sum(axis=1), np.abs(powers).sum(axis=1)
    moves = size > 1e-3 * np.linalg.norm(slow.impulse[:, :2], axis=1)  # [m/s]; what is slower has stopped
    calm = moves & (np.abs(before[:, 2]) < LEAST_APPROACH)
    if calm.sum() > 100 and float(np.mean(pushes[calm] > 0.2 * size[calm])) > 0.05:
        found.append("friction that gives energy back, as bristles do that bend before they slip (presliding)")
    return found


def _paths(observed: Observed) -> NDArray[np.float64]:
    """Return how far each contact has slipped since it began (n,) [m]; NaN if its steps are not consecutive."""
    record: Any = observed.contacts().record
    way = observed.setting.timestep * np.linalg.norm(velocity_at(observed.twist, record.centre)[:, :2], axis=1)
    order = np.lexsort((observed.step, observed.throw))
    step, throw, kind = observed.step[order], observed.throw[order], observed.kind[order]
    goes_on = np.zeros(len(order), dtype=np.bool_)
    goes_on[1:] = (np.diff(throw) == 0) & (np.diff(step) == 1) & (np.diff(kind) == 0) & (step[:-1] >= 0)
    total = np.cumsum(way[order])
    start = np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(order))))
    path = total - (total - way[order])[start]
    result = np.empty(len(order))
    result[order] = np.where(step >= 0, path, np.nan)
    return result
