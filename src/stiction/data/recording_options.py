"""Options of `stiction import` and `stiction identify`: plain values only, so that help does not wait for numpy."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(optional)")]
OptionalNumber = Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="(default: measured)")]


@dataclass(frozen=True)
class ImportOptions:
    """What was recorded, and how the recorder writes."""

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """A file, or a folder of them, one or more tosses each: .csv, .parquet, .npz or .mcap."""
    body: str
    """The body that was thrown: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT in metres, or the path of a convex mesh file."""
    out: Path
    """Folder for the recordings; made if missing."""
    mass: float = 1.0
    """Mass of the body [kg]; only its ratio to the inertia matters."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    units: Literal["m", "cm", "mm", "in"] = "m"
    """Unit of the positions."""
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of the time stamps."""
    quaternion: Literal["wxyz", "xyzw"] = "wxyz"
    """Order of the quaternion's components in .npz files; in tables, columns have names."""
    up: Literal["z", "y", "x"] = "z"
    """Axis that points up."""
    mirror: Literal["", "x", "y"] = ""
    """Positions are from a left-handed frame, mirrored along this axis, while orientations are not."""
    inverse: bool = False
    """Quaternions turn world into body axes."""
    floor: OptionalNumber = None
    """Height of the floor [m]."""
    rate: OptionalNumber = None
    """Frames a second."""
    columns: Annotated[str, tyro.conf.arg(metavar="NAME=COLUMN,...")] = ""
    """Columns of .csv and .parquet files by our names: time, toss, x, y, z, qw, qx, qy, qz (and vx .. wz)."""
    topic: Annotated[str | None, tyro.conf.arg(metavar="TOPIC", help_behavior_hint="(default: the only one)")] = None
    """Topic of the poses in an .mcap file."""


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


def run_import(options: ImportOptions) -> None:
    """Import, and say what was found."""
    from stiction import checks
    from stiction.data.poses import Conventions
    from stiction.data.presets import parse_body
    from stiction.data.recordings import import_recordings, save_recordings

    same = ("units", "time_unit", "quaternion", "up", "mirror", "inverse", "floor")
    interval = None if options.rate is None else 1 / checks.positive("rate [Hz]", options.rate)
    how = Conventions(**{name: getattr(options, name) for name in same}, interval=interval)
    body = parse_body(options.body, options.mass, options.scale)
    columns = dict(_pair(part) for part in options.columns.split(",") if part)
    found = import_recordings(options.path, body, how, columns=columns, topic=options.topic)
    save_recordings(found, options.out)
    for line in found.report:
        print(f"- {line}")
    print(f"Wrote {len(found)} tosses to {options.out}.")


def _pair(text: str) -> tuple[str, str]:
    from stiction import checks

    name, equals, column = text.partition("=")
    known = ("time", "toss", "x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz")
    if not equals or name not in known:
        raise checks.InputError(f"--columns takes NAME=COLUMN with a name of {', '.join(known)}, got {text!r}.")
    return name, column


def run_identify(options: IdentifyOptions) -> dict[str, Any]:
    """Identify, print what was found and write the law; the figures, for JSON."""
    from stiction.data.identification import identify_from
    from stiction.data.presets import parse_body

    body = parse_body(options.body, options.mass, options.scale)
    command = " ".join(["stiction", *sys.argv[1:]])
    how = {"tosses": options.tosses, "residual": options.residual, "seed": options.seed, "command": command}
    return identify_from(options.data, body, options.out, **how).law.info
