"""Options of `stiction import`: plain values only, so that help does not wait for numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from stiction.learning.collect.options import Numbers, OptionalFile

OptionalNumber = Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="(default: measured)")]


@dataclass(frozen=True)
class ImportOptions:
    """What was recorded, and how the recorder writes."""

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """A file, or a folder of them, one or more tosses each: .csv, .parquet, .npz or .mcap."""
    body: str
    """The body that was thrown: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT in metres, or the path of a convex mesh file; with
    --mjcf the name of a body in that model; rectangle:X,Z of a recording in a vertical plane."""
    out: Path
    """Folder for the recordings, or for the data set; made if missing."""
    instances: bool = False
    """PATH holds single contacts, to train on: an .npz or .parquet file as in docs/ground_truth.md."""
    mass: float = 1.0
    """Mass of the body [kg]; only its ratio to the inertia matters."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    com: Numbers = ()
    """Centre of mass in the body frame [m]; write --com=-0.01,0,0 where it begins with a minus."""
    inertia: Annotated[Numbers, tyro.conf.arg(metavar="XX,YY,ZZ[,XY,XZ,YZ]")] = ()
    """Moments of inertia about the centre of mass, body axes [kg m^2]."""
    mjcf: OptionalFile = None
    """MuJoCo model in which BODY is the name of a body."""
    timestep: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(of the file, or 0.002)")] = None
    """Of --instances: length of a time step [s]."""
    gravity: Annotated[
        tuple[float, float, float] | None,
        tyro.conf.arg(metavar="X Y Z", help_behavior_hint="(of the file, or 0 0 -9.81)"),
    ] = None
    """Of --instances: gravity [m/s^2]."""
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
    """Quaternions turn world into body axes; in a plane, angles turn z towards x."""
    angle: Literal["rad", "deg"] = "rad"
    """Unit of the angles of a planar recording."""
    floor: OptionalNumber = None
    """Height of the floor [m]."""
    rate: OptionalNumber = None
    """Frames a second."""
    columns: Annotated[str, tyro.conf.arg(metavar="NAME=COLUMN,...")] = ""
    """Columns of .csv and .parquet files by our names: time, toss, x, y, z, qw, qx, qy, qz (and vx .. wz); in a plane
    time, toss, x, z, angle."""
    topic: Annotated[str | None, tyro.conf.arg(metavar="TOPIC", help_behavior_hint="(default: the only one)")] = None
    """Topic of the poses in an .mcap file."""


def run_import(options: ImportOptions) -> None:
    """Import, and say what was found."""
    from stiction.basics import checks
    from stiction.learning.collect.presets import parse_body
    from stiction.learning.recordings.folder import save_recordings
    from stiction.learning.recordings.poses import Conventions
    from stiction.learning.recordings.read import import_recordings

    own = {"com": options.com, "inertia": options.inertia, "mjcf": options.mjcf}
    body = parse_body(options.body, options.mass, options.scale, **own)
    if options.instances:
        _import_instances(options, body)
        return
    same = ("units", "time_unit", "quaternion", "up", "mirror", "inverse", "angle", "floor")
    interval = None if options.rate is None else 1 / checks.positive("rate [Hz]", options.rate)
    how = Conventions(**{name: getattr(options, name) for name in same}, interval=interval)
    columns = dict(_pair(part) for part in options.columns.split(",") if part)
    found = import_recordings(options.path, body, how, columns=columns, topic=options.topic)
    save_recordings(found, options.out)
    for line in found.report:
        print(f"- {line}")
    print(f"Wrote {len(found)} tosses to {options.out}.")


def _import_instances(options: ImportOptions, body) -> None:
    import warnings

    from stiction.learning.collect.instance_files import read_instances_file
    from stiction.learning.collect.summary import print_summary

    how = {"timestep": options.timestep, "gravity": options.gravity, "out": options.out}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = read_instances_file(options.path, body, **how)
    for warning in said:
        print(f"- {warning.message}")
    print_summary(data)


def _pair(text: str) -> tuple[str, str]:
    from stiction.basics import checks

    name, equals, column = text.partition("=")
    known = ("time", "toss", "x", "y", "z", "qw", "qx", "qy", "qz", "angle", "vx", "vy", "vz", "wx", "wy", "wz")
    if not equals or name not in known:
        raise checks.InputError(f"--columns takes NAME=COLUMN with a name of {', '.join(known)}, got {text!r}.")
    return name, column
