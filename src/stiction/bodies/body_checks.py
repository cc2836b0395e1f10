"""Limits of bodies: each number is checked against its limits and against the others."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks

MAX_VERTICES = 4096
MAX_LENGTH, MAX_MASS = 1e6, 1e15  # [m], of sizes and coordinates; [kg]
_TOLERANCE = 1e-9  # relative, of the checks on mass properties
# Thinner and more slender bodies are not simulated to within 1e-9: rounding errors grow with the square of a rod's
# length over its thickness.
_MIN_THICKNESS = 1e-5  # relative to the length
_MIN_MOMENT = 1e-5  # smallest principal moment of inertia, relative to the largest


def mass(value: float) -> float:
    """A mass [kg]."""
    return checks.between("Body mass [kg]", checks.positive("Body mass [kg]", value), 1e-15, MAX_MASS)


def length(name: str, value: float) -> float:
    """A length above zero [m]."""
    return checks.between(name, checks.positive(name, value), 0, MAX_LENGTH)


def rounding(value: float) -> float:
    """The radius of edges and corners [m]."""
    return checks.between("Body rounding [m]", value, 0, MAX_LENGTH)


def size(value: Any) -> tuple[float, ...]:
    """The numbers that define a shape."""
    sizes = checks.array("Body size [m]", value, (None,))
    if sizes.ndim != 1 or len(sizes) > 3:
        raise checks.InputError(f"Body size must be at most three numbers, got shape {sizes.shape}.")
    return tuple(sizes.tolist())


def vertices(value: ArrayLike, planar: bool) -> NDArray[np.float64]:
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


def centre(com: NDArray, vertices: NDArray, rounding: float) -> None:
    """Refuse a centre of mass (3,) outside the bounding box of the corners (V, 3)."""
    low, high = vertices.min(axis=0) - rounding, vertices.max(axis=0) + rounding
    if np.any(com < low - _TOLERANCE) or np.any(com > high + _TOLERANCE):
        raise checks.InputError(
            f"Body com must lie inside the body, between {low.tolist()} and {high.tolist()}, got {com.tolist()}."
        )


def extent(shape: str, size: tuple[float, ...], vertices: NDArray, rounding: float) -> None:
    """Refuse a box or a rectangle whose size and corners differ: some simulators use one, some the other."""
    axes = [0, 1, 2] if shape == "box" else [0, 2]
    reach = np.ptp(vertices, axis=0)[axes] + 2 * rounding
    if len(size) != len(axes) or np.abs(reach - size).max() > 1e-6 * reach.max():
        raise checks.InputError(f"A {shape} of size {list(size)} m has corners that extend over {reach.tolist()} m.")


def inertia(value: ArrayLike, planar: bool) -> NDArray[np.float64]:
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
