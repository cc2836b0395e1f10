"""Tosses in which a hand is still on the part at first: it does not fly yet, and its start must not be taken there.

Leading frames are dropped from the flight if what is left then follows free flight clearly better.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.laws.law import GRAVITY
from stiction.learning.recordings.flight import Flown
from stiction.learning.recordings.flight_estimate import flight_estimate, inertia_told, shaped
from stiction.learning.recordings.tosses import Tosses

MOST = 8  # frames that may be dropped
LEFT = 5  # frames of flight that must be left
CLEARLY = 60.0  # squared noises, over six coordinates, by which a dropped frame must lessen the misfit
_LEAST_NOISE = 1e-5, 1e-5  # [m], [rad]: poses are no better, by their digits alone
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
            noise = np.maximum(noise, np.repeat(np.square(_LEAST_NOISE), 3))
        costs.append(np.where(enough | (number == 0), (misfit / noise).sum(axis=1) + CLEARLY * number, np.inf))
    return np.argmin(costs, axis=0)


def _squares(flown: Flown, com, gravity) -> NDArray[np.float64]:
    """Squared misfits of each toss along x, y, z [m^2] and about them [rad^2], shape (n, 6)."""
    off = np.concatenate([flown.paths_off(com, gravity), flown.turns_off()], axis=2)
    return (off**2).sum(axis=1)
