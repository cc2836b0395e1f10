"""Bodies by name, and bodies written out as text: what `stiction collect BODY` accepts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.throws import ThrowRanges
from stiction.data.ground_truth import FRICTION


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
    "box": (3, lambda x, y, z, **how: Body.box((x, y, z), **how)),
    "prism": (3, lambda sides, radius, height, **how: Body.prism(_whole(sides), radius, height, **how)),
    "rectangle": (2, lambda x, z, **how: Body.rectangle((x, z), **how)),
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
) -> Body:
    """The body that `text` means: a preset, a shape such as "box:0.2,0.3,0.4" [m], or the path of a mesh file.

    mass: [kg]
    scale: metres in one unit of a mesh file
    com: centre of mass [m], three numbers as a person types them, between commas or spaces; by default the shape's
    inertia: so too, three or six: xx, yy, zz and xy, xz, yz about the centre of mass, body axes [kg m^2]
    mjcf: model file in which `text` is the name of a body, which brings its mass properties
    """
    given: dict[str, Any] = {}
    if com:
        given["com"] = _numbers("--com", ",".join(com), 3)
    if inertia:
        given["inertia"] = _inertia(_numbers("--inertia", ",".join(inertia), 3, 6))
    if mjcf is not None:
        if given or mass != 1.0 or scale != 1.0:
            raise checks.InputError("A body of a model file has its own mass, com and inertia: give none with --mjcf.")
        return _body_in_file(mjcf, text)
    shape, colon, sizes = preset(text).shape.partition(":")
    if colon and shape in _SHAPES:
        number, build = _SHAPES[shape]
        return build(*_numbers(f"A body such as {text!r}", sizes, number), mass=mass, **given)
    if Path(text).suffix and (Path(text).exists() or not colon):
        return Body.mesh(text, mass, scale=scale, **given)
    raise checks.InputError(
        f"BODY must be one of {', '.join(PRESETS)}, or box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT, rectangle:X,Z in metres, "
        f"or the path of a mesh file, got {text!r}."
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


def _inertia(numbers: list[float]) -> list[list[float]]:
    xx, yy, zz, xy, xz, yz = [*numbers, 0.0, 0.0, 0.0][:6]
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _body_in_file(path: Path, name: str) -> Body:
    if not name:
        raise checks.InputError("--mjcf needs the name of a body in that file: give --body NAME.")
    try:
        from stiction.mujoco.mjcf import body_in_file  # only where it is needed: MuJoCo may be missing
    except ImportError as error:
        raise checks.InputError(needs("A body of a model file", "mujoco")) from error
    return body_in_file(path, name)


def _whole(sides: float) -> int:
    if not sides.is_integer():
        raise checks.InputError(f"prism sides must be a whole number, got {sides:g}.")
    return int(sides)
