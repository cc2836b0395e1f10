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
    out: Path
    """Model file to write, .safetensors; with --mjcf, OUT.xml and OUT.safetensors."""
    body: Annotated[str, tyro.conf.arg(help_behavior_hint="(this or --mjcf is required)")] = ""
    """The body as measured: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT in metres, or the path of a convex mesh file;
    rectangle:X,Z of recordings in a vertical plane."""
    mjcf: OptionalFile = None
    """A part with joints instead, as measured: an MJCF file with a free base, hinges and slides."""
    mass: float = 1.0
    """Mass of the body [kg]; no recording of motion tells it."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    tosses: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: all)")] = None
    """Fit this many tosses only."""
    residual: bool = True
    """Also learn what the law leaves, as maps of friction and restitution, and keep what clearly helps."""
    seed: int = 0
    """Seed of all that is drawn."""
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: beside --out)")] = None
    """Picture of friction and restitution with their bands, .png; needs the extra `report`."""
    json: OptionalFile = None
    """Write the figures to this file."""


def run_identify(options: IdentifyOptions) -> dict[str, Any]:
    """Identify, print what was found and write the law; the figures, for JSON."""
    from stiction.basics.checks import InputError
    from stiction.learning.collect.presets import parse_body
    from stiction.learning.identify.from_recordings import identify_from

    if not options.body:
        raise InputError("Give what was tossed: --body, such as box:0.1,0.1,0.1, or --mjcf for a part with joints.")
    body = parse_body(options.body, options.mass, options.scale)
    command = " ".join(["stiction", *sys.argv[1:]])
    how = {"tosses": options.tosses, "residual": options.residual, "seed": options.seed, "command": command}
    how |= {"plot": options.plot}
    return identify_from(options.data, body, options.out, **how).law.info
