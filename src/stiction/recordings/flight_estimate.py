"""Mass properties and gravity estimated from free flight alone, and frames in which a hand still holds the body."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.rotations import rotation_matrices
from stiction.laws.law import GRAVITY
from stiction.recordings.tosses import Tosses

RATIOS = ("inertia_y", "inertia_z")  # factors of two moments of inertia, against that about x
PRODUCTS = {"inertia_xy": (0, 1), "inertia_xz": (0, 2), "inertia_yz": (1, 2)}  # of inertia, and their axes
Shape = dict[str, tuple[float, float]]  # proportions of an inertia and their standard errors, by name
MIN_NOISE = 1e-5  # [m, rad] of recorded poses, by their digits alone


def shaped(inertia, shape: dict[str, float]) -> NDArray[np.float64]:
    """An inertia (3, 3) with other proportions; the product of its diagonal stays.

    shape: factors by RATIOS, and summands by PRODUCTS, in units of the root of the product of the two moments
    """
    ratio = np.array([1.0, *(shape.get(name, 1.0) for name in RATIOS)])
    root = np.sqrt(ratio / np.cbrt(ratio.prod()))
    result = np.outer(root, root) * inertia
    size = np.sqrt(np.diag(result))
    for name, (a, b) in PRODUCTS.items():
        more = shape.get(name, 0.0) * size[a] * size[b]
        result[[a, b], [b, a]] += more
    moments, axes = np.linalg.eigh(result)
    if moments[2] <= moments[0] + moments[1]:
        return result
    # The triangle inequality of the moments holds for every distribution of mass.
    return axes @ np.diag([*moments[:2], moments[0] + moments[1]]) @ axes.T


def inertia_estimate(tosses: Tosses, body: Body, names: Sequence[str] = (*RATIOS, *PRODUCTS)) -> Shape:
    """Proportions of the inertia against that of `body`, as in `shaped`, and their standard errors.

    They are observable because the spin of a body with unequal moments is not constant. Gauss-Newton, with steps of at
    most 0.3.
    """
    values = np.array([1.0 if name in RATIOS else 0.0 for name in names])
    near = _Linearised(tosses, body, names, values)
    for _ in range(8):
        most = np.abs(near.change).max()
        if most < 1e-4:
            break
        values = values + near.change * min(1.0, 0.3 / most)
        values = np.clip(values, *np.array([(0.2, 5.0) if name in RATIOS else (-0.5, 0.5) for name in names]).T)
        near = _Linearised(tosses, body, names, values)
    return {name: (float(v), float(e)) for name, v, e in zip(names, values, near.errors())}


class _Linearised:
    """Residuals of the rotations, linearised about some proportions of the inertia.

    change: the Gauss-Newton step, shape (p,)
    """

    def __init__(self, tosses: Tosses, body: Body, names: Sequence[str], values: NDArray[np.float64]) -> None:
        def inertia(at) -> NDArray[np.float64]:
            return shaped(body.inertia, dict(zip(names, at.tolist())))

        flights, size = tosses.flights, (len(tosses), -1)
        root = np.sqrt(flights.weight)[..., np.newaxis]
        flown = flights.flown(inertia(values))
        nudge = 0.01
        nudged = [flown.turns_with(inertia(values + nudge * one)) for one in np.eye(len(names))]
        self.slopes = np.stack([(root * more / nudge).reshape(size) for more in nudged], axis=-1)
        self.off = (root * flown.turns_off()).reshape(size)
        free = max(1.0, 3 * flights.weight.sum() - 6 * len(tosses))
        self.variance = max(MIN_NOISE**2, (self.off**2).sum() / free)
        prior = self.variance / 10.0**2 * np.eye(len(names))  # standard error of proportions that are not observable
        self.inverse = np.linalg.inv(np.einsum("nki,nkj->ij", self.slopes, self.slopes) + prior)
        self.change = self.inverse @ np.einsum("nki,nk->i", self.slopes, self.off)

    def errors(self) -> NDArray[np.float64]:
        """Standard errors (p,): tosses are independent, their frames are not."""
        each = np.einsum("nki,nk->ni", self.slopes, self.off - self.slopes @ self.change)
        few = len(each) / max(1, len(each) - len(self.change))
        spread = few * self.inverse @ (each.T @ each) @ self.inverse
        return np.sqrt(np.maximum(np.diag(spread), self.variance * np.diag(self.inverse)))


def significant_inertia(tosses: Tosses, body: Body) -> Shape:
    """The well-determined part of `inertia_estimate`: both ratios and significant products of inertia, or nothing."""
    if body.planar or len(tosses) <= len(RATIOS) + len(PRODUCTS):
        return {}
    try:
        found = inertia_estimate(tosses, body)
    except checks.InputError:  # the estimate diverges: such noisy flights do not determine it
        return {}
    largest = 0.03  # standard error of a proportion that is well determined
    clear = [name for name in PRODUCTS if 4 * found[name][1] < abs(found[name][0]) and found[name][1] < largest]
    found = inertia_estimate(tosses, body, (*RATIOS, *clear))
    return found if max(error for _, error in found.values()) < largest else {}


def flight_estimate(tosses: Tosses, inertia) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimates of (com_x, com_y, com_z [m], gravity [m/s^2]) from free flight, and their standard errors.

    The centre of mass moves on a parabola and the tracked point rotates about it: a linear least-squares problem, from
    which the start of each toss is eliminated.

    inertia: of the body, shape (3, 3)
    """
    flights = tosses.flights
    turned, root = flights.flown(inertia).turned, np.sqrt(flights.weight)[:, :, np.newaxis]
    design = np.stack([np.ones_like(flights.time), flights.time], axis=1)
    rows, values = [], []
    fall = np.zeros((len(flights.time), 3, 1))
    fall[:, 2, 0] = 0.5 * flights.time**2
    for i in range(len(tosses)):
        free = root[i] * (np.eye(len(design)) - design @ flights.line[i])
        A = np.concatenate([turned[i], fall], axis=2)  # p + R c + g t^2 / 2 e_z is linear in time
        rows.append(np.einsum("mn,nij->mij", free, A).reshape(-1, 4))
        values.append(-(free @ flights.position[i]).reshape(-1))
    A, b = np.concatenate(rows), np.concatenate(values)
    found, *_ = np.linalg.lstsq(A, b, rcond=None)
    each = [a.T @ (v - a @ found) for a, v in zip(rows, values)]
    inverse = np.linalg.pinv(A.T @ A)
    covariance = inverse @ sum(np.outer(e, e) for e in each) @ inverse  # tosses are independent, their frames are not
    return found, np.sqrt(np.diag(covariance))


# Tosses in which a hand still holds the body in the first frames: these are not free flight.


def released(tosses: Tosses, body: Body) -> tuple[Tosses, list[str]]:
    """The tosses, each with the number of its `held` frames, and a report."""
    if len(tosses) < 4 or body.planar:  # too few for an estimate of noise and mass properties
        return tosses, []
    held = held_frames(tosses, body)
    held[_sunk(tosses, held, body)] = 0
    marked = [replace(toss, held=int(n)) for toss, n in zip(tosses.tosses, held)]
    some = int((held > 0).sum())
    text = f"A hand is still on the part at the start of {some} of {len(held)} tosses: their first frames, {held.sum()}"
    report = [f"{text} in all, do not count as flight."] if some else []
    return Tosses(marked, tosses.timestep), report


def _sunk(tosses: Tosses, held: NDArray[np.int64], body: Body) -> NDArray[np.bool_]:
    """Which tosses would start deep below the ground (n,) if these frames were held: their flights are too short."""
    marked = [replace(toss, held=int(n)) for toss, n in zip(tosses.tosses, held)]
    start = Tosses(marked, tosses.timestep).states(body, GRAVITY)
    up = rotation_matrices(start.quaternion)[:, 2]
    lowest = start.position[:, 2] + (up @ body.vertices.T).min(axis=1) - body.rounding
    return lowest < -0.05 * float(np.ptp(body.vertices, axis=0).max())


def held_frames(tosses: Tosses, body: Body) -> NDArray[np.int64]:
    """Numbers (n,) of the leading frames that do not fit the free flight of the later ones.

    At most 8, so that at least 5 frames of flight remain; dropping one must reduce the sum of squares by 60 variances.
    """
    shape = {name: value for name, (value, _) in significant_inertia(tosses, body).items()}
    inertia = shaped(body.inertia, shape)
    values, errors = flight_estimate(tosses, inertia)
    width = float(np.ptp(body.vertices, axis=0).max())
    sure = errors < [0.1 * width] * 3 + [0.1 * -GRAVITY[2]]
    com = np.where(sure[:3], values[:3], body.com)
    gravity = (0.0, 0.0, -values[3] if sure[3] else GRAVITY[2])
    frames = np.array([toss.flight for toss in tosses.tosses])
    costs, noise = [], None
    for number in range(8 + 1):
        enough = frames - number >= 5
        cut = [replace(toss, held=number if ok else 0) for toss, ok in zip(tosses.tosses, enough)]
        try:
            flown = Tosses(cut, tosses.timestep).flights.flown(inertia)
        except checks.InputError:
            if number == 0:
                raise
            break  # so few noisy frames show no rotation
        off = np.concatenate([flown.paths_off(com, gravity), flown.turns_off()], axis=2)
        misfit = (off**2).sum(axis=1)  # of each toss along x, y, z [m^2] and about them [rad^2], (n, 6)
        if noise is None:  # the median toss is not held
            noise = np.median(misfit / np.maximum(1, frames - 2)[:, np.newaxis], axis=0)
            noise = np.maximum(noise, np.full(6, MIN_NOISE**2))
        costs.append(np.where(enough | (number == 0), (misfit / noise).sum(axis=1) + 60.0 * number, np.inf))
    return np.argmin(costs, axis=0)
