"""The viewer of a law: throw its body in the browser and compare the motion with others."""

from html import escape
from pathlib import Path

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from stiction.basics import checks, colours
from stiction.bodies.state import Kind, Mode, State
from stiction.bodies.throws import draw
from stiction.bodies.trajectory import Trajectory
from stiction.laws.modelfile import laws_of_one_body
from stiction.viewer import subject as contrasts
from stiction.viewer.solids import Actor, Edges, Solid, finite_part
from stiction.viewer.subject import Contrast, Subject
from stiction.viewer.window import SPEEDS, WORLD, Window, block, dot


class Viewer(Window):
    """The viewer of a law and its controls; it starts with one throw.

    law: name of a shipped law, or path of a model file
    seed: of the random throws
    data: recordings of the law's body: a folder made by `stiction import`, or a file that it reads
    """

    def __init__(
        self, law: str, *, host: str = "127.0.0.1", port: int = 8080, seed: int = 0, data: str | Path | None = None
    ) -> None:
        self._subject = Subject.load(law, data)
        self._given, self._data = law, data
        self._seed = checks.count("seed", seed, 0)
        self._random = np.random.default_rng(self._seed)
        self._time = 0.0
        self._toss: int | None = None  # index of the recorded toss that is shown
        super().__init__(host=host, port=port, extent=16.0)
        self._add_controls([law, *(name for name in laws_of_one_body() if name != law)])
        self._set_stage()
        self._first_throw()

    def _add_controls(self, laws: list[str]) -> None:
        gui = self.server.gui
        self._law = gui.add_dropdown("Law", laws, initial_value=laws[0])
        self._law.on_update(lambda event: self._choose(self._law.value))
        self._contrast_name = gui.add_dropdown("Compare with", contrasts.offered(self._subject))
        self._contrast_name.on_update(lambda event: self._compare() if event.client else None)
        self._legend = gui.add_html("")
        self._status = gui.add_html("")
        with gui.add_folder("Watch"):
            self.add_play_button()
            self._slider = gui.add_slider("Time [s]", 0.0, 1.6, 0.002, 0.0)
            self._slider.on_update(lambda event: self._seek(self._slider.value) if event.client else None)
            self._speed = gui.add_dropdown("Speed", list(SPEEDS), initial_value="0.5x")
            self._following = gui.add_checkbox("Camera follows", False)
            self._following.on_update(lambda event: self._draw())
        with gui.add_folder("Recorded tosses") as self._recorded:
            self._number = gui.add_number("Toss", 1, min=1, step=1)
            self._number.on_update(lambda event: self._show_recorded() if event.client else None)
            gui.add_button("Next toss", color="gray").on_click(lambda event: self._show_recorded(1))
        with gui.add_folder("Throw"):
            gui.add_button("Throw", icon=viser.Icon.PLAYER_TRACK_NEXT).on_click(lambda event: self._throw())
            anyhow = gui.add_button("Random throw", icon=viser.Icon.DICE_5, color="gray")
            anyhow.on_click(lambda event: self._throw_any())
            self._height = gui.add_slider("Height [m]", 0.0, 2.0, 0.01, 0.5, hint="Of the body's lowest point")
            self._turn = _three(gui, "Turn {} [°]", 180.0, 1.0, (30.0, 20.0, 0.0))
            self._velocity = _three(gui, "Velocity {} [m/s]", 5.0, 0.05, (1.5, 0.6, 0.0))
            self._spin = _three(gui, "Spin {} [rad/s]", 30.0, 0.1, (0.0, 4.0, 1.0))
            self._duration = gui.add_slider("Duration [s]", 0.4, 6.0, 0.2, 1.6)

    def _choose(self, name: str) -> None:
        """Switch to another law and throw its body."""
        with self._lock:
            try:  # recordings belong to the law that the viewer was opened with
                self._subject = Subject.load(name, self._data if name == self._given else None)
            except checks.InputError as error:  # a material without a body
                self._status.content = block([escape(str(error))])
                return
            self._set_stage()
            self._first_throw()

    def _first_throw(self) -> None:
        """The first throw of a law: a recorded one if there are recordings, a random one if they did not ship."""
        if self._subject.recordings is not None:
            self._show_recorded()
        elif contrasts.RECORDED in self._contrast_name.options:
            self._throw_any()
        else:
            self._throw()

    def _set_stage(self) -> None:
        """Put the law's body into the scene, and limit the controls to the range of its data."""
        scene, body = self.server.scene, self._subject.law.body
        for name in ("law", "others", "impulse"):
            scene.remove_by_name(f"{WORLD}/{name}")
        near = max(0.35, body.diameter / 0.54)  # nearer for a body smaller than the paper's box
        self.set_camera(near * np.array([2.9, -1.9, 1.4]), near * np.array([0.35, 0.35, 0.2]))
        self._solid = Solid.of(body)
        self._actor = Actor(scene, f"{WORLD}/law", self._solid, color=colours.STICTION)
        self._edges = Edges(scene, f"{WORLD}/law/edges", self._solid)
        self._arrow = scene.add_arrows(
            f"{WORLD}/impulse", np.zeros((1, 2, 3)), colours.INK, shaft_radius=0.04 * body.diameter / 2,
            head_radius=0.1 * body.diameter / 2, head_length=0.25 * body.diameter / 2,
        )  # fmt: skip
        offers = contrasts.offered(self._subject)
        self._contrast_name.options = tuple(offers)
        self._contrast_name.value = offers[0]
        self._recorded.visible = self._subject.recordings is not None
        if self._subject.recordings is not None:
            self._number.max = len(self._subject.recordings)
        self._set_limits()

    def _set_limits(self) -> None:
        ranges = self._subject.ranges
        limits = [(self._height, ranges.height), *((slider, ranges.spin) for slider in self._spin)]
        limits += [(self._velocity[0], ranges.horizontal), (self._velocity[1], ranges.horizontal)]
        for slider, (low, high) in [*limits, (self._velocity[2], ranges.vertical)]:
            slider.min, slider.max = low, high
            slider.value = float(np.clip(slider.value, low, high))
        for slider in (self._turn[0], self._turn[2], self._velocity[1], self._spin[0], self._spin[2]):
            slider.visible = not self._subject.law.body.planar

    def _throw_any(self) -> None:
        """Set the sliders to a random throw in the range of the data, and throw."""
        with self._lock:
            start = draw(self._subject.law.body, self._subject.ranges, self._random)
            turn = Rotation.from_quat(start.quaternion, scalar_first=True).as_euler("xyz", degrees=True)
            self._height.value = float(self._random.uniform(*self._subject.ranges.height))
            parts = ((self._turn, turn), (self._velocity, start.velocity), (self._spin, start.angular_velocity))
            for sliders, values in parts:
                for slider, value in zip(sliders, values):
                    slider.value = float(value)
            self._throw()

    def _throw(self) -> None:
        """Throw with the values of the sliders."""
        with self._lock:
            turn, velocity, spin = ([s.value for s in part] for part in (self._turn, self._velocity, self._spin))
            self._toss = None
            self._launch(self._subject.start(self._height.value, turn, velocity, spin), self._duration.value)

    def _show_recorded(self, offset: int = 0) -> None:
        """Show the recorded toss of the chosen number, or of a later one."""
        with self._lock:
            recordings = self._subject.recordings
            if recordings is None:
                return
            self._toss = (int(self._number.value) - 1 + offset) % len(recordings)
            self._number.value = self._toss + 1
            self._contrast_name.value = contrasts.RECORDED
            duration = recordings.tosses.tosses[self._toss].steps * recordings.tosses.timestep
            self._launch(self._subject.recorded_start(self._toss), duration)

    def _launch(self, start: State, duration: float) -> None:
        """Throw from this state, and play it from its start."""
        self._status.content = block(["Throwing", "", ""])
        try:
            self._run = finite_part(self._subject.throw(start, duration))
        except checks.InputError as error:
            self._status.content = block([escape(str(error))])
            return
        self._start, self._length, self._time = start, duration, 0.0
        self._slider.max, self._slider.step = self._run.steps * self._run.timestep, self._run.timestep
        self._actor.trail(self._run)
        self.set_playing(True)
        self._compare()

    def _compare(self) -> None:
        """Update the comparison, and draw it."""
        with self._lock:
            name = self._contrast_name.value
            self._contrast = contrasts.contrast(
                self._subject, name, self._start, self._length, toss=self._toss, seed=self._seed
            )
            self.server.scene.remove_by_name(f"{WORLD}/others")
            self._others = None
            if self._contrast.runs:
                position, quaternion = self._contrast.poses(self._time)
                # Slightly smaller than the body, so that it shows only where the motions differ, without flicker.
                self._others = self.server.scene.add_batched_meshes_simple(
                    f"{WORLD}/others", 0.985 * self._solid.vertices, self._solid.triangles, quaternion, position,
                    batched_colors=contrasts.COLOURS[name], opacity=0.4 if len(position) == 1 else 0.2,
                    flat_shading=True, lod="off",
                )  # fmt: skip
            self._legend.content = _legend(self._contrast)
            self._draw()

    def _seek(self, moment: float) -> None:
        with self._lock:
            self.set_playing(False)
            self._time = moment
            self._draw()

    def advance(self, passed: float) -> None:
        """Advance the throw by `passed` seconds at the chosen speed."""
        if not self.playing:
            return
        speed, h = SPEEDS[self._speed.value], self._run.timestep
        self._time += speed * passed
        if self._time > self._slider.max + 0.8 * speed:
            self._time = 0.0
        shown = h * min(round(self._time / h), self._run.steps)
        if shown != self._slider.value:
            self._slider.value = shown
            self._draw()

    def _draw(self) -> None:
        """Draw the throw at the current time."""
        with self._lock, self.server.atomic():
            run = self._run
            step = min(round(self._time / run.timestep), run.steps)
            contact = self._actor.show(run, step)
            self._edges.show(run, step)
            self._draw_impulse(run, contact)
            if self._others is not None:
                self._others.batched_positions, self._others.batched_wxyzs = self._contrast.poses(self._time)
            self.follow(run.position[step] if self._following.value else None)
            self._status.content = _status(run, self._contrast, step, contact)

    def _draw_impulse(self, run: Trajectory, contact: int | None) -> None:
        """Draw the contact impulse as an arrow from the patch's centre."""
        size = 0.0 if contact is None else float(np.linalg.norm(run.impulse[contact, :3]))
        self._arrow.visible = size > 0
        if contact is None or size == 0:
            return
        body = self._subject.law.body
        resting = body.mass * 9.81 * run.timestep
        # Logarithmic: an impact is a hundred times the impulse at rest. The constant brings it out of the body.
        length = body.diameter * (0.8 + 0.15 * np.log1p(size / resting))
        outline = self._actor.patch.outline(run.position[contact], run.quaternion[contact])
        foot = np.append(outline.mean(axis=0), 0.0)
        self._arrow.points = np.array([[foot, foot + length * run.impulse[contact, :3] / size]], dtype=np.float32)
        self._arrow.colors = np.array(colours.MODES[int(run.mode[contact])], dtype=np.uint8)


def _three(gui: viser.GuiApi, label: str, most: float, step: float, values) -> list[viser.GuiSliderHandle[float]]:
    """A slider for each axis."""
    return [gui.add_slider(label.format(axis), -most, most, step, value) for axis, value in zip("xyz", values)]


def _status(run: Trajectory, other: Contrast, step: int, contact: int | None) -> str:
    """Mode, impulse and distance to the comparison: always three lines, so that the controls below stay in place."""
    what, impulse = "in flight", "none"
    if contact is not None:
        what = f"{Kind(int(run.kind[contact])).name.lower()}, {Mode(int(run.mode[contact])).name.lower()}"
        impulse = "({:.3f}, {:.3f}, {:.3f}) N s".format(*(run.impulse[contact, :3].round(3) + 0.0))  # avoids -0.000
    rows = [f"<b>Contact:</b> {what}", f"<b>Impulse:</b> {impulse}"]
    if not other.runs:
        rows.append(escape(other.remark) or "&nbsp;")
    else:
        now, end = (_apart(run, other, at) for at in (step, run.steps))
        rows.append(f"<b>Away from {other.name}:</b> {1e3 * now:.2f} mm, in the end {1e3 * end:.2f} mm")
    return block(rows)


def _apart(run: Trajectory, other: Contrast, step: int) -> float:
    """Distance to the comparison [m], the root mean square if there are several."""
    position, _ = other.poses(step * run.timestep)
    return float(np.sqrt(((position - run.position[step]) ** 2).sum(axis=1).mean()))


def _legend(other: Contrast) -> str:
    modes = [dot(colours.as_hex(colour), Mode(mode).name.lower()) for mode, colour in colours.MODES.items()]
    bodies = [dot(colours.as_hex(colours.STICTION), "the law")]
    if other.runs:
        bodies.append(dot(colours.as_hex(contrasts.COLOURS[other.name]), other.name))
    return block(["&emsp;".join(modes), "&emsp;".join(bodies)])
