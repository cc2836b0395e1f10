"""Contacts as a law in Python sees them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks


class Contacts:
    """The contacts of n bodies in one step, the argument of a law's `classify` and `friction`.

    A contact is a patch: the point, line or surface in which one body touches the ground. Axes are the world's, with z
    up and the ground level; for a body on a slope inside MuJoCo they are those of the plane it touches. Positions are
    relative to the centre of mass. Arrays are read-only and valid for this step: copy what you want to keep.

    Friction proportional to slip, such as that of a thin film of oil with 3 N s/m, is

        def friction(self, contacts, dynamic):
            impulse = -3.0 * contacts.timestep[dynamic, None] * contacts.slip[dynamic]
            return np.column_stack([impulse[:, :2], np.zeros(len(dynamic))])
    """

    def __init__(self, native: _core.Contacts, softness: float = 0.0) -> None:
        self.native = native
        self._softness = softness

    def __len__(self) -> int:
        return len(self.native)

    def __repr__(self) -> str:
        return f"Contacts({len(self)})"

    @property
    def record(self) -> Any:
        """The native core's contacts as a NumPy record array, one row each, for experts."""
        return self.native.record

    @property
    def index(self) -> NDArray[np.int64]:
        """Index in the batch of the body of each contact, shape (n,)."""
        return self.record["index"]

    @property
    def kind(self) -> NDArray[np.int64]:
        """Kind of each patch, POINT, LINE or SURFACE, shape (n,)."""
        return self.record["kind"]

    @property
    def mode(self) -> NDArray[np.int64]:
        """The modes that `classify` returned, shape (n,), for `friction`."""
        return self.record["mode"]

    @property
    def timestep(self) -> NDArray[np.float64]:
        """Length of the step [s], shape (n,); shorter than the law's where steps are cut at impacts."""
        return self.record["timestep"]

    @property
    def depth(self) -> NDArray[np.float64]:
        """Penetration depth of the lowest point [m], shape (n,)."""
        return self.record["depth"]

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Orientation of each body, from body to world axes, shape (n, 3, 3)."""
        return self.record["rotation"]

    @property
    def centre(self) -> NDArray[np.float64]:
        """Centre of each patch, the mean of its points, relative to the centre of mass [m], shape (n, 3)."""
        return self.record["centre"]

    @property
    def normal(self) -> NDArray[np.float64]:
        """Contact normal, shape (n, 3): always (0, 0, 1) in the axes of a contact."""
        return np.broadcast_to([0.0, 0.0, 1.0], (len(self), 3))

    @property
    def twist(self) -> NDArray[np.float64]:
        """Velocity of the centre of mass [m/s] and angular velocity [rad/s], shape (n, 6).

        This is v1 of the paper, after gravity and all other forces of the step, before the contact.
        """
        return self.record["velocity"]

    @property
    def slip(self) -> NDArray[np.float64]:
        """Velocity of the patch's centre before the contact acts [m/s], shape (n, 3).

        x and y are slip along the ground; z is negative where the patch approaches it.
        """
        return _velocity_at(self.centre, self.twist)

    @property
    def spin(self) -> NDArray[np.float64]:
        """Angular velocity about the normal before the contact acts [rad/s], shape (n,)."""
        return self.twist[:, 5]

    @property
    def normal_impulse(self) -> NDArray[np.float64]:
        """Normal impulse of this step if there were no friction [N s], shape (n,); 0: the patch separates."""
        twists = np.ascontiguousarray(self.twist)
        each = (self.native.normal_impulse(i, twist, self._softness)[0] for i, twist in enumerate(twists))
        return np.fromiter(each, np.float64, len(self))

    @property
    def mobility(self) -> NDArray[np.float64]:
        """Inverse effective inertia (Delassus operator) at the patch's centre [1/kg], shape (n, 3, 3)."""
        inverse, lever = self.inverse_inertia, _cross_matrix(self.centre)
        return inverse[:, :3, :3] + lever @ inverse[:, 3:, 3:] @ np.swapaxes(lever, 1, 2)

    @property
    def inverse_inertia(self) -> NDArray[np.float64]:
        """M^-1, which maps an impulse about the centre of mass [N s, N m s] to a change of `twist`, shape (n, 6, 6)."""
        return self.native.inverse_inertia

    def points(self, i: int) -> NDArray[np.float64]:
        """The k points of contact i, relative to the centre of mass [m], shape (k, 3)."""
        return self.native.points(self._number(i))

    def slip_at_points(self, i: int) -> NDArray[np.float64]:
        """Velocities of the k points of contact i before it acts [m/s], shape (k, 3); see `slip`."""
        return _velocity_at(self.points(i), self.twist[i])

    def static_impulse(self, i: int) -> NDArray[np.float64]:
        """The impulse that stops the patch of contact i, about the centre of mass [N s, N m s], shape (6,).

        A law that lets a patch slide if friction is too weak compares this with its friction limit.
        """
        return self.native.static_impulse(self._number(i))

    def friction_at_centre(self, i: int, impulses: ArrayLike) -> NDArray[np.float64]:
        """Friction at the points of contact i, summed at its centre: (p_x, p_y [N s], m_z [N m s]), shape (3,).

        impulses: (p_x, p_y) at each of the k points [N s], shape (k, 2); or (k, 3), whose z is ignored
        """
        arm = self.points(i) - self.centre[i]
        p = checks.array("impulses", impulses, (len(arm), 3 if np.shape(impulses)[-1:] == (3,) else 2))
        m_z = arm[:, 0] * p[:, 1] - arm[:, 1] * p[:, 0]
        return np.array([p[:, 0].sum(), p[:, 1].sum(), m_z.sum()])

    def _number(self, i: int) -> int:
        if not 0 <= (number := checks.count("The number of a contact", i, 0)) < len(self):
            raise checks.InputError(f"There are {len(self)} contacts, numbered from 0, got number {number}.")
        return number


def native_of(contacts: "Contacts | _core.Contacts") -> _core.Contacts:
    """The contacts of the native core."""
    return contacts.native if isinstance(contacts, Contacts) else contacts


def _velocity_at(place: NDArray[np.float64], twist: NDArray[np.float64]) -> NDArray[np.float64]:
    return twist[..., :3] + np.cross(twist[..., 3:], place)


def _cross_matrix(arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrices (n, 3, 3) with matrix @ w = w x arm."""
    x, y, z = arm.T
    nil = np.zeros_like(x)
    rows = [[nil, z, -y], [-z, nil, x], [y, -x, nil]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
