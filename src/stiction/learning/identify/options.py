"""Options of `stiction identify`: plain values only, so that help does not wait for numpy."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(optional)")]


@dataclass(frozen=True)
class IdentifyOptions:
    """What to fit, and where to keep it."""

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folder of recordings, made by `stiction import`; or a file with SI units, z up, quaternions w x y z."""
    body: str
    """The body as measured: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT in metres, or the path of a convex mesh file."""
    out: Path
    """Model file to write, .safetensors."""
    mass: float = 1.0
    """Mass of the body [kg]; no recording of motion tells it."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    tosses: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: all)")] = None
    """Fit this many tosses only."""
    residual: bool = False
    """Also learn a small network for what the law leaves, and keep it if it helps on held-out tosses."""
    seed: int = 0
    """Seed of all that is drawn."""
    json: OptionalFile = None
    """Write the figures to this file."""


def run_identify(options: IdentifyOptions) -> dict[str, Any]:
    """Identify, print what was found and write the law; the figures, for JSON."""
    from stiction.learning.collect.presets import parse_body
    from stiction.learning.identify.from_recordings import identify_from

    body = parse_body(options.body, options.mass, options.scale)
    command = " ".join(["stiction", *sys.argv[1:]])
    how = {"tosses": options.tosses, "residual": options.residual, "seed": options.seed, "command": command}
    return identify_from(options.data, body, options.out, **how).law.info
