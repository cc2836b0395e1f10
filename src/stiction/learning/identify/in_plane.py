"""What planar tosses cannot tell, and what their many flights tell better than the first one: gravity and drag.

A body that falls between plates is slowed by them and by the air: a = g - drag v, and its spin in the same way. The
flight before the first touch is too short to part the two; bounces fly at all speeds.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.rotations import angles_in_plane
from stiction.learning.identify.gauss_newton import Parameter
from stiction.learning.identify.identify import law_parameters
from stiction.learning.recordings.physics_checks import lowest
from stiction.learning.recordings.tosses import Toss, Tosses

USUAL_GRAVITY = 9.81  # [m/s^2]
# Nothing turns about x or z, and nothing spins on its patch.
UNTOLD = {"com_y": 0.0, "inertia_y": 1.0, "inertia_z": 1.0, "spin": 0.0}
FLIGHT_UNITS = {"gravity": "m/s^2", "gravity_x": "m/s^2", "drag": "1/s"}
HEAVY = 40.0  # weights: a load half-way between light and heavy, among those of hard impacts
ROWS, FRAMES = 15, 18  # of a piece of flight, and frames that it may last at most
CLEAR = 0.1  # of the width: a body whose lowest point is above it flies
ROUGH = 3.0  # pieces that bend this many times more than usual hold an impact
ENOUGH = 20  # pieces
ROUNDS = 30


def heavy_parameters(body: Body) -> list[Parameter]:
    """Parameters of the contact for drops that hit hard: friction depends on the load from impact to impact."""
    load = HEAVY * USUAL_GRAVITY * body.mass
    heavy = {"start": load, "scale": 0.6 * load, "step": 0.1 * load, "low": 0.01 * load, "high": 100 * load}
    return [replace(p, **heavy) if p.name == "friction_load" else p for p in law_parameters()]


def flight_in_plane(tosses: Tosses, body: Body) -> dict[str, tuple[float, float]]:
    """gravity and gravity_x [m/s^2] and drag [1/s] with their standard errors; empty if too little flies.

    From all pieces of flight: accelerations against velocities, with the least absolute deviations.
    """
    pieces = [piece for toss in tosses.tosses for piece in _pieces(toss, tosses.timestep, body)]
    if len(pieces) < ENOUGH:
        return {}
    velocity, acceleration, left = (np.array(part) for part in zip(*pieces))
    smooth = left < ROUGH * np.median(left)
    v, a = velocity[smooth], acceleration[smooth]
    n = len(v)
    design = np.zeros((n, 3, 3))
    design[:, 0, 0], design[:, 1, 1], design[:, :, 2] = 1.0, -1.0, -v
    rows, values = design.reshape(-1, 3), a.reshape(-1)
    found, weight = np.zeros(3), np.ones(len(values))
    for _ in range(ROUNDS):
        found, *_ = np.linalg.lstsq(rows * weight[:, np.newaxis], values * weight, rcond=None)
        off = np.abs(values - rows @ found)
        weight = 1 / np.sqrt(np.maximum(off, 0.05 * np.median(off)))
    errors = 1.25 * 1.48 * np.median(off) * np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    drag = max(0.0, float(found[2]))
    told = zip(("gravity_x", "gravity", "drag"), (*found[:2].tolist(), drag), errors.tolist())
    return {name: (value, error) for name, value, error in told}


def _pieces(toss: Toss, timestep: float, body: Body) -> list[tuple[NDArray, NDArray, float]]:
    """Pieces of flight: velocity and acceleration (3,) of (x, z, radius of gyration x angle); what they leave."""
    radius = float(np.sqrt(body.inertia[1, 1] / body.mass))
    path = np.stack([*toss.position.T[[0, 2]], radius * angles_in_plane(toss.quaternion)], axis=1)
    width = float(np.ptp(body.vertices, axis=0)[[0, 2]].mean())
    flies = lowest(body, toss.position, toss.quaternion)[0] > CLEAR * width
    found, k = [], 0
    while k + ROWS <= len(path):
        piece = slice(k, k + ROWS)
        if not flies[piece].all():
            k += 1 + int(np.flatnonzero(~flies[piece])[-1])
            continue
        if toss.frame[k + ROWS - 1] - toss.frame[k] <= FRAMES:
            t = timestep * (toss.frame[piece] - toss.frame[k + ROWS // 2])
            design = np.stack([np.ones(ROWS), t, 0.5 * t**2], axis=1)
            fit, *_ = np.linalg.lstsq(design, path[piece], rcond=None)
            found.append((fit[1], fit[2], float(np.abs(path[piece] - design @ fit).max())))
        k += ROWS
    return found
