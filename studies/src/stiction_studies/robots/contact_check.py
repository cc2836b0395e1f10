"""Whether impulses and velocities of a step fulfil the laws of contact, computed from MuJoCo's data alone.

With the velocity u of a contact point after the step, its impulse (n, t) and its distance d at the start of the step:
    0 <= n,  0 <= u_n + max(d, 0) / h,  their product is 0        (nothing pulls, nothing penetrates)
    |t| <= mu n;  where |t| < mu n:  u_t = 0;  else t = -mu n u_t / |u_t|
The residual is the greatest violation as a velocity, relative to the greatest velocity of any contact point, or to what
gravity adds in a step, if that is more.
"""

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.simulation import Simulation, mujoco

_STICKING = 1e-6  # a point with less friction than its limit, by this share, may not slip


@dataclass
class Violations:
    """The greatest violation in any step of a run, and the residual of each.

    pull: normal impulse of a point that pulls [N s]; excess: friction beyond its limit, relative
    energy: what the contacts of a step added [J]; depth: penetration [m]
    """

    residuals: list[float]
    pull: float = 0.0
    excess: float = 0.0
    energy: float = 0.0
    depth: float = 0.0


class ContactCheck:
    """Follows a simulation all of whose contacts have one Coulomb coefficient: call `before` and `after` each step."""

    def __init__(self, sim: Simulation, friction: float) -> None:
        self._sim, self._friction = sim, friction
        self._free = copy.copy(sim.model)
        self._free.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._scratch = mujoco.MjData(self._free)
        self._qvel_free, self._qpos = np.zeros(sim.model.nv), np.zeros(sim.model.nq)
        self.found = Violations([])

    def before(self) -> None:
        """Make the step without contact."""
        mujoco.mj_copyData(self._scratch, self._free, self._sim.data)
        mujoco.mj_step(self._free, self._scratch)
        self._qvel_free[:] = self._scratch.qvel
        self._qpos = self._sim.data.qpos.copy()

    def after(self) -> None:
        """Compare the step that the simulation has made with the laws of contact."""
        model, data, found = self._sim.model, self._sim.data, self.found
        found.depth = max(found.depth, -float(data.contact.dist.min(initial=0.0)))
        impulses = self._impulses()
        if not impulses.any():
            return
        h = model.opt.timestep
        J = self._jacobian()
        belt = data.contact.surfacevel * [1.0, 1.0, 0.0]
        belt = np.column_stack([np.zeros(len(belt)), belt[:, :2]])
        u, u_free = J @ data.qvel + belt, J @ self._qvel_free + belt
        gap = np.maximum(data.contact.dist, 0.0) / h
        normal, tangent = impulses[:, 0], impulses[:, 1:]
        pressing = normal > 0.0
        load = np.where(pressing, normal, 1.0)
        share = np.linalg.norm(tangent, axis=1) / (self._friction * load)
        speed = np.linalg.norm(u[:, 1:], axis=1)
        against = tangent / np.maximum(np.linalg.norm(tangent, axis=1), 1e-300)[:, np.newaxis]
        turned = np.linalg.norm(u[:, 1:] + speed[:, np.newaxis] * against, axis=1)
        slip = np.where(pressing, np.where(share < 1.0 - _STICKING, speed, turned), 0.0)
        opening = u[:, 0] + gap
        separation = np.where(pressing, np.abs(opening), np.maximum(-opening, 0.0))
        scale = max(9.81 * h, float(np.abs(u_free).max()))
        found.residuals.append(float(max(slip.max(), separation.max())) / scale)
        found.pull = max(found.pull, -float(normal.min()))
        found.excess = max(found.excess, float(np.where(pressing, share, 0.0).max()) - 1.0)
        found.energy = max(found.energy, float(np.sum(impulses * (u + u_free)) / 2))

    def _impulses(self) -> NDArray[np.float64]:
        """Return the impulse of each of MuJoCo's contacts, on its second geom, in its own frame, (ncon, 3) [N s]."""
        contact = self._sim.data.contact
        frames = contact.frame.reshape(-1, 3, 3)
        result, taken = np.zeros((len(frames), 3)), np.zeros(len(frames), dtype=bool)
        _, points, normals, impulses, *_ = self._sim.core.points()
        for point, normal, impulse in zip(points, normals, impulses):
            along = frames[:, 0] @ normal
            apart = np.linalg.norm(contact.pos - point, axis=1) + (1.0 - np.abs(along)) + taken
            k = int(apart.argmin())
            taken[k] = True
            result[k] = np.sign(along[k]) * (frames[k] @ impulse)
        return result

    def _jacobian(self) -> NDArray[np.float64]:
        """Return the Jacobian of the second geom's velocity over the first's in contact frames, (ncon, 3, nv).

        It belongs to the positions at the start of the step, and to spins in the axes that bodies have there.
        """
        model, contact, scratch = self._sim.model, self._sim.data.contact, self._scratch
        scratch.qpos[:] = self._qpos
        mujoco.mj_kinematics(model, scratch)
        mujoco.mj_comPos(model, scratch)
        bodies, frames = model.geom_bodyid[contact.geom], contact.frame.reshape(-1, 3, 3)
        J, one = np.zeros((len(frames), 3, model.nv)), np.zeros((3, model.nv))
        for k, (frame, pair) in enumerate(zip(frames, bodies.tolist())):
            for sign, body in zip((-1.0, 1.0), pair):
                mujoco.mj_jac(model, scratch, one, None, contact.pos[k], body)
                J[k] += sign * (frame @ one)
        return J
