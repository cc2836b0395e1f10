"""Posters of replays: SVG pictures that the page shows until a replay is started."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from stiction.basics import colours
from stiction.basics.colours import Colour
from stiction.bodies.faces import faces_of
from stiction.viewer.pieces import Piece
from stiction_studies.page.camera import FIELD_OF_VIEW, Camera, Sight, camera_axes

GREY: Colour = (196, 202, 211)


class Poster:
    """An SVG picture of 960 x 520 pixels, to which shapes are added."""

    def __init__(self, sight: Sight) -> None:
        self.eye, target = sight.camera
        width, height = 960, 520
        scale = height / 2 / np.tan(FIELD_OF_VIEW / 2)
        self._camera = Camera(self.eye, camera_axes(self.eye - target), scale, (width, height))
        self._half = sight.extent / 2 + sight.reach

    def path(self, points: NDArray[np.float64], close: bool = False) -> str:
        """World points (n, 3) as the data of an SVG path."""
        pixels = self._camera.pixels(points)
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels) + ("Z" if close else "")

    def ground(self) -> str:
        """Lines every 0.5 m."""
        half = 0.5 * np.ceil(self._half / 0.5)
        ticks = np.arange(-half, half + 0.25, 0.5)
        lines = [[[t, -half, 0], [t, half, 0]] for t in ticks] + [[[-half, t, 0], [half, t, 0]] for t in ticks]
        data = "".join(self.path(np.array(line)) for line in lines)
        return f'<path d="{data}" fill="none" stroke="#d5dae2"/>'

    def trail(self, points: NDArray[np.float64], color: Colour) -> str:
        """The path through points (n, 3)."""
        return f'<path d="{self.path(points)}" fill="none" stroke="{colours.as_hex(color)}" stroke-width="2"/>'

    def pieces(self, pieces: list[Piece], position: NDArray, turn: NDArray, color: Colour, opacity: float) -> str:
        """All pieces, farthest first: the faces of a single one, of several their outlines."""
        found = []
        for piece in pieces:
            corners = piece.vertices @ turn[piece.body].T + position[piece.body]
            shown = GREY if piece.plain else color
            path = self._faces(piece, corners, shown) if len(pieces) == 1 else self._outline(corners, shown)
            # By the farthest corner: a slab that supports bodies extends behind them.
            found.append((-float(np.linalg.norm(corners - self.eye, axis=1).max()), path))
        paths = "".join(path for _, path in sorted(found))
        width = 1 if len(pieces) == 1 else 0.7
        style = f'stroke="#1e242e" stroke-width="{width}" stroke-linejoin="round"'
        return f'<g opacity="{opacity:.2f}" {style}>{paths}</g>'

    def _outline(self, corners: NDArray, color: Colour) -> str:
        """The hull of the projected corners of a convex piece."""
        hull = corners[ConvexHull(self._camera.pixels(corners)).vertices]
        return f'<path d="{self.path(hull, close=True)}" fill="{colours.as_hex(color)}"/>'

    def _faces(self, piece: Piece, corners: NDArray, color: Colour) -> str:
        """The visible faces of a convex piece, shaded by their direction."""
        parts = []
        for face in faces_of(piece.vertices):
            loop = corners[face]
            normal = np.cross(loop[1] - loop[0], loop[2] - loop[0])
            normal /= np.linalg.norm(normal)
            if (self.eye - loop[0]) @ normal > 0:
                shade = 0.82 + 0.3 * float(normal @ [0.3, 0.2, 0.93])
                fill = colours.as_hex(tuple(int(min(255, c * shade)) for c in color))  # type: ignore[arg-type]
                parts.append(f'<path d="{self.path(loop, close=True)}" fill="{fill}"/>')
        return "".join(parts)

    def svg(self, parts: list[str]) -> str:
        """The whole picture of these parts, farthest first."""
        width, height = self._camera.size
        body = "\n".join(parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'preserveAspectRatio="xMidYMid slice" aria-hidden="true">\n{body}\n</svg>'
        )
