"""Bodies: a convex shape with its mass properties."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.bodies.faces import convex_corners, faces_of, outline_of, shrunk

_SMALLEST, _LARGEST = 1e-3, 20.0  # plausible sizes of a body given as a mesh file [m]
_SLACK = 1e-9  # relative slack of the checks on mass properties


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid convex body. Build one with `box`, `prism`, `rectangle`, `mesh` or `hull_of`.

    shape: "box", "prism", "rectangle", "mesh" or "hull"
    size: the numbers that define the shape [m]: box (x, y, z), prism (sides, radius, height), rectangle (x, z)
    vertices: corners in the body frame [m], shape (V, 3)
    mass: [kg]
    com: centre of mass in the body frame [m], shape (3,)
    inertia: about the centre of mass, body axes [kg m^2], shape (3, 3)
    planar: True for a body that moves in the x-z plane only
    rounding: radius of its edges and corners [m]: the body is all points within it of the hull of `vertices`
    """

    shape: str
    size: tuple[float, ...]
    vertices: NDArray[np.float64]
    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]
    planar: bool = False
    rounding: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", checks.array("Body vertices", self.vertices, (None, 3)).copy())
        object.__setattr__(self, "mass", checks.positive("Body mass [kg]", self.mass))
        object.__setattr__(self, "com", checks.array("Body com (centre of mass)", self.com, (3,)).copy())
        object.__setattr__(self, "inertia", _checked_inertia(self.inertia))
        object.__setattr__(self, "rounding", checks.non_negative("Body rounding [m]", self.rounding))
        for part in (self.vertices, self.com, self.inertia):
            part.setflags(write=False)
        low, high = self.vertices.min(axis=0) - self.rounding, self.vertices.max(axis=0) + self.rounding
        if np.any(self.com < low - _SLACK) or np.any(self.com > high + _SLACK):
            raise checks.InputError(
                f"Body com must lie inside the body, between {low.tolist()} and {high.tolist()}, "
                f"got {self.com.tolist()}."
            )

    @cached_property
    def faces(self) -> list[list[int]]:
        """Loops of vertex numbers, counter-clockwise seen from outside; of a planar body, its outline alone."""
        return [outline_of(self.vertices)] if self.planar else faces_of(self.vertices)

    @cached_property
    def hull(self) -> _core.Hull:
        """This body as the native core sees it."""
        corners = self.vertices - self.com
        return _core.Hull(corners, self.faces, self.mass, self.inertia, self.planar, self.rounding)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "hull"}  # made anew where it is needed

    @property
    def diameter(self) -> float:
        """Greatest extent [m]."""
        return self.hull.diameter

    def same_as(self, other: "Body", tolerance: float = 1e-6) -> bool:
        """Whether both have the same corners, mass properties and freedom to move, within a relative tolerance."""
        mine, theirs = self._numbers(), other._numbers()
        return self.planar == other.planar and all(
            a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(a).max())
            for a, b in zip(mine, theirs, strict=True)
        )

    def _numbers(self) -> list[NDArray[np.float64]]:
        corners = self.vertices[np.lexsort(np.round(self.vertices, 9).T)]
        return [corners, np.array([self.mass]), self.com + self.diameter, self.inertia, np.array([self.rounding])]

    def to_dict(self) -> dict[str, Any]:
        """A plain description that JSON can hold and `from_dict` reads back exactly."""
        description = {
            "shape": self.shape,
            "size": list(self.size),
            "vertices": self.vertices.tolist(),
            "mass": self.mass,
            "com": self.com.tolist(),
            "inertia": self.inertia.tolist(),
            "planar": self.planar,
        }
        return description | ({"rounding": self.rounding} if self.rounding else {})  # sharp bodies keep their digests

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> "Body":
        """The body that `to_dict` described."""
        try:
            parts = {name: description[name] for name in cls.__dataclass_fields__ if name != "rounding"}
            parts["rounding"] = description.get("rounding", 0.0)
        except (KeyError, TypeError, AttributeError) as error:
            raise checks.InputError(f"A body's description must have the field {error}.") from error
        return cls(**{**parts, "size": tuple(parts["size"])})

    def reshaped(self, *, scale: float, rounding: float, com: ArrayLike, inertia: ArrayLike) -> "Body":
        """The same shape with other mass properties, its outside scaled, its edges rounded with this radius [m].

        Faces keep their places: those of the core move in by the radius of the ball that is swept over it.
        """
        scale, rounding = checks.positive("scale", scale), checks.non_negative("rounding [m]", rounding)
        change = rounding - scale * self.rounding
        vertices = scale * self.vertices
        if change and not self.planar:
            vertices = shrunk(vertices, change)
        size = self.size if self.shape == "prism" else tuple(scale * length for length in self.size)
        return Body(self.shape, size, vertices, self.mass, np.asarray(com), np.asarray(inertia), self.planar, rounding)

    @classmethod
    def box(
        cls,
        size: ArrayLike,
        mass: float,
        *,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        rounding: float = 0.0,
    ) -> "Body":
        """A box of `size` (x, y, z) [m] centred on the body frame; uniform unless `inertia` is given.

        rounding: radius of its edges and corners [m], within `size`
        """
        edges = _lengths("box size", size, 3)
        rounding = checks.non_negative("box rounding [m]", rounding)
        if 2 * rounding >= edges.min():
            raise checks.InputError(f"box rounding must be below half the shortest edge, got {rounding:g} m.")
        core = edges - 2 * rounding if rounding else edges
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * core / 2
        uniform = np.diag(np.sum(edges**2) - edges**2) / 12
        full = _or_uniform(inertia, mass, uniform)
        return cls("box", tuple(edges.tolist()), corners, mass, np.asarray(com), full, rounding=rounding)

    @classmethod
    def prism(
        cls,
        sides: int,
        radius: float,
        height: float,
        mass: float,
        *,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> "Body":
        """An upright prism on a regular polygon: `radius` to its corners, `height` along body z [m]."""
        sides = checks.count("prism sides", sides, 3)
        radius, height = checks.positive("prism radius [m]", radius), checks.positive("prism height [m]", height)
        angle = 2 * np.pi * np.arange(sides) / sides
        ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        corners = np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (-height / 2, height / 2)])
        spin = radius**2 * (1 + 2 * np.cos(np.pi / sides) ** 2) / 6
        uniform = np.diag([spin / 2 + height**2 / 12, spin / 2 + height**2 / 12, spin])
        size = (float(sides), radius, height)
        return cls("prism", size, _single(corners), mass, np.asarray(com), _or_uniform(inertia, mass, uniform))

    @classmethod
    def rectangle(
        cls,
        size: ArrayLike,
        mass: float,
        *,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> "Body":
        """A rectangle of `size` (x, z) [m] that moves in the x-z plane only: the paper's 2D example."""
        width, height = _lengths("rectangle size", size, 2)
        corners = np.array([[x, 0.0, z] for x in (-width / 2, width / 2) for z in (-height / 2, height / 2)])
        uniform = np.diag([height**2, width**2 + height**2, width**2]) / 12
        centre = checks.array("rectangle com", com, (3,))
        if centre[1] != 0:
            raise checks.InputError(f"The com of a rectangle must lie in its plane y = 0, got y = {centre[1]:g}.")
        full = _or_uniform(inertia, mass, uniform)
        return cls("rectangle", (float(width), float(height)), _single(corners), mass, centre, full, planar=True)

    @classmethod
    def hull_of(
        cls,
        points: ArrayLike,
        mass: float,
        *,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        rounding: float = 0.0,
    ) -> "Body":
        """The convex hull of `points` (n, 3) [m], body frame; uniform unless `com` or `inertia` is given.

        rounding: [m] a ball of this radius is swept over the hull, which makes the body larger by it
        """
        corners = convex_corners(_single(checks.array("points", points, (None, 3))))
        if com is None or inertia is None:
            import trimesh  # heavy, and only needed for mass properties

            solid = trimesh.convex.convex_hull(corners)
            com = solid.center_mass if com is None else com
            inertia = _or_uniform(inertia, mass, solid.moment_inertia / solid.volume)
        return cls("hull", (), corners, mass, np.array(com), np.array(inertia), rounding=rounding)

    @classmethod
    def mesh(
        cls,
        path: str | Path,
        mass: float,
        *,
        scale: float = 1.0,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
    ) -> "Body":
        """A convex, watertight mesh file (STL, OBJ, PLY, ...); uniform unless `com` or `inertia` is given.

        scale: metres in one unit of the file, such as 0.001 for millimetres
        """
        mesh = _load_mesh(Path(path), checks.positive("mesh scale", scale))
        mass = checks.positive("Body mass [kg]", mass)
        centre = np.array(mesh.center_mass) if com is None else np.asarray(com)
        uniform = np.array(mesh.moment_inertia) / mesh.volume
        corners = convex_corners(_single(np.unique(mesh.vertices, axis=0)))
        return cls("mesh", (), corners, mass, centre, _or_uniform(inertia, mass, uniform))


def _single(vertices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to single precision, in which mesh files and engines keep vertices: all then see one body."""
    return vertices.astype(np.float32).astype(np.float64)


def _lengths(name: str, value: ArrayLike, number: int) -> NDArray[np.float64]:
    lengths = checks.array(name, value, (number,))
    if lengths.ndim != 1 or np.any(lengths <= 0):
        raise checks.InputError(f"{name} must be {number} positive lengths [m], got {lengths.tolist()}.")
    return lengths


def _or_uniform(inertia: ArrayLike | None, mass: float, per_mass: NDArray[np.float64]) -> NDArray[np.float64]:
    return checks.positive("Body mass [kg]", mass) * per_mass if inertia is None else np.asarray(inertia)


def _checked_inertia(value: ArrayLike) -> NDArray[np.float64]:
    inertia = checks.array("Body inertia", value, (3, 3))
    if np.abs(inertia - inertia.T).max() > _SLACK * np.abs(inertia).max():
        raise checks.InputError(f"Body inertia must be symmetric, got {inertia.tolist()}.")
    inertia = 0.5 * (inertia + inertia.T)
    low, middle, high = np.linalg.eigvalsh(inertia)
    if low <= 0 or high > (low + middle) * (1 + _SLACK):
        raise checks.InputError(
            "Body inertia must belong to a real mass distribution: principal moments positive and none above the sum "
            f"of the others, got principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m^2."
        )
    return inertia


def _load_mesh(path: Path, scale: float):
    import trimesh  # heavy, and only needed for meshes

    if not path.is_file():
        raise checks.InputError(f"There is no mesh file {path}.")
    try:
        mesh = trimesh.load(path, force="mesh")
    except Exception as error:  # trimesh raises whatever its readers raise
        raise checks.InputError(f"{path} cannot be read as a mesh: {error}.") from error
    if not isinstance(mesh, trimesh.Trimesh) or len(mesh.faces) == 0:
        raise checks.InputError(f"{path} holds no triangles; a body needs a watertight convex mesh.")
    mesh.merge_vertices()
    mesh.apply_scale(scale)
    extent = float(mesh.extents.max())
    if not _SMALLEST <= extent <= _LARGEST:
        raise checks.InputError(
            f"{path} is {extent:g} m long; a body is {_SMALLEST:g} to {_LARGEST:g} m: give `scale`, such as 0.001 "
            "for a file in millimetres."
        )
    if not mesh.is_watertight:
        raise checks.InputError(f"{path} is not watertight, so its mass is not defined; close its holes first.")
    hull_volume = mesh.convex_hull.volume
    if mesh.volume < (1 - 1e-6) * hull_volume:
        raise checks.InputError(
            f"{path} is not convex: it fills {100 * mesh.volume / hull_volume:.4g} % of its convex hull; "
            "give the hull, or one convex part of it."
        )
    return mesh
