"""Bodies: a convex shape with its mass properties, all checked against their limits and against each other."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.basics.files import path_of
from stiction.bodies.faces import convex_corners, faces_of, load_mesh, outline_of, shrunk, shrunk_in_plane

Shape = Literal["box", "prism", "rectangle", "mesh", "hull"]
MAX_VERTICES = 4096
MAX_LENGTH, MAX_MASS = 1e6, 1e15  # [m], of sizes and coordinates; [kg]
MIN_DENSITY = 0.01  # [kg/m^3], of boxes, prisms and rectangles; air has 1.2
_TOLERANCE = 1e-9  # relative, of the checks on mass properties
# Thinner and more slender bodies are not simulated to within 1e-9: rounding errors grow with the square of a rod's
# length over its thickness.
_MIN_THICKNESS = 1e-5  # relative to the length
_MIN_MOMENT = 1e-5  # smallest principal moment of inertia, relative to the largest


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid convex body. Build one with `box`, `prism`, `rectangle`, `mesh` or `hull_of`.

    shape: the kind of shape
    size: the numbers that define the shape [m]: box (x, y, z), prism (sides, radius, height), rectangle (x, z)
    vertices: corners in the body frame [m], shape (V, 3)
    mass: [kg]
    com: centre of mass in the body frame [m], shape (3,)
    inertia: about the centre of mass, body axes [kg m^2], shape (3, 3)
    planar: True for a body that moves only in the x-z plane
    rounding: radius of its edges and corners [m]: the body is all points within it of the hull of `vertices`

        body = Body.box(size=(0.2, 0.3, 0.4), mass=1.0, com=(0, 0, 0.01))
        nut = Body.prism(sides=6, radius=0.1, height=0.05, mass=0.3)
    """

    shape: Shape
    size: tuple[float, ...]
    vertices: NDArray[np.float64]
    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]
    planar: bool = False
    rounding: float = 0.0

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        checks.choice("Body shape", self.shape, get_args(Shape))
        set_(self, "planar", checks.flag("Body planar", self.planar))
        set_(self, "size", _checked_size(self.size))
        set_(self, "vertices", _checked_vertices(self.vertices, self.planar))
        set_(self, "mass", _checked_mass(self.mass))
        set_(self, "com", checks.vector("Body com (centre of mass)", self.com, 3).copy())
        set_(self, "inertia", _checked_inertia(self.inertia, self.planar))
        set_(self, "rounding", _checked_rounding(self.rounding))
        for part in (self.vertices, self.com, self.inertia):
            part.setflags(write=False)
        _check_centre(self.com, self.vertices, self.rounding)
        if self.shape in ("box", "rectangle"):
            _check_extent(self.shape, self.size, self.vertices, self.rounding)

    def __repr__(self) -> str:
        size = [f"{length:.4g}" for length in self.size]
        if self.shape == "prism":
            what = f"prism with {size[0]} sides, radius {size[1]} m, height {size[2]} m"
        else:
            what = f"{self.shape} {' x '.join(size)} m" if size else f"{self.shape} of {len(self.vertices)} vertices"
        rounded = f", rounded by {self.rounding:.4g} m" if self.rounding else ""
        return f"Body({what}, {self.mass:.4g} kg{rounded})"

    @cached_property
    def faces(self) -> list[list[int]]:
        """Loops of vertex indices, counter-clockwise seen from outside; for a planar body, only its outline."""
        return [outline_of(self.vertices)] if self.planar else faces_of(self.vertices)

    @cached_property
    def hull(self) -> _core.Hull:
        """This body in the native core."""
        corners = self.vertices - self.com
        return _core.Hull(corners, self.faces, self.mass, self.inertia, self.planar, self.rounding)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "hull"}  # rebuilt on demand

    @property
    def diameter(self) -> float:
        """Greatest extent [m]."""
        return self.hull.diameter

    def __eq__(self, other: object) -> bool:
        """Whether both are described by exactly the same numbers; `same_as` has a tolerance and ignores names."""
        names = self.__dataclass_fields__
        return isinstance(other, Body) and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    def __hash__(self) -> int:
        return hash((self.shape, self.size, self.mass))

    def same_as(self, other: "Body", tolerance: float = 1e-6) -> bool:
        """Whether both have the same corners, mass properties and degrees of freedom, within a relative tolerance."""
        mine, theirs = self._numbers(), other._numbers()
        return self.planar == other.planar and all(
            a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(a).max())
            for a, b in zip(mine, theirs, strict=True)
        )

    def _numbers(self) -> list[NDArray[np.float64]]:
        corners = self.vertices[np.lexsort(np.round(self.vertices, 9).T)]
        return [corners, np.array([self.mass]), self.com + self.diameter, self.inertia, np.array([self.rounding])]

    def to_dict(self) -> dict[str, Any]:
        """A description for JSON that `from_dict` reads back exactly."""
        description: dict[str, Any] = {
            "shape": self.shape,
            "size": list(self.size),
            "vertices": self.vertices.tolist(),
            "mass": self.mass,
            "com": self.com.tolist(),
            "inertia": self.inertia.tolist(),
            "planar": self.planar,
        }
        if self.rounding:  # left out otherwise, so that digests of sharp bodies stay valid
            description["rounding"] = self.rounding
        return description

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> "Body":
        """The body that `to_dict` described."""
        if not isinstance(description, dict):
            raise checks.InputError(f"A body's description must be a dict, got {checks.shown(description)}.")
        names = [name for name in cls.__dataclass_fields__ if name != "rounding"]
        missing = [name for name in names if name not in description]
        if missing:
            raise checks.InputError(f"A body's description must have the field {missing[0]!r}.")
        return cls(**{name: description[name] for name in names}, rounding=description.get("rounding", 0.0))

    def reshaped(
        self, *, scale: float = 1.0, rounding: float, com: ArrayLike | None = None, inertia: ArrayLike | None = None
    ) -> "Body":
        """The same shape scaled, its edges rounded with this radius [m], optionally with other mass properties.

        The faces stay in place: those of `vertices` move inwards by the radius of the ball that is swept over them.
        """
        scale, rounding = _checked_length("scale", scale), _checked_rounding(rounding)
        change = rounding - scale * self.rounding
        vertices = scale * self.vertices
        if change:
            vertices = shrunk_in_plane(vertices, change) if self.planar else shrunk(vertices, change)
        size = self.size if self.shape == "prism" else tuple(scale * length for length in self.size)
        com = self.com if com is None else checks.numbers("Body com", com)
        inertia = self.inertia if inertia is None else checks.numbers("Body inertia", inertia)
        return Body(self.shape, size, vertices, self.mass, com, inertia, planar=self.planar, rounding=rounding)

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
        _check_density("box", edges, mass)
        core = edges - 2 * rounding if rounding else edges
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * core / 2
        uniform = np.diag(np.sum(edges**2) - edges**2) / 12
        full = _or_uniform(inertia, mass, uniform)
        return cls(
            "box", tuple(edges.tolist()), corners, mass, checks.numbers("Body com", com), full, rounding=rounding
        )

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
        sides = checks.count("prism sides", sides, 3, MAX_VERTICES // 2)
        radius, height = _checked_length("prism radius [m]", radius), _checked_length("prism height [m]", height)
        _check_density("prism", np.array([2 * radius, 2 * radius, height]), mass)
        angle = 2 * np.pi * np.arange(sides) / sides
        ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        corners = np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (-height / 2, height / 2)])
        spin = radius**2 * (1 + 2 * np.cos(np.pi / sides) ** 2) / 6
        uniform = np.diag([spin / 2 + height**2 / 12, spin / 2 + height**2 / 12, spin])
        size = (float(sides), radius, height)
        return cls(
            "prism", size, _single(corners), mass, checks.numbers("Body com", com), _or_uniform(inertia, mass, uniform)
        )

    @classmethod
    def rectangle(
        cls, size: ArrayLike, mass: float, *, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None
    ) -> "Body":
        """A rectangle of `size` (x, z) [m] that moves only in the x-z plane: the paper's 2D example."""
        width, height = _lengths("rectangle size", size, 2)
        _check_density("rectangle", np.array([width, min(width, height), height]), mass)
        corners = np.array([[x, 0.0, z] for x in (-width / 2, width / 2) for z in (-height / 2, height / 2)])
        uniform = np.diag([height**2, width**2 + height**2, width**2]) / 12
        centre = checks.vector("rectangle com", com, 3)
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

        rounding: radius [m] of a ball that is swept over the hull, which makes the body larger by it
        """
        places = checks.array("points", points, (None, 3))
        if places.ndim != 2:
            raise checks.InputError(f"points must have shape (n, 3), got shape {places.shape}.")
        if np.abs(places).max(initial=0.0) > MAX_LENGTH:
            raise checks.InputError(f"points must lie within {MAX_LENGTH:g} m, got {np.abs(places).max():g} m.")
        corners = convex_corners(_single(places))
        if com is None or inertia is None:
            import trimesh  # slow to import

            with np.errstate(invalid="ignore", divide="ignore"):
                solid = trimesh.convex.convex_hull(corners)
                has_volume = solid.volume > 0 and np.isfinite(solid.center_mass).all()
            if not has_volume:
                raise checks.InputError("points must enclose a volume; the given ones are too close together.")
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
        hull: bool = False,
    ) -> "Body":
        """A convex, watertight mesh file (STL, OBJ, PLY, ...); uniform unless `com` or `inertia` is given.

        scale: metres in one unit of the file, such as 0.001 for millimetres
        hull: take the convex hull of any mesh, with the mass of the body spread uniformly over the hull
        """
        unit, hull = checks.positive("mesh scale", scale), checks.flag("hull", hull)
        mesh = load_mesh(path_of("A mesh file", path), unit, hull)
        mass = _checked_mass(mass)
        centre = np.array(mesh.center_mass) if com is None else np.asarray(com)
        uniform = np.array(mesh.moment_inertia) / mesh.volume
        corners = convex_corners(_single(np.unique(mesh.vertices, axis=0)))
        return cls("mesh", (), corners, mass, centre, _or_uniform(inertia, mass, uniform))


def _single(vertices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to single precision, in which mesh files and engines store vertices, so that all use the same body."""
    return vertices.astype(np.float32).astype(np.float64)


def _lengths(name: str, value: ArrayLike, number: int) -> NDArray[np.float64]:
    lengths = checks.array(name, value, (number,))
    if lengths.ndim != 1 or np.any(lengths <= 0) or np.any(lengths > MAX_LENGTH):
        raise checks.InputError(
            f"{name} must be {number} lengths above 0 and at most {MAX_LENGTH:g} m, got {lengths.tolist()!s:.200}."
        )
    return lengths


def _or_uniform(inertia: ArrayLike | None, mass: float, per_mass: NDArray[np.float64]) -> NDArray[np.float64]:
    return _checked_mass(mass) * per_mass if inertia is None else checks.numbers("Body inertia", inertia)


def _check_density(shape: str, extent: NDArray[np.float64], mass: float) -> None:
    """Refuse a body that is far lighter than air: its sizes (3,) were given in millimetres."""
    density = _checked_mass(mass) / float(np.prod(extent))
    if density < MIN_DENSITY:
        raise checks.InputError(
            f"A {shape} {' x '.join(f'{length:g}' for length in extent)} m in size with a mass of {mass:g} kg has a "
            f"density of {density:.2g} kg/m^3, at least {MIN_DENSITY:g} is allowed: its sizes look like millimetres. "
            f"Give them in metres, {extent.max() / 1000:g} for {extent.max():g}."
        )


def _checked_mass(value: float) -> float:
    """A mass [kg]."""
    return checks.between("Body mass [kg]", checks.positive("Body mass [kg]", value), 1e-15, MAX_MASS)


def _checked_length(name: str, value: float) -> float:
    """A length above zero [m]."""
    return checks.between(name, checks.positive(name, value), 0, MAX_LENGTH)


def _checked_rounding(value: float) -> float:
    """The radius of edges and corners [m]."""
    return checks.between("Body rounding [m]", value, 0, MAX_LENGTH)


def _checked_size(value: Any) -> tuple[float, ...]:
    """The numbers that define a shape."""
    sizes = checks.array("Body size [m]", value, (None,))
    if sizes.ndim != 1 or len(sizes) > 3:
        raise checks.InputError(f"Body size must be at most three numbers, got shape {sizes.shape}.")
    return tuple(sizes.tolist())


def _checked_vertices(value: ArrayLike, planar: bool) -> NDArray[np.float64]:
    """Corners (V, 3) that enclose a volume, or an area in the x-z plane."""
    corners = checks.array("Body vertices", value, (None, 3)).copy()
    if corners.ndim != 2 or not 3 <= len(corners) <= MAX_VERTICES:
        raise checks.InputError(f"A body has 3 to {MAX_VERTICES} vertices (n, 3), got shape {corners.shape}.")
    if np.abs(corners).max() > MAX_LENGTH:
        raise checks.InputError(f"Body vertices must lie within {MAX_LENGTH:g} m, got {np.abs(corners).max():g} m.")
    if planar and np.any(corners[:, 1] != 0):
        raise checks.InputError("The vertices of a planar body must lie in its plane y = 0.")
    widths = np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)
    thickness = widths[1 if planar else 2] if len(widths) > 2 else 0.0
    if not thickness > _MIN_THICKNESS * max(widths[0], 1e-9):
        raise checks.InputError(
            f"A body must have {'an area' if planar else 'a volume'}: its {len(corners)} vertices lie on "
            f"{'one line' if planar else 'one plane'}, to within {_MIN_THICKNESS:g} of their extent."
        )
    return corners


def _check_centre(com: NDArray, vertices: NDArray, rounding: float) -> None:
    """Refuse a centre of mass (3,) outside the bounding box of the corners (V, 3)."""
    low, high = vertices.min(axis=0) - rounding, vertices.max(axis=0) + rounding
    if np.any(com < low - _TOLERANCE) or np.any(com > high + _TOLERANCE):
        raise checks.InputError(
            f"Body com must lie inside the body, between {low.tolist()} and {high.tolist()}, got {com.tolist()}."
        )


def _check_extent(shape: str, size: tuple[float, ...], vertices: NDArray, rounding: float) -> None:
    """Refuse a box or a rectangle whose size and corners differ: some simulators use one, some the other."""
    axes = [0, 1, 2] if shape == "box" else [0, 2]
    reach = np.ptp(vertices, axis=0)[axes] + 2 * rounding
    if len(size) != len(axes) or np.abs(reach - size).max() > 1e-6 * reach.max():
        raise checks.InputError(f"A {shape} of size {list(size)} m has corners that extend over {reach.tolist()} m.")


def _checked_inertia(value: ArrayLike, planar: bool) -> NDArray[np.float64]:
    """A physically possible inertia tensor (3, 3) [kg m^2]."""
    tensor = checks.array("Body inertia", value, (3, 3))
    if tensor.ndim != 2 or np.abs(tensor).max() > MAX_MASS * MAX_LENGTH**2:
        raise checks.InputError(
            f"Body inertia must have shape (3, 3) and components up to {MAX_MASS * MAX_LENGTH**2:g} kg m^2, got shape "
            f"{tensor.shape}."
        )
    if np.abs(tensor - tensor.T).max() > _TOLERANCE * np.abs(tensor).max():
        raise checks.InputError(f"Body inertia must be symmetric, got {tensor.tolist()}.")
    tensor = 0.5 * (tensor + tensor.T)
    low, middle, high = np.linalg.eigvalsh(tensor)
    if not low > 1e-13 * high or high > (low + middle) * (1 + _TOLERANCE):
        raise checks.InputError(
            "Body inertia must belong to a real mass distribution: principal moments positive and none above the sum "
            f"of the others, got principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m^2."
        )
    if not planar and low < _MIN_MOMENT * high:
        raise checks.InputError(
            f"A body may not be more slender than a rod that is {np.sqrt(2 / _MIN_MOMENT):.0f} times as long as "
            f"thick: its smallest principal moment of inertia must be at least {_MIN_MOMENT:g} of its largest, got "
            f"{low / high:.3g}."
        )
    return tensor
