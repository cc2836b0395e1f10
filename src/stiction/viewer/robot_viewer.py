"""The viewer of a robot: it runs in the browser with learned or exact contact, beside MuJoCo's own contact."""

import copy
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from stiction.basics import checks, colours
from stiction.bodies.rotations import rotation_matrices
from stiction.bodies.state import Mode
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.mujoco.mjcf import model_in_file
from stiction.mujoco.simulation import Simulation, mujoco
from stiction.viewer.pieces import meshes, pieces_of
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, random_motors, targets
from stiction.viewer.window import SPEEDS, WORLD, Window, block, dot


class Live:
    """A simulation with laws and one without, from the same start and with the same controls.

    start: qpos, shape (nq,)
    name: of the first one
    """

    def __init__(self, model: Any, laws: dict[Any, Any], start: NDArray[np.float64], *, name: str) -> None:
        self.name, self._start, self.steps = name, start, 0
        self._theirs, self._data = model, mujoco.MjData(model)
        self.sim = Simulation(copy.copy(model), laws=laws)  # it changes its model
        self.reset()

    @property
    def timestep(self) -> float:
        """[s]"""
        return float(self.sim.model.opt.timestep)

    def reset(self) -> None:
        """Start again."""
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
            raise checks.InputError("The simulation with MuJoCo's own contact is not finite any more.")

    def control(self) -> None:
        """Set the controls of the next step; none by default."""

    def set_controls(self, controls: NDArray[np.float64]) -> None:
        """Give both the same controls."""
        self.sim.data.ctrl[:] = self._data.ctrl[:] = controls

    def poses(self, *, ours: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Positions (bodies, 3) and quaternions (bodies, 4); ours: with our laws, else with MuJoCo's contact."""
        data = self.sim.data if ours else self._data
        return data.xpos, data.xquat

    def touching(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Contact points of our laws in the last step (k, 3) [m] and their modes (k,)."""
        points, modes = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
        for contact in self.sim.contacts.values():
            if hasattr(contact, "slips"):  # a material, whose points have modes
                points.append(contact.points)
                modes.append(np.where(contact.slips, int(Mode.DYNAMIC), int(Mode.STATIC)))
            elif contact.mode != Mode.NONE:
                points.append(contact.points)
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
        change = np.clip(self.strength - self._now, -self.timestep, self.timestep)  # from 0 to 1 in a second
        self._now += float(change)
        self.set_controls(targets(self.steps * self.timestep, self._gait, self._now))


class ModelFile(Live):
    """A model file with one material on all its geoms; `random`: controls wander through their ranges."""

    def __init__(self, path: str | Path, material: Material | str | float = 0.8, *, seed: int = 0) -> None:
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


MUJOCO = "MuJoCo's own contact"
_HIDDEN = (0.0, 0.0, -100.0)  # [m] where an unused point is drawn


class RobotViewer(Window):
    """The viewer of a robot that runs until it is closed."""

    def __init__(self, robot: Live, *, host: str = "127.0.0.1", port: int = 8080) -> None:
        self.robot, self._due = robot, 0.0
        super().__init__(host=host, port=port, extent=40.0)
        low, high = self._bounds()
        far, centre = max(0.3, float(np.linalg.norm(high - low))), (low + high) / 2
        self.set_camera(centre + far * np.array([1.7, -1.6, 0.9]), centre)
        self._ours = self._add_bodies("ours", colours.STICTION, 1.0)
        self._theirs = self._add_bodies("theirs", colours.MUJOCO, 0.35)
        self._points = self.server.scene.add_point_cloud(
            f"{WORLD}/contacts", np.array([_HIDDEN]), colours.INK, point_size=0.02 * far, point_shape="circle"
        )
        self._add_controls()
        self._draw()

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner (3,) of the robot's bounding box at the start [m]."""
        position, quaternion = self.robot.poses(ours=True)
        turn = rotation_matrices(np.ascontiguousarray(quaternion))
        pieces = pieces_of(self.robot.sim.model)
        points = [piece.vertices @ turn[piece.body].T + position[piece.body] for piece in pieces] or [np.zeros((1, 3))]
        return np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)

    def _add_bodies(self, name: str, colour, opacity: float) -> dict[int, viser.MeshHandle]:
        """Add a mesh for each body that has geoms."""
        return {
            body: self.server.scene.add_mesh_simple(
                f"{WORLD}/{name}/{body}", vertices, triangles, color=colour, flat_shading=True, receive_shadow=False,
                opacity=None if opacity == 1 else opacity,
            )
            for body, (vertices, triangles) in meshes(pieces_of(self.robot.sim.model)).items()
        }  # fmt: skip

    def _add_controls(self) -> None:
        gui = self.server.gui
        modes = [dot(colours.as_hex(colour), Mode(mode).name.lower()) for mode, colour in colours.MODES.items()]
        robots = [dot(colours.as_hex(colours.STICTION), self.robot.name), dot(colours.as_hex(colours.MUJOCO), MUJOCO)]
        gui.add_html(block(["&emsp;".join(modes), *robots]))
        self._status = gui.add_html("")
        self.add_play_button()
        gui.add_button("Start again", color="gray").on_click(lambda event: self._reset())
        self._speed = gui.add_dropdown("Speed", list(SPEEDS), initial_value="1x")
        self._following = gui.add_checkbox("Camera follows", True)
        self._compared = gui.add_checkbox(MUJOCO, False)
        if isinstance(self.robot, Quadruped):
            walk = gui.add_slider("Walk", 0.0, 1.0, 0.05, 0.0, hint="0: it stands; 1: its full trot")
            walk.on_update(lambda event: setattr(self.robot, "strength", float(walk.value)))
        elif isinstance(self.robot, ModelFile) and self.robot.sim.model.nu:
            wander = gui.add_checkbox("Random controls", False)
            wander.on_update(lambda event: setattr(self.robot, "random", bool(wander.value)))

    def _reset(self) -> None:
        with self._lock:
            self.robot.reset()
            self._due = 0.0
            self.set_playing(True)
            self._draw()

    def advance(self, passed: float) -> None:
        """Advance the robot by `passed` seconds, at most 0.1, at the chosen speed."""
        if self.playing:
            self._due += SPEEDS[self._speed.value] * min(passed, 0.1)
            steps = int(self._due / self.robot.timestep)
            self._due -= steps * self.robot.timestep
            try:
                for _ in range(steps):
                    self.robot.step()
            except checks.InputError as error:
                self.set_playing(False)
                self._status.content = block([escape(str(error))])
                return
        self._draw()

    def _draw(self) -> None:
        with self.server.atomic():
            poses = self.robot.poses(ours=True)
            self._put(self._ours, *poses)
            shown = bool(self._compared.value)
            for handle in self._theirs.values():
                if handle.visible != shown:
                    handle.visible = shown
            if shown:
                self._put(self._theirs, *self.robot.poses(ours=False))
            points, modes = self.robot.touching()
            self._points.points = np.array([*points, _HIDDEN], dtype=np.float32)
            self._points.colors = np.array([*(colours.MODES[int(m)] for m in modes), colours.INK], dtype=np.uint8)
            moving = poses[0][1] if len(poses[0]) > 1 else np.zeros(3)
            self.follow(moving if self._following.value else None)
            self._status.content = self._report(len(points))

    @staticmethod
    def _put(handles, position, quaternion) -> None:
        for body, handle in handles.items():
            handle.position, handle.wxyz = position[body], quaternion[body]

    def _report(self, points: int) -> str:
        sim = self.robot.sim
        rows = [f"<b>Time:</b> {self.robot.steps * self.robot.timestep:.2f} s", f"<b>Contact points:</b> {points}"]
        return block([*rows, f"<b>Steps without a solution:</b> {sim.unsolved}"])
