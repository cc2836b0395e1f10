"""What free flight alone tells about a body and gravity, whatever happens when it lands."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.laws.law import GRAVITY
from stiction.recordings.flight import Flown
from stiction.recordings.tosses import Tosses

RATIOS = ("inertia_y", "inertia_z")  # factors of two moments of inertia, against that about x
PRODUCTS = {"inertia_xy": (0, 1), "inertia_xz": (0, 2), "inertia_yz": (1, 2)}  # of inertia, and their axes
SURE_SHAPE = 0.03  # standard error up to which flight decides about the proportions of the inertia
CLEAR = 4.0  # standard errors by which a product of inertia must differ from that of the body as given
Shape = dict[str, tuple[float, float]]  # proportions of an inertia and their standard errors, by name
_ROUNDS, _NUDGE, _DONE = 8, 0.01, 1e-4  # of Gauss-Newton; step of finite differences; change that ends it
_WIDEST = 0.3  # change in one round
_RATIO, _PRODUCT = (0.2, 5.0), (-0.5, 0.5)  # where to look for them
_LEAST_NOISE = 1e-5  # [rad]: poses are no better, by their digits alone
_NOT_TOLD = 10.0  # standard error of what the tosses say nothing about


def shaped(inertia, shape: dict[str, float]) -> NDArray[np.float64]:
    """An inertia (3, 3) with other proportions; the product of its diagonal stays.

    shape: factors by RATIOS, and what is added by PRODUCTS, in units of the root of the product of the two moments
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
    return axes @ np.diag([*moments[:2], moments[0] + moments[1]]) @ axes.T  # no mass could be spread otherwise


def inertia_estimate(tosses: Tosses, body: Body, names: Sequence[str] = (*RATIOS, *PRODUCTS)) -> Shape:
    """Proportions of the inertia against that of `body`, as in `shaped`, and their standard errors.

    A body whose moments differ does not turn steadily in flight: how its spin wanders tells them.
    """
    values = np.array([1.0 if name in RATIOS else 0.0 for name in names])
    near = _Near(tosses, body, names, values)
    for _ in range(_ROUNDS):
        most = np.abs(near.change).max()
        if most < _DONE:
            break
        values = values + near.change * min(1.0, _WIDEST / most)
        values = np.array([np.clip(v, *(_RATIO if name in RATIOS else _PRODUCT)) for v, name in zip(values, names)])
        near = _Near(tosses, body, names, values)
    return {name: (float(v), float(e)) for name, v, e in zip(names, values, near.errors())}


class _Near:
    """Misfits of the turns near some proportions of the inertia, in which they are linear.

    change: that lessens them most, shape (p,)
    """

    def __init__(self, tosses: Tosses, body: Body, names: Sequence[str], values: NDArray[np.float64]) -> None:
        def inertia(at) -> NDArray[np.float64]:
            return shaped(body.inertia, dict(zip(names, at.tolist())))

        flights, size = tosses.flights, (len(tosses), -1)
        root = np.sqrt(flights.weight)[..., np.newaxis]
        flown = flights.flown(inertia(values))
        nudged = [flown.turns_with(inertia(values + _NUDGE * one)) for one in np.eye(len(names))]
        self.slopes = np.stack([(root * more / _NUDGE).reshape(size) for more in nudged], axis=-1)
        self.off = (root * flown.turns_off()).reshape(size)
        free = max(1.0, 3 * flights.weight.sum() - 6 * len(tosses))
        self.variance = max(_LEAST_NOISE**2, (self.off**2).sum() / free)
        weak = self.variance / _NOT_TOLD**2 * np.eye(len(names))
        self.inverse = np.linalg.inv(np.einsum("nki,nkj->ij", self.slopes, self.slopes) + weak)
        self.change = self.inverse @ np.einsum("nki,nk->i", self.slopes, self.off)

    def errors(self) -> NDArray[np.float64]:
        """Standard errors (p,): tosses are independent, their frames are not."""
        each = np.einsum("nki,nk->ni", self.slopes, self.off - self.slopes @ self.change)
        few = len(each) / max(1, len(each) - len(self.change))
        spread = few * self.inverse @ (each.T @ each) @ self.inverse
        return np.sqrt(np.maximum(np.diag(spread), self.variance * np.diag(self.inverse)))


def inertia_told(tosses: Tosses, body: Body) -> Shape:
    """What `inertia_estimate` is sure of: nothing, or both ratios, and products of inertia where they matter."""
    if body.planar or len(tosses) <= len(RATIOS) + len(PRODUCTS):
        return {}
    found = inertia_estimate(tosses, body)
    clear = [name for name in PRODUCTS if CLEAR * found[name][1] < abs(found[name][0]) and found[name][1] < SURE_SHAPE]
    found = inertia_estimate(tosses, body, (*RATIOS, *clear))
    return found if max(error for _, error in found.values()) < SURE_SHAPE else {}


def flight_estimate(tosses: Tosses, inertia) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(com_x, com_y, com_z [m], gravity [m/s^2]) that free flight alone tells, and their standard errors.

    In flight the centre of mass moves on a parabola and the tracked point turns about it: a linear problem, from which
    each toss's own start drops out.

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
        A = np.concatenate([turned[i], fall], axis=2)  # p + R c + g t^2 / 2 e_z is straight and steady
        rows.append(np.einsum("mn,nij->mij", free, A).reshape(-1, 4))
        values.append(-(free @ flights.position[i]).reshape(-1))
    A, b = np.concatenate(rows), np.concatenate(values)
    found, *_ = np.linalg.lstsq(A, b, rcond=None)
    each = [a.T @ (v - a @ found) for a, v in zip(rows, values)]
    inverse = np.linalg.pinv(A.T @ A)
    covariance = inverse @ sum(np.outer(e, e) for e in each) @ inverse  # tosses are independent, their frames are not
    return found, np.sqrt(np.diag(covariance))


# Tosses in which a hand is still on the part at first: it does not fly yet, and its start must not be taken there.


MOST = 8  # frames that may be dropped
LEFT = 5  # frames of flight that must be left
CLEARLY = 60.0  # squared noises, over six coordinates, by which a dropped frame must lessen the misfit
_POSE_NOISE = 1e-5, 1e-5  # [m], [rad]: poses are no better, by their digits alone
_FEW = 4  # tosses, whose flights do not tell noise and mass properties well enough


def released(tosses: Tosses, body: Body) -> tuple[Tosses, list[str]]:
    """The tosses, each with the number of its frames that are still `held`, and what to say about them."""
    if len(tosses) < _FEW or body.planar:
        return tosses, []
    held = held_frames(tosses, body)
    marked = [replace(toss, held=int(n)) for toss, n in zip(tosses.tosses, held)]
    some = int((held > 0).sum())
    about = (
        f"A hand is still on the part at the start of {some} of {len(held)} tosses: their first frames, {held.sum()}"
    )
    note = [f"{about} in all, do not count as flight."] if some else []
    return Tosses(marked, tosses.timestep), note


def held_frames(tosses: Tosses, body: Body) -> NDArray[np.int64]:
    """Leading frames (n,) of each toss that do not fit the free flight of those after them."""
    told = {name: value for name, (value, _) in inertia_told(tosses, body).items()}
    inertia = shaped(body.inertia, told)
    values, errors = flight_estimate(tosses, inertia)
    width = float(np.ptp(body.vertices, axis=0).max())
    sure = errors < [0.1 * width] * 3 + [0.1 * -GRAVITY[2]]
    com = np.where(sure[:3], values[:3], body.com)
    gravity = (0.0, 0.0, -values[3] if sure[3] else GRAVITY[2])
    frames = np.array([toss.flight for toss in tosses.tosses])
    costs, noise = [], None
    for number in range(MOST + 1):
        enough = frames - number >= LEFT
        cut = [replace(toss, held=number if ok else 0) for toss, ok in zip(tosses.tosses, enough)]
        flown = Tosses(cut, tosses.timestep).flights.flown(inertia)
        misfit = _squares(flown, com, gravity)  # (n, 6)
        if noise is None:  # that of a typical toss, which is not held
            noise = np.median(misfit / np.maximum(1, frames - 2)[:, np.newaxis], axis=0)
            noise = np.maximum(noise, np.repeat(np.square(_POSE_NOISE), 3))
        costs.append(np.where(enough | (number == 0), (misfit / noise).sum(axis=1) + CLEARLY * number, np.inf))
    return np.argmin(costs, axis=0)


def _squares(flown: Flown, com, gravity) -> NDArray[np.float64]:
    """Squared misfits of each toss along x, y, z [m^2] and about them [rad^2], shape (n, 6)."""
    off = np.concatenate([flown.paths_off(com, gravity), flown.turns_off()], axis=2)
    return (off**2).sum(axis=1)
