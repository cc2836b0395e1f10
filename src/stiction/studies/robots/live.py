"""A robot that runs as long as it is watched, and beside it the same robot with MuJoCo's own contact."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.bodies.state import Mode
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.mujoco.mjcf import model_in_file
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.studies.robots.drives import random_motors
from stiction.studies.robots.walking import FEET, STANCE, Gait, model_text, targets

FRICTION = 0.8  # of a model whose friction nobody says
_HURRY = 1.0  # [1/s] by which a gait grows stronger or weaker


class Live:
    """A simulation with laws and one without, from the same start and with the same controls.

    start: qpos, shape (nq,)
    name: how the first of the two is called
    """

    def __init__(self, model: Any, laws: dict[Any, Any], start: NDArray[np.float64], *, name: str) -> None:
        self.name, self._start, self.steps = name, start, 0
        self._theirs, self._data = model, mujoco.MjData(model)
        self.sim = Simulation(copy.copy(model), laws=laws)  # which changes its model
        self.reset()

    @property
    def timestep(self) -> float:
        """[s]"""
        return float(self.sim.model.opt.timestep)

    def reset(self) -> None:
        """Begin anew."""
        self.sim.reset(qpos=self._start)
        mujoco.mj_resetData(self._theirs, self._data)
        self._data.qpos[:] = self._start
        mujoco.mj_forward(self._theirs, self._data)
        self.steps = 0

    def step(self) -> None:
        """One time step of both."""
        self.control()
        self.sim.step()
        mujoco.mj_step(self._theirs, self._data)
        self.steps += 1
        if not np.isfinite(self._data.qpos).all():
            raise checks.InputError("MuJoCo's own contact ran out of numbers.")

    def control(self) -> None:
        """Set the controls of the next step; none by default."""

    def set_controls(self, controls: NDArray[np.float64]) -> None:
        """Give both the same controls."""
        self.sim.data.ctrl[:] = self._data.ctrl[:] = controls

    def poses(self, *, own: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Positions (bodies, 3) and quaternions (bodies, 4) of all bodies; own: with our laws, else MuJoCo's."""
        data = self.sim.data if own else self._data
        return data.xpos, data.xquat

    def touching(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Points of contact that follow our laws (k, 3) [m] and their modes (k,), of the last step."""
        points, modes = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
        for key, contact in self.sim.contacts.items():
            if hasattr(contact, "slips"):  # a material: each point has a mode of its own
                points.append(contact.points)
                modes.append(np.where(contact.slips, int(Mode.DYNAMIC), int(Mode.STATIC)))
            elif contact.mode != Mode.NONE:
                points.append(self.sim.patch(key))
                modes.append(np.full(len(points[-1]), int(contact.mode)))
        return np.concatenate(points), np.concatenate(modes)


class Quadruped(Live):
    """The quadruped of the study `robot` with learned feet; `strength` of its trot from 0, standing, to 1."""

    def __init__(self) -> None:
        self._gait, self._now, self.strength = Gait(), 0.0, 0.0
        model = mujoco.MjModel.from_xml_string(model_text())
        start = model.qpos0.copy()
        start[2], start[7:] = STANCE + 0.05, targets(0.0, self._gait, 0.0)  # the soles touch
        law = load("foot")
        super().__init__(model, {foot: law for foot in FEET}, start, name="stiction, learned feet")

    def reset(self) -> None:
        super().reset()
        self._now = 0.0

    def control(self) -> None:
        most = _HURRY * self.timestep
        self._now += float(np.clip(self.strength - self._now, -most, most))
        self.set_controls(targets(self.steps * self.timestep, self._gait, self._now))


class Stranger(Live):
    """Any model, with one material on everything that touches; `random`: controls wander through their ranges."""

    def __init__(self, path: str | Path, material: Material | str | float = FRICTION, *, seed: int = 0) -> None:
        model = model_in_file(path)
        start = model.key_qpos[0].copy() if model.nkey else model.qpos0.copy()
        self._rest = model.key_ctrl[0].copy() if model.nkey else np.zeros(model.nu)
        self._seed, self.random = seed, False
        super().__init__(model, {"*": material}, start, name="stiction")

    def reset(self) -> None:
        super().reset()
        self._drive: Callable[[int], None] | None = None

    def control(self) -> None:
        if self.random and self._drive is None:
            self._drive = random_motors(self.sim.model, self.sim.data, self._seed)
        if self.random and self._drive is not None:
            self._drive(self.steps)
            self.set_controls(self.sim.data.ctrl)
        else:
            self._drive = None
            self.set_controls(self._rest)
