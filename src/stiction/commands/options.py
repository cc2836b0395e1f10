"""Options of `stiction collect`: plain values only, so that help does not wait for numpy."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

Numbers = Annotated[tuple[str, ...], tyro.conf.arg(metavar="X,Y,Z", help_behavior_hint="(default: uniform)")]
OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(optional)")]
Range = Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="LOW HIGH", help_behavior_hint="(of the body)")]


@dataclass(frozen=True)
class CollectOptions:
    """What to throw, how often, and where to keep it."""

    body: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="BODY")] = ""
    """box, prism, rectangle, link; or a shape in metres, box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT or rectangle:X,Z; or the
    path of a convex mesh file. None with --law or --mjcf."""
    out: Path = field(kw_only=True)
    """Folder of the data set; made if missing, and continued if it holds a part of the same data set."""
    throws: int = 1000
    """Number of throws."""
    steps: int = 800
    """Time steps of each throw."""
    seed: int = 0
    """Seed of all that is drawn."""
    truth: Annotated[str, tyro.conf.arg(metavar="NAME|MODULE:OBJECT")] = "dantzig"
    """Ground truth: dantzig or nsgs, solvers of DART; coulomb-box or coulomb-round, the analytic Coulomb law with a box
    or a round friction limit; MODULE:OBJECT, your own, from a module in this folder or an installed one."""
    friction: Annotated[
        tuple[float, ...] | None, tyro.conf.arg(metavar="MU [MU_Y]", help_behavior_hint="(of the body)")
    ] = None
    """Coulomb coefficient, or two, along x and along y. By default 1.0 for box, prism and rectangle, 0.6 for link, 0.5
    for any other body."""
    law: Annotated[str | None, tyro.conf.arg(metavar="LAW", help_behavior_hint="(optional)")] = None
    """Ground truth is this identified law, a name or the path of its file, with its body, step and gravity."""
    mass: float = 1.0
    """Mass of the body [kg]."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    com: Numbers = ()
    """Centre of mass in the body frame [m]; write --com=-0.01,0,0 where it begins with a minus."""
    inertia: Annotated[Numbers, tyro.conf.arg(metavar="XX,YY,ZZ[,XY,XZ,YZ]")] = ()
    """Moments of inertia about the centre of mass, body axes [kg m^2]."""
    mjcf: OptionalFile = None
    """Throw a body of this MuJoCo model, with its hull and its mass properties ..."""
    mjcf_body: Annotated[str, tyro.conf.arg(name="body", metavar="NAME", help_behavior_hint="(with --mjcf)")] = ""
    """... the one of this name."""
    timestep: float = 0.002
    """Length of a time step [s]."""
    height: Range = None
    """Range of the height of the body's lowest point at the start [m]: by default 0.01 to 1."""
    horizontal: Range = None
    """Range of the velocity along x, and along y [m/s]: by default -3 to 3, for link -6 to 6."""
    vertical: Range = None
    """Range of the velocity along z [m/s]: by default -3 to 1, for link -6 to 2."""
    spin: Range = None
    """Range of the angular velocity about each axis [rad/s]: by default -8 to 8, for link -40 to 40."""
    requeries: int = 30
    """Contact states of each throw that are asked again with jittered velocities."""
    jitter_share: float = 0.15
    """Jitter of the velocities, as a share of the contact patch's speed ..."""
    jitter_speed: float = 0.01
    """... plus this speed [m/s]."""
    keep_static_surface: float = 0.2
    """Share of the static contacts on a surface that is kept; they are most of all contacts and much alike."""
    in_plane: float = 0.0
    """Share of the throws that move in a vertical plane across the body's y axis, as a link on hinges along it does."""
    shard_throws: int = 50
    """Throws in one file."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: one a core)")] = None
    """Processes. The data do not depend on their number."""
    executor: Literal["local", "ray"] = "local"
    """Where the workers run: on this machine, or on a Ray cluster."""
    address: Annotated[
        str | None, tyro.conf.arg(metavar="HOST:PORT", help_behavior_hint="(default: start one here)")
    ] = None
    """Address of the Ray cluster."""


def run(options: CollectOptions) -> None:
    """Collect, and say what was collected."""
    from stiction.data.collecting import carry_out
    from stiction.data.dataset import print_summary

    plan = to_plan(options)
    where = {"workers": options.workers, "executor": options.executor, "address": options.address}
    try:
        data = carry_out(plan, options.out, **where)
    except KeyboardInterrupt:
        print(f"Stopped. The same command goes on with what is in {options.out}.", file=sys.stderr)
        raise
    print_summary(data)


def to_plan(options: CollectOptions):
    """The plan that the options mean; what they leave open, the body's preset decides."""
    from dataclasses import replace

    from stiction.basics import checks
    from stiction.data.ground_truth import GroundTruth
    from stiction.data.known_truths import gravity_of, resolved, to_truth
    from stiction.data.plan import Plan
    from stiction.data.presets import parse_body, preset
    from stiction.laws.modelfile import load_law

    if [bool(options.body), options.law is not None, options.mjcf is not None].count(True) != 1:
        raise checks.InputError(
            "Give a BODY to throw in a ground truth, or --law, which brings its own body, or --mjcf: one of them."
        )
    if options.mjcf_body and options.mjcf is None:
        raise checks.InputError("--body NAME is for a body in a model file, --mjcf FILE.")
    usual = preset(options.body)
    ranges = {name: getattr(options, name) for name in ("height", "horizontal", "vertical", "spin")}
    same = (
        "throws", "steps", "seed", "timestep",
        "requeries", "jitter_share", "jitter_speed", "keep_static_surface", "in_plane", "shard_throws",
    )  # fmt: skip
    if options.law is not None:
        law = load_law(options.law)
        truth = GroundTruth("law", law=options.law)
        where = {"body": law.body, "truth": truth, "gravity": law.gravity}
    else:
        own = {"com": options.com, "inertia": options.inertia, "mjcf": options.mjcf}
        body = parse_body(options.body or options.mjcf_body, options.mass, options.scale, **own)
        given = resolved(options.truth)
        how = {"friction": options.friction, "usual_friction": usual.friction, "timestep": options.timestep}
        gravity = gravity_of(given)
        where = {"body": body, "truth": to_truth(given, body, gravity=gravity, **how), "gravity": gravity}
    return Plan(
        **where,
        ranges=replace(usual.ranges, **{name: value for name, value in ranges.items() if value is not None}),
        **{name: getattr(options, name) for name in same},
    )


# Options of `stiction identify`: plain values only, so that help does not wait for numpy.


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
    """Identify, print the result and write it; the figures, for JSON."""
    from stiction.basics.checks import InputError
    from stiction.data.presets import parse_body
    from stiction.fit.identify import IdentifySettings, identify_to_file

    if not options.body and options.mjcf is None:
        raise InputError("Give what was tossed: --body, such as box:0.1,0.1,0.1, or --mjcf for a part with joints.")
    if options.body and options.mjcf is not None:
        raise InputError("--mjcf describes the whole part: leave out --body.")
    body = parse_body(options.body, options.mass, options.scale) if options.body else None
    command = " ".join(["stiction", *sys.argv[1:]])
    settings = IdentifySettings(options.tosses, options.residual, seed=options.seed, command=command)
    return identify_to_file(settings, options.data, body, options.mjcf, options.out, options.plot).figures


# Options of `stiction import`: plain values only, so that help does not wait for numpy.


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
    from stiction.data.presets import parse_body
    from stiction.recordings.folder import save_recordings
    from stiction.recordings.importing import import_recordings
    from stiction.recordings.poses import Conventions

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

    from stiction.data.dataset import print_summary
    from stiction.data.tables import read_instances_file

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
