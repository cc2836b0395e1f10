"""Do impacts obey mechanics as they were read?

The impulse that changes the velocity acts at the lowest corner, so that it must change the spin by r x p. Where units,
order of the quaternion and handedness are read right, the two agree. A few impacts agree or disagree by chance, so that
an agreement knows its standard error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.learning.recordings.physics_checks import GRAVITY, SURE, lowest
from stiction.learning.recordings.poses import Clean

IMPULSE = 0.15  # [m/s] change of velocity between frames that counts as an impact
DRAWS = 400  # of the impacts, for standard errors


@dataclass(frozen=True)
class Impact:
    """The first impact of a toss: arm of the lowest corner, change of velocity, torque that changed the spin."""

    arm: NDArray[np.float64]
    dv: NDArray[np.float64]
    torque: NDArray[np.float64]  # I dw / m


def first_impact(body: Body, toss: Clean, interval: float) -> Impact | None:
    """The first impact, if one is seen: two frames are enough for it, and not yet for the next."""
    if len(toss.frame) < 12:
        return None
    step = (np.diff(toss.frame) * interval)[:, np.newaxis]
    turn = Rotation.from_quat(toss.quaternion, scalar_first=True)
    R = turn.as_matrix()
    velocity = np.diff(toss.position + R @ body.com, axis=0) / step
    velocity[:, 2] += GRAVITY * interval * toss.frame[1:]  # what gravity takes is no impact
    hit = np.flatnonzero((velocity[2:, 2] - velocity[:-2, 2])[3:-6] > IMPULSE)
    if not len(hit):
        return None
    k = int(hit[0]) + 4  # velocities up to number k - 1 are of before the impact, number k + 1 is of after it
    spin = (turn[1:] * turn[:-1].inv()).as_rotvec() / step
    dv = velocity[k + 1] - velocity[k - 3 : k].mean(axis=0)
    dw = spin[k + 1] - spin[k - 3 : k].mean(axis=0)
    at = k + 1
    _, vertex = lowest(body, toss.position[at : at + 1], toss.quaternion[at : at + 1])
    arm = R[at] @ (body.vertices[vertex[0]] - body.com)
    return Impact(arm, dv, R[at] @ body.inertia @ R[at].T @ dw / body.mass)


@dataclass(frozen=True)
class Agreement:
    """A correlation over impacts, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"correlation {self.value:.2f} ± {self.error:.2f}"

    def below(self, other: float, sure: float = SURE) -> bool:
        """Whether it is less than `other`, by so many standard errors."""
        return self.value + sure * self.error < other


def spin_agreement(impacts: list[Impact]) -> Agreement:
    """Correlation of r x dv with I dw / m."""
    return _correlation(_arms(impacts, np.ones(3)), np.array([impact.torque for impact in impacts]))


def axis_agreement(impacts: list[Impact], axis: int) -> Agreement:
    """Correlation of the torque of one component of dv with what the others leave unexplained: negative if mirrored.

    The inertia is known only roughly, so that its scale is taken from the impacts themselves.
    """
    one = np.eye(3)[axis]
    whole, torque = _arms(impacts, np.ones(3)), np.array([impact.torque for impact in impacts])
    scale = np.clip(np.sqrt((whole**2).sum() / max((torque**2).sum(), 1e-300)), 0.5, 2.0)
    own, rest = _arms(impacts, one), scale * torque - _arms(impacts, 1 - one)
    # Where a second corner hits at once, the rest is wild: it counts as one of usual size.
    sizes = np.linalg.norm(rest, axis=1)
    share = np.minimum(1.0, np.median(sizes) / np.maximum(sizes, 1e-300))[:, np.newaxis]
    return _correlation(share * own, share * rest)


def _arms(impacts: list[Impact], some: NDArray) -> NDArray[np.float64]:
    """Torques r x dv (n, 3) of some components of dv."""
    return np.array([np.cross(impact.arm, impact.dv * some) for impact in impacts])


def _correlation(a: NDArray, b: NDArray) -> Agreement:
    """Of vectors (n, 3), with the standard error over draws of the n: their components are not independent."""
    products, squares = (a * b).sum(axis=1), ((a * a).sum(axis=1), (b * b).sum(axis=1))
    draws = np.random.default_rng(0).integers(0, len(a), (DRAWS, len(a)))
    p, x, y = (part[draws].sum(axis=1) for part in (products, *squares))
    drawn = p / np.sqrt(np.maximum(x * y, 1e-300))
    value = products.sum() / np.sqrt(max(squares[0].sum() * squares[1].sum(), 1e-300))
    # Of few impacts, those that were drawn tell too little about the rest.
    return Agreement(float(value), float(np.std(drawn) * np.sqrt(len(a) / max(1, len(a) - 1)) + 1 / (3 * len(a))))
