"""Bodies by name, and bodies written out as text: what `stiction collect BODY` accepts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.learning.collect.throws import ThrowRanges

FRICTION = 0.5  # of a body that is no preset


@dataclass(frozen=True)
class Preset:
    """A body with the friction and the throws that go with it.

    shape: as text, such as "box:0.2,0.3,0.4"
    mass: [kg]
    friction: Coulomb coefficient
    """

    shape: str
    mass: float = 1.0
    friction: float = FRICTION
    ranges: ThrowRanges = field(default_factory=ThrowRanges)


# Inside a chain, a contact meets the twist the link would have on its own: far faster than the chain itself moves.
_CHAIN = ThrowRanges(horizontal=(-6.0, 6.0), vertical=(-6.0, 2.0), spin=(-40.0, 40.0))

PRESETS = {
    "box": Preset("box:0.2,0.3,0.4", friction=1.0),
    "prism": Preset("prism:5,0.2,0.2", friction=1.0),
    "rectangle": Preset("rectangle:0.2,0.4", friction=1.0),
    "link": Preset("box:0.5,0.1,0.08", friction=0.6, ranges=_CHAIN),
}

_SHAPES: dict[str, tuple[int, Callable[..., Body]]] = {
    "box": (3, lambda x, y, z, mass: Body.box((x, y, z), mass)),
    "prism": (3, lambda sides, radius, height, mass: Body.prism(_whole(sides), radius, height, mass)),
    "rectangle": (2, lambda x, z, mass: Body.rectangle((x, z), mass)),
}


def preset(text: str) -> Preset:
    """The preset of that name, or one with the usual friction and throws for a body written out."""
    return PRESETS.get(text, Preset(text))


def parse_body(text: str, mass: float, scale: float = 1.0) -> Body:
    """The body that `text` means: a preset, a shape such as "box:0.2,0.3,0.4" [m], or the path of a mesh file.

    mass: [kg]
    scale: metres in one unit of a mesh file
    """
    shape, colon, sizes = preset(text).shape.partition(":")
    if colon and shape in _SHAPES:
        number, build = _SHAPES[shape]
        return build(*_numbers(text, sizes, number), mass=mass)
    if Path(text).suffix and (Path(text).exists() or not colon):
        return Body.mesh(text, mass, scale=scale)
    raise checks.InputError(
        f"BODY must be one of {', '.join(PRESETS)}, or box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT, rectangle:X,Z in metres, "
        f"or the path of a mesh file, got {text!r}."
    )


def _numbers(text: str, sizes: str, number: int) -> list[float]:
    try:
        found = [float(part) for part in sizes.split(",")]
    except ValueError:
        found = []
    if len(found) != number:
        raise checks.InputError(f"A body such as {text!r} needs {number} numbers with commas between, got {sizes!r}.")
    return found


def _whole(sides: float) -> int:
    if not sides.is_integer():
        raise checks.InputError(f"prism sides must be a whole number, got {sides:g}.")
    return int(sides)
