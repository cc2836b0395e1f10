"""Bodies by name, and bodies written out as text: what `stiction collect BODY` accepts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.throws import ThrowRanges
from stiction.data.ground_truth import FRICTION

# [kg/m^3] of the hull of a body: a shell or a frame may be light, but not as light as air; osmium has 22,600.
LEAST_DENSITY, GREATEST_DENSITY = 1.0, 23_000.0


@dataclass(frozen=True)
class Preset:
    """A body with its default friction and throws.

    shape: as text, such as "box:0.2,0.3,0.4"
    mass: [kg]
    friction: Coulomb coefficient
    """

    shape: str
    mass: float = 1.0
    friction: float = FRICTION
    ranges: ThrowRanges = field(default_factory=ThrowRanges)


# In a chain, contacts are predicted from the twist of a single free link, which is far faster than that of the chain.
_CHAIN = ThrowRanges(horizontal=(-6.0, 6.0), vertical=(-6.0, 2.0), spin=(-40.0, 40.0))

PRESETS = {
    "box": Preset("box:0.2,0.3,0.4", friction=1.0),
    "prism": Preset("prism:5,0.2,0.2", friction=1.0),
    "rectangle": Preset("rectangle:0.2,0.4", friction=1.0),
    "link": Preset("box:0.5,0.1,0.08", friction=0.6, ranges=_CHAIN),
}


def preset(text: str) -> Preset:
    """The preset of that name, or one with the usual friction and throws for a body written out."""
    return PRESETS.get(text, Preset(text))


def parse_body(
    text: str,
    mass: float,
    scale: float = 1.0,
    *,
    com: Sequence[str] = (),
    inertia: Sequence[str] = (),
    mjcf: Path | None = None,
    hull: bool = False,
) -> Body:
    """The body described by `text`: a preset, a shape such as "box:0.2,0.3,0.4" [m], or the path of a mesh file.

    mass: [kg]
    scale: metres in one unit of a mesh file
    com: centre of mass [m], three numbers as typed, with commas or spaces between; by default the shape's
    inertia: likewise, three or six: xx, yy, zz and xy, xz, yz about the centre of mass, body axes [kg m^2]
    hull: whether to take the convex hull of a mesh file
    mjcf: model file in which `text` is the name of a body, which brings its mass properties
    """
    centre = _numbers("--com", ",".join(com), 3) if com else None
    moments = None
    if inertia:
        xx, yy, zz, xy, xz, yz = [*_numbers("--inertia", ",".join(inertia), 3, 6), 0.0, 0.0, 0.0][:6]
        moments = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    if mjcf is not None:
        if com or inertia or mass != 1.0 or scale != 1.0:
            raise checks.InputError("A body of a model file has its own mass, com and inertia: give none with --mjcf.")
        if not text:
            raise checks.InputError("--mjcf needs the name of a body in that file: give --body NAME.")
        try:
            from stiction.mujoco.mjcf import body_in_file  # MuJoCo may not be installed
        except ImportError as error:
            raise checks.InputError(needs("A body of a model file", "mujoco")) from error
        return body_in_file(mjcf, text)
    found = _shaped(text, mass, scale, centre, moments, hull)
    return found if mass == 1.0 else checked_density(found)  # 1 kg: it may not have been given


def _shaped(text: str, mass: float, scale: float, com: list[float] | None, inertia: Any, hull: bool) -> Body:
    """The body of a preset, a shape or a mesh file."""
    centre = com or [0.0, 0.0, 0.0]
    shape, colon, sizes = preset(text).shape.partition(":")
    what = f"A body such as {text!r}"
    if colon and shape == "box":
        return Body.box(_numbers(what, sizes, 3), mass, com=centre, inertia=inertia)
    if colon and shape == "rectangle":
        return Body.rectangle(_numbers(what, sizes, 2), mass, com=centre, inertia=inertia)
    if colon and shape == "prism":
        sides, radius, height = _numbers(what, sizes, 3)
        if not sides.is_integer():
            raise checks.InputError(f"prism sides must be a whole number, got {sides:g}.")
        return Body.prism(int(sides), radius, height, mass, com=centre, inertia=inertia)
    if Path(text).suffix and (Path(text).exists() or not colon):
        return Body.mesh(text, mass, scale=scale, com=com, inertia=inertia, hull=hull)
    raise checks.InputError(
        f"BODY must be one of {', '.join(PRESETS)}, or box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT, rectangle:X,Z in metres, "
        f"or the path of a mesh file, got {text!r}."
    )


def checked_density(body: Body) -> Body:
    """The body, if a solid can have its mass, alone or as a shell; in a plane, any mass will do."""
    if body.planar:
        return body
    volume = float(ConvexHull(np.array(body.vertices)).volume)
    density = body.mass / volume
    if LEAST_DENSITY <= density <= GREATEST_DENSITY:
        return body
    range_ = f"{LEAST_DENSITY * volume:.2g} and {GREATEST_DENSITY * volume:.2g} kg"
    raise checks.InputError(
        f"--mass {body.mass:g} kg cannot be: a body of {1e6 * volume:.3g} cm^3 has a mass between {range_}; give the "
        "mass in kilograms and the sizes in metres."
    )


def _numbers(what: str, text: str, *numbers: int) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) not in numbers:
        allowed = " or ".join(map(str, numbers))
        raise checks.InputError(f"{what} needs {allowed} numbers with commas between, got {text!r}.")
    return found
