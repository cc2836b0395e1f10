"""Pictures of a replay that need no player: its poster, and when each run was in which mode."""

import numpy as np
from numpy.typing import NDArray

from stiction.basics import colours
from stiction.basics.colours import Colour
from stiction.bodies.state import Mode
from stiction.bodies.trajectory import Trajectory
from stiction.viewer.solids import Solid
from stiction_studies.page.replay import Stage
from stiction_studies.page.sight import FIELD_OF_VIEW, Sight

WIDTH, HEIGHT = 960, 520  # of the poster [px]
_POSES = 5  # of each body in the poster
_LIGHT = np.array([0.3, 0.2, 0.93])


def poster(stage: Stage) -> str:
    """An SVG of all runs: their paths, and the bodies at a few times, the last one in full colour."""
    view = View(stage.sight)
    return svg([view.ground(), *_shapes(stage, view)])


def svg(parts: list[str]) -> str:
    """The parts of a poster as an SVG file."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'preserveAspectRatio="xMidYMid slice" aria-hidden="true">\n{body}\n</svg>'
    )


def mode_spans(mode: NDArray[np.int8], timestep: float) -> list[tuple[float, float, str]]:
    """When a body was in contact, as (begin, end, name of the mode) in order.

    mode: of each step, shape (steps,)
    timestep: of a step, in the unit in which begin and end are wanted
    """
    cuts = np.flatnonzero(np.diff(mode)) + 1
    begins, ends = [0, *cuts.tolist()], [*cuts.tolist(), len(mode)]
    spans = ((a, b, Mode(int(mode[a]))) for a, b in zip(begins, ends) if a < b)
    return [
        (round(a * timestep, 3), round(b * timestep, 3), mode.name.lower()) for a, b, mode in spans if mode != Mode.NONE
    ]


class View:
    """The camera of a replay, for flat pictures."""

    def __init__(self, sight: Sight) -> None:
        self.eye, target = sight.camera
        back = self.eye - target
        back /= np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(back, right), back], axis=1)
        self._scale = HEIGHT / 2 / np.tan(FIELD_OF_VIEW / 2)
        self._half = sight.extent / 2 + sight.reach

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """World points (n, 3) on the picture, shape (n, 2)."""
        seen = (points - self.eye) @ self._axes
        flat = self._scale * seen[:, :2] / -seen[:, 2:]
        return np.array([WIDTH / 2, HEIGHT / 2]) + flat * [1, -1]

    def path(self, points: NDArray[np.float64], close: bool = False) -> str:
        """World points as the data of an SVG path."""
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in self.pixels(points)) + ("Z" if close else "")

    def ground(self) -> str:
        """Lines every 0.5 m."""
        half = 0.5 * np.ceil(self._half / 0.5)
        ticks = np.arange(-half, half + 0.25, 0.5)
        lines = [[[t, -half, 0], [t, half, 0]] for t in ticks] + [[[-half, t, 0], [half, t, 0]] for t in ticks]
        data = "".join(self.path(np.array(line)) for line in lines)
        return f'<path d="{data}" fill="none" stroke="#d5dae2"/>'


def _shapes(stage: Stage, view: View) -> list[str]:
    """Paths and bodies of all runs, those farther away first."""
    found: list[tuple[float, str]] = []
    for run, shift, color in zip(stage.runs.values(), stage.offset, colours.of_runs(stage.runs)):
        trail = view.path(run.position[::10] + shift)
        found.append((np.inf, f'<path d="{trail}" fill="none" stroke="{colours.as_hex(color)}" stroke-width="2"/>'))
        for pose, step in enumerate(_moments(run)):
            corners = stage.solid.placed(run.position[step] + shift, run.quaternion[step])
            opacity = 1.0 if pose == _POSES - 1 else 0.14 + 0.08 * pose
            # The last pose comes in front: it is what the eye compares.
            depth = float(np.linalg.norm(corners.mean(axis=0) - view.eye)) + (100.0 if pose < _POSES - 1 else 0.0)
            found.append((depth, _solid(stage.solid, corners, view, color, opacity)))
    return [text for _, text in sorted(found, key=lambda item: -item[0])]


def _moments(run: Trajectory) -> list[int]:
    """Steps at equal distances along the way, turning included."""
    moved = np.linalg.norm(np.diff(run.position, axis=0), axis=1)
    turned = 0.1 * np.linalg.norm(np.diff(run.quaternion, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(moved + turned)])
    return np.searchsorted(way, np.linspace(0.0, way[-1], _POSES)).tolist()


def _solid(solid: Solid, corners: NDArray[np.float64], view: View, color: Colour, opacity: float) -> str:
    """The faces of a convex body that look at the camera."""
    parts = []
    for face in solid.faces:
        loop = corners[face]
        normal = np.cross(loop[1] - loop[0], loop[2] - loop[0])
        normal /= np.linalg.norm(normal)
        if (view.eye - loop[0]) @ normal > 0:
            shade = 0.82 + 0.3 * float(normal @ _LIGHT)
            fill = colours.as_hex(tuple(int(min(255, c * shade)) for c in color))  # type: ignore[arg-type]
            parts.append(f'<path d="{view.path(loop, close=True)}" fill="{fill}"/>')
    return f'<g opacity="{opacity:.2f}" stroke="#1e242e" stroke-linejoin="round">{"".join(parts)}</g>'
