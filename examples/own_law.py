"""A user-defined law: a box slides and spins on a film of oil, whose friction is proportional to the slip.

    python examples/own_law.py

The friction force at every contact point is -c u with its slip u. In theory the speed of a box of mass m on its 4
corners decays as exp(-4 c t / m), and its spin as exp(-4 c r^2 t / I), with r the distance of a corner from the centre
and I the moment of inertia about the vertical.
"""

import numpy as np

import stiction
from stiction import Mode

OIL = 0.5  # c [N / (m/s)]


class Oil(stiction.Law):
    """Viscous friction at every point; no static friction."""

    def __init__(self, body: stiction.Body, timestep: float = 0.002) -> None:
        self.body, self.timestep = body, timestep

    def classify(self, contacts):
        """A loaded contact slides, an unloaded one detaches."""
        return np.where(contacts.normal_impulse > 0, Mode.DYNAMIC, Mode.DETACH)

    def friction(self, contacts, dynamic):
        """The impulses of all points of a patch, summed at its centre."""
        each = -OIL * contacts.timestep
        return [contacts.friction_at_centre(i, each[i] * contacts.slip_at_points(i)) for i in dynamic]


box = stiction.Body.box(size=(0.3, 0.4, 0.1), mass=2.0)
start = stiction.State([0, 0, 0.05], velocity=[1, 0.5, 0], angular_velocity=[0, 0, 3])
run = stiction.rollout(Oil(box), start, steps=1000)

r_squared = 0.15**2 + 0.2**2
rates = {"speed [m/s]": 4 * OIL / box.mass, "spin [rad/s]": 4 * OIL * r_squared / box.inertia[2, 2]}
moves = {"speed [m/s]": np.linalg.norm(run.velocity, axis=1), "spin [rad/s]": run.angular_velocity[:, 2]}
print(f"{'':14}{'time [s]':>9}{'simulated':>11}{'theory':>9}")
for name, values in moves.items():
    for step in (0, 250, 500, 1000):
        theory = values[0] * np.exp(-rates[name] * run.time[step])
        print(f"{name:14}{run.time[step]:9.1f}{values[step]:11.4f}{theory:9.4f}")
worst = max(np.abs(values / values[0] - np.exp(-rates[name] * run.time)).max() for name, values in moves.items())
print(f"greatest difference: {worst:.2%} of the initial value")
