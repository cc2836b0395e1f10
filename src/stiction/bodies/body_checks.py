"""What a body may be: each number is checked against its limits and against the others, before anything uses it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction.basics import checks

MOST_CORNERS = 4096  # of a body
SHORTEST, LONGEST = 1e-9, 1e6  # [m] of a body; no coordinate is larger
LIGHTEST, HEAVIEST = 1e-15, 1e15  # [kg]
_SLACK = 1e-9  # relative slack of the checks on mass properties
# What is thinner or more slender than this is not computed with to within 1e-9: rounding errors grow with the square of
# a rod's length over its thickness.
_THINNEST = 1e-5  # of a body, relative to its length: one that is thinner has no volume
_LEAST_MOMENT = 1e-5  # the smallest principal moment of inertia, relative to the largest
_NO_MOMENT = 1e-13  # the same of a planar body, which turns about one axis alone


def mass(value: float) -> float:
    """A mass [kg]."""
    number = checks.positive("Body mass [kg]", value)
    if not LIGHTEST <= number <= HEAVIEST:
        raise checks.InputError(f"Body mass must be {LIGHTEST:g} to {HEAVIEST:g} kg, got {number:g} kg.")
    return number


def length(name: str, value: float) -> float:
    """A length above zero [m]."""
    number = checks.positive(name, value)
    if number > LONGEST:
        raise checks.InputError(f"{name} must be at most {LONGEST:g}, got {number:g}.")
    return number


def rounding(value: float) -> float:
    """The radius of edges and corners [m]."""
    number = checks.non_negative("Body rounding [m]", value)
    if number > LONGEST:
        raise checks.InputError(f"Body rounding must be at most {LONGEST:g} m, got {number:g} m.")
    return number


def size(value: Any) -> tuple[float, ...]:
    """The numbers that define a shape."""
    if not isinstance(value, tuple | list | np.ndarray):
        raise checks.InputError(f"Body size must be lengths [m], got {checks.shown(value)}.")
    sizes = checks.array("Body size [m]", value, (None,))
    if sizes.ndim != 1 or len(sizes) > 3:
        raise checks.InputError(f"Body size must be at most three numbers, got shape {sizes.shape}.")
    return tuple(sizes.tolist())


def vertices(value: ArrayLike, planar: bool) -> NDArray[np.float64]:
    """Corners (V, 3) that enclose a volume, or an area in the x-z plane."""
    corners = checks.array("Body vertices", value, (None, 3)).copy()
    if corners.ndim != 2 or not 3 <= len(corners) <= MOST_CORNERS:
        raise checks.InputError(f"A body has 3 to {MOST_CORNERS} vertices (n, 3), got shape {corners.shape}.")
    if np.abs(corners).max() > LONGEST:
        raise checks.InputError(f"Body vertices must lie within {LONGEST:g} m, got {np.abs(corners).max():g} m.")
    if planar and np.any(corners[:, 1] != 0):
        raise checks.InputError("The vertices of a planar body must lie in its plane y = 0.")
    widths = np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)
    thickness = widths[1 if planar else 2] if len(widths) > 2 else 0.0
    if not thickness > _THINNEST * max(widths[0], SHORTEST):
        raise checks.InputError(
            f"A body must have {'an area' if planar else 'a volume'}: its {len(corners)} vertices lie on "
            f"{'one line' if planar else 'one plane'}, to within {_THINNEST:g} of their extent."
        )
    return corners


def centre(com: NDArray, vertices: NDArray, rounding: float) -> None:
    """Refuse a centre of mass (3,) outside of the corners (V, 3)."""
    low, high = vertices.min(axis=0) - rounding, vertices.max(axis=0) + rounding
    if np.any(com < low - _SLACK) or np.any(com > high + _SLACK):
        raise checks.InputError(
            f"Body com must lie inside the body, between {low.tolist()} and {high.tolist()}, got {com.tolist()}."
        )


def extent(shape: str, size: tuple[float, ...], vertices: NDArray, rounding: float) -> None:
    """Refuse a box or a rectangle whose size is not that of its corners: simulators go by the one or by the other."""
    axes = [0, 1, 2] if shape == "box" else [0, 2]
    reach = np.ptp(vertices, axis=0)[axes] + 2 * rounding
    if len(size) != len(axes) or np.abs(reach - size).max() > 1e-6 * reach.max():
        raise checks.InputError(
            f"A {shape} of size {list(size)} m does not have corners that reach over {reach.tolist()} m."
        )


def inertia(value: ArrayLike, planar: bool) -> NDArray[np.float64]:
    """A tensor of inertia (3, 3) [kg m^2] that a real body can have."""
    tensor = checks.array("Body inertia", value, (3, 3))
    if tensor.ndim != 2 or np.abs(tensor).max() > HEAVIEST * LONGEST**2:
        raise checks.InputError(
            f"Body inertia must have shape (3, 3) and no number above {HEAVIEST * LONGEST**2:g} kg m^2, got shape "
            f"{tensor.shape}."
        )
    if np.abs(tensor - tensor.T).max() > _SLACK * np.abs(tensor).max():
        raise checks.InputError(f"Body inertia must be symmetric, got {tensor.tolist()}.")
    tensor = 0.5 * (tensor + tensor.T)
    low, middle, high = np.linalg.eigvalsh(tensor)
    if not low > _NO_MOMENT * high or high > (low + middle) * (1 + _SLACK):
        raise checks.InputError(
            "Body inertia must belong to a real mass distribution: principal moments positive and none above the sum "
            f"of the others, got principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m^2."
        )
    if not planar and low < _LEAST_MOMENT * high:
        raise checks.InputError(
            f"A body may not be more slender than a rod that is {np.sqrt(2 / _LEAST_MOMENT):.0f} times as long as "
            f"thick: its smallest principal moment of inertia must be at least {_LEAST_MOMENT:g} of its largest, got "
            f"{low / high:.3g}."
        )
    return tensor
