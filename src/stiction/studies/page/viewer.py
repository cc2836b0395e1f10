"""`stiction view`: throw a body with a law in the browser and watch it, with its ground truth as a ghost."""

import io
import threading
import time
import webbrowser
from contextlib import redirect_stdout
from html import escape

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from stiction.basics import checks
from stiction.bodies.state import Kind, Mode, Trajectory
from stiction.laws.modelfile import shipped_laws
from stiction.learning.collect.throws import draw
from stiction.studies.page.replay import Actor, Edges, set_ground, set_light
from stiction.studies.page.shapes import MODE_COLORS, RUN_COLORS, Solid, finite_part, hex_color
from stiction.studies.page.throwing import Subject, Thrown

SPEEDS = {"1x": 1.0, "0.5x": 0.5, "0.25x": 0.25, "0.1x": 0.1}
_TICK = 1 / 50  # [s] between two pictures
_PAUSE = 0.8  # [s] at the end, before the throw is shown again


def serve(law: str, *, host: str, port: int, seed: int, open_browser: bool) -> None:
    """Run the viewer until it is interrupted."""
    viewer = Viewer(law, host=host, port=port, seed=seed)
    print(f"Viewer: {viewer.address} (Ctrl+C ends it)", flush=True)
    if open_browser:
        webbrowser.open(viewer.address)
    try:
        viewer.run()
    finally:
        viewer.close()


class Viewer:
    """The viewer's server, its controls and what it shows; begins with one throw.

    law: name of a shipped law, or path of a model file
    seed: of the random throws
    """

    def __init__(self, law: str, *, host: str = "127.0.0.1", port: int = 8080, seed: int = 0) -> None:
        self._subject = Subject.load(law)
        self._random = np.random.default_rng(checks.count("seed", seed, 0))
        self._lock = threading.RLock()
        self._playing, self._time = True, 0.0
        self._closing = threading.Event()
        with redirect_stdout(io.StringIO()):  # viser's own greeting
            self.server = viser.ViserServer(host=host, port=port, label="stiction", verbose=False)
        self.address = f"http://{'localhost' if host in ('127.0.0.1', '0.0.0.0') else host}:{self.server.get_port()}"
        self.server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        set_light(self.server.scene)
        set_ground(self.server.scene, 9.0)
        self.server.initial_camera.position, self.server.initial_camera.look_at = (2.9, -1.9, 1.4), (0.35, 0.35, 0.2)
        self.server.initial_camera.fov = float(np.radians(40))
        self._add_controls([law, *(name for name in shipped_laws() if name != law)])
        self._set_stage()
        self._throw()

    def run(self) -> None:
        """Play until `close` is called from another thread, or the program is interrupted."""
        before = time.perf_counter()
        while not self._closing.wait(_TICK):
            now = time.perf_counter()
            with self._lock:
                if self._playing:
                    self._advance(now - before)
            before = now

    def close(self) -> None:
        """Stop the server."""
        self._closing.set()
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    def _add_controls(self, laws: list[str]) -> None:
        gui = self.server.gui
        self._law = gui.add_dropdown("Law", laws, initial_value=laws[0])
        self._law.on_update(lambda event: self._choose(self._law.value))
        gui.add_html(_legend())
        self._status = gui.add_html("")
        with gui.add_folder("Watch"):
            self._play = gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE, color="gray")
            self._play.on_click(lambda event: self._toggle())
            self._slider = gui.add_slider("Time [s]", 0.0, 1.6, 0.002, 0.0)
            self._slider.on_update(lambda event: self._seek(self._slider.value) if event.client else None)
            self._speed = gui.add_dropdown("Speed", list(SPEEDS), initial_value="0.5x")
            self._show_truth = gui.add_checkbox("Ground truth", True)
            self._show_truth.on_update(lambda event: self._draw())
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
        """Take another law, and throw its body."""
        with self._lock:
            self._subject = Subject.load(name)
            self._set_stage()
            self._throw()

    def _set_stage(self) -> None:
        """Put the law's body into the scene, and set the controls to throws that the law knows."""
        scene, body = self.server.scene, self._subject.law.body
        for path in ("/law", "/truth", "/impulse"):
            scene.remove_by_name(path)
        solid = Solid.of(body)
        self._actor = Actor(scene, "/law", solid, color=RUN_COLORS[1])
        self._edges = Edges(scene, "/law/edges", solid)
        # A little smaller than the body: it comes out where the law departs from it, and does not flicker where not.
        self._ghost = scene.add_mesh_simple(
            "/truth", 0.985 * solid.vertices, solid.triangles, color=RUN_COLORS[0], opacity=0.4, flat_shading=True
        )
        self._arrow = scene.add_arrows(
            "/impulse", np.zeros((1, 2, 3)), (30, 36, 46), shaft_radius=0.008, head_radius=0.022, head_length=0.05
        )
        ranges = self._subject.ranges
        limits = [(self._height, ranges.height), *((slider, ranges.spin) for slider in self._spin)]
        limits += [(self._velocity[0], ranges.horizontal), (self._velocity[1], ranges.horizontal)]
        for slider, (low, high) in [*limits, (self._velocity[2], ranges.vertical)]:
            slider.min, slider.max = low, high
            slider.value = float(np.clip(slider.value, low, high))
        for slider in (self._turn[0], self._turn[2], self._velocity[1], self._spin[0], self._spin[2]):
            slider.visible = not body.planar

    def _throw_any(self) -> None:
        """Set the sliders to a random throw that the law knows, and throw."""
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
        """Throw as the sliders say, and play it from its begin."""
        with self._lock:
            self._status.content = _block(["Throwing", "", ""])
            turn, velocity, spin = ([s.value for s in part] for part in (self._turn, self._velocity, self._spin))
            start = self._subject.start(self._height.value, turn, velocity, spin)
            try:
                thrown = self._subject.throw(start, self._duration.value)
            except checks.InputError as error:  # a motion that runs out of numbers
                self._status.content = _block([escape(str(error))])
                return
            truth = finite_part(thrown.truth) if thrown.truth else None
            self._thrown = Thrown(finite_part(thrown.run), truth, thrown.remark)
            run = self._thrown.run
            self._slider.max, self._slider.step = run.steps * run.timestep, run.timestep
            self._actor.trail(run)
            self._time = 0.0
            self._set_playing(True)
            self._draw()

    def _toggle(self) -> None:
        with self._lock:
            self._set_playing(not self._playing)

    def _set_playing(self, playing: bool) -> None:
        self._playing = playing
        self._play.label = "Pause" if playing else "Play"
        self._play.icon = viser.Icon.PLAYER_PAUSE if playing else viser.Icon.PLAYER_PLAY

    def _seek(self, moment: float) -> None:
        with self._lock:
            self._set_playing(False)
            self._time = moment
            self._draw()

    def _advance(self, passed: float) -> None:
        end = self._slider.max
        self._time += SPEEDS[self._speed.value] * passed
        if self._time > end + _PAUSE * SPEEDS[self._speed.value]:
            self._time = 0.0
        h = self._thrown.run.timestep
        shown = h * min(round(self._time / h), self._thrown.run.steps)
        if shown != self._slider.value:
            self._slider.value = shown
            self._draw()

    def _draw(self) -> None:
        """Show the throw at the current time."""
        with self._lock, self.server.atomic():
            run, truth = self._thrown.run, self._thrown.truth
            step = min(round(self._time / run.timestep), run.steps)
            contact = self._actor.show(run, step)
            self._edges.show(run, step)
            self._draw_impulse(run, contact)
            self._ghost.visible = truth is not None and self._show_truth.value
            if truth is not None:
                self._ghost.position, self._ghost.wxyz = truth.position[step], truth.quaternion[step]
            self._status.content = _status(self._thrown, step, contact)

    def _draw_impulse(self, run: Trajectory, contact: int | None) -> None:
        """The contact impulse as an arrow from the patch's middle through the body; the longer the larger it is."""
        size = 0.0 if contact is None else float(np.linalg.norm(run.impulse[contact, :3]))
        self._arrow.visible = size > 0
        if contact is None or size == 0:
            return
        body = self._subject.law.body
        resting = body.mass * 9.81 * run.timestep
        # By the logarithm: an impact is a hundred times a rest. The first part only brings it out of the body.
        length = body.diameter * (0.8 + 0.15 * np.log1p(size / resting))
        foot = np.append(self._actor.outline(run, contact).mean(axis=0), 0.0)
        self._arrow.points = np.array([[foot, foot + length * run.impulse[contact, :3] / size]], dtype=np.float32)
        self._arrow.colors = np.array(MODE_COLORS[Mode(int(run.mode[contact]))], dtype=np.uint8)


def _three(gui: viser.GuiApi, label: str, most: float, step: float, values) -> list[viser.GuiSliderHandle[float]]:
    """A slider for each axis."""
    return [gui.add_slider(label.format(axis), -most, most, step, value) for axis, value in zip("xyz", values)]


def _status(thrown: Thrown, step: int, contact: int | None) -> str:
    """Mode, impulse and distance to the ground truth: always three lines, so that the controls below stay in place."""
    run = thrown.run
    what, impulse = "in flight", "none"
    if contact is not None:
        what = f"{Kind(int(run.kind[contact])).name.lower()}, {Mode(int(run.mode[contact])).name.lower()}"
        impulse = "({:.3f}, {:.3f}, {:.3f}) N s".format(*(run.impulse[contact, :3].round(3) + 0.0))  # no -0.000
    rows = [f"<b>Contact:</b> {what}", f"<b>Impulse:</b> {impulse}"]
    if thrown.truth is None:
        rows.append(f"<b>No ground truth:</b> {escape(thrown.remark)}")
    else:
        apart = 1e3 * np.linalg.norm(run.position - thrown.truth.position, axis=1)
        rows.append(f"<b>Off the truth:</b> {apart[step]:.2f} mm, in the end {apart[-1]:.2f} mm")
    return _block(rows)


def _block(rows: list[str]) -> str:
    return f'<div style="font-size:0.8em;padding:0.1em 1em;line-height:1.6">{"<br>".join(rows)}</div>'


def _legend() -> str:
    dot = '<span style="color:{}">&#9679;</span> {}'
    modes = [dot.format(hex_color(color), mode.name.lower()) for mode, color in MODE_COLORS.items()]
    bodies = [dot.format(hex_color(RUN_COLORS[1]), "the law"), dot.format(hex_color(RUN_COLORS[0]), "ground truth")]
    return _block(["&emsp;".join(modes), "&emsp;".join(bodies)])
