"""Which contacts can be: what tells one that is wrong from one that is only noisy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction import _core
from stiction.bodies.body import Body
from stiction.simulation.motion import DEEPEST_START, Setting

_PULL = 0.05  # share of the body's weight in one step by which the ground may seem to pull
_GAIN = 0.5, 0.2  # shares of the impulse's own energy, and of its work by component, by which it may seem to add energy
_BESIDE = 0.25  # share of the body's diameter by which its centre of pressure may seem to lie outside of the patch
IN_THE_AIR = "in the air"


def faults(body: Body, contacts: _core.Contacts, setting: Setting, impulse: NDArray) -> dict[str, NDArray[np.bool_]]:
    """Which contacts cannot be, by the reason: a wrong frame or a wrong sign is told by the whole data set.

    impulse: about the centre of mass (n, 6)
    """
    record: Any = contacts.record
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not possible
        push, weight = impulse[:, 2], body.mass * float(np.linalg.norm(setting.gravity)) * setting.timestep
        change = np.einsum("nij,nj->ni", contacts.inverse_inertia, impulse)
        own = 0.5 * (impulse * change).sum(axis=1)
        work = impulse * record.velocity
        allowed = _GAIN[0] * own + _GAIN[1] * np.abs(work).sum(axis=1) + 1e-12 * body.mass
        torque = impulse[:, 3:] - np.cross(record.centre, impulse[:, :3])  # about the patch's centre
        aside = np.hypot(torque[:, 0], torque[:, 1]) > push * (2 * record.radius + _BESIDE * body.diameter)
        return {
            "too deep in the ground": record.depth > DEEPEST_START * body.diameter,
            "pulled by the ground": push < -_PULL * weight,
            "with a torque that their patch cannot make": (push > _PULL * weight) & aside,
            "whose impulse adds energy": ~(work.sum(axis=1) + own <= allowed),
        }


def told(counts: dict[str, int]) -> str:
    """Numbers of contacts by their faults, in words; empty if there are none."""
    return ", ".join(f"{count:,} {fault}" for fault, count in counts.items() if count)
