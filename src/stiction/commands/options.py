"""Options of the commands that learn. Plain values only, so that help does not wait for NumPy."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from stiction.training.settings import Switches

if TYPE_CHECKING:
    from stiction.bodies.body import Body

Numbers = Annotated[tuple[str, ...], tyro.conf.arg(metavar="X,Y,Z", help_behavior_hint="(default: uniform)")]
OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(optional)")]
Range = Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="LOW HIGH", help_behavior_hint="(of the body)")]
_DETECTED = tyro.conf.arg(help_behavior_hint="(default: of the file, or detected)")
OptionalNumber = Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="(default: measured)")]


@dataclass(frozen=True, kw_only=True)
class BodyOptions:
    """Mass properties of a body, and the file that describes it."""

    mass: Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="(default: 1)")] = None
    """Mass of the body [kg]."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    hull: bool = False
    """Take the convex hull of a mesh file that is not convex, uniformly filled."""
    com: Numbers = ()
    """Centre of mass in the body frame [m]; write --com=-0.01,0,0 if it starts with a minus."""
    inertia: Annotated[Numbers, tyro.conf.arg(metavar="XX,YY,ZZ[,XY,XZ,YZ]")] = ()
    """Moments of inertia about the centre of mass, body axes [kg m^2]."""
    mjcf: OptionalFile = None
    """MuJoCo model in which BODY is the name of a body."""

    def body_called(self, name: str) -> "Body":
        """The body with these properties; name: its shape, its mesh file, or its name in the MuJoCo model."""
        from stiction.data.presets import parse_body

        return parse_body(
            name,
            1.0 if self.mass is None else self.mass,
            self.scale,
            com=self.com,
            inertia=self.inertia,
            mjcf=self.mjcf,
            hull=self.hull,
        )


@dataclass(frozen=True)
class CollectOptions(BodyOptions):
    """What to throw, how often, and where to keep the data."""

    body: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="BODY")] = ""
    """box, prism, rectangle, link; or a shape in metres, box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT or rectangle:X,Z; or the
    path of a convex mesh file. Leave it out with --law or --mjcf."""
    out: Path = field(kw_only=True)
    """Folder of the data set; made if missing, and continued if it holds a part of the same data set."""
    throws: int = 1000
    """Number of throws."""
    steps: int = 800
    """Time steps of each throw."""
    seed: int = 0
    """Seed of all random draws."""
    truth: Annotated[str, tyro.conf.arg(metavar="NAME|MODULE:OBJECT")] = "dantzig"
    """Ground truth: dantzig or nsgs, solvers of DART; coulomb-box or coulomb-round, the analytic Coulomb law with a box
    or a round friction limit; MODULE:OBJECT, a user-defined one, from a module in this folder or an installed one."""
    friction: Annotated[
        tuple[float, ...] | None, tyro.conf.arg(metavar="MU [MU_Y]", help_behavior_hint="(of the body)")
    ] = None
    """Coulomb coefficient, or two, along x and along y. By default 1.0 for box, prism and rectangle, 0.6 for link, 0.5
    for any other body."""
    law: Annotated[str | None, tyro.conf.arg(metavar="LAW", help_behavior_hint="(optional)")] = None
    """Use this identified law as ground truth, by name or path, with its body, time step and gravity."""
    mjcf: OptionalFile = None
    """Throw a body of this MuJoCo model, with its hull and its mass properties: the one that --body names."""
    mjcf_body: Annotated[str, tyro.conf.arg(name="body", metavar="NAME", help_behavior_hint="(with --mjcf)")] = ""
    """Name of a body in the MuJoCo model."""
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
    """Contact states of each throw that are queried again with jittered velocities."""
    jitter_share: float = 0.15
    """Jitter of the velocities, as a share of the contact patch's speed ..."""
    jitter_speed: float = 0.01
    """... plus this speed [m/s]."""
    keep_static_surface: float = 0.2
    """Share of the static contacts on a surface that is kept; they are most of all contacts and almost alike."""
    in_plane: float = 0.0
    """Share of the throws that move in a vertical plane across the body's y axis, as a link on hinges along it does."""
    shard_throws: int = 50
    """Throws in one file."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: one per core)")] = None
    """Processes. The data do not depend on their number."""
    executor: Literal["local", "ray"] = "local"
    """Where the workers run: on this machine, or on a Ray cluster."""
    address: Annotated[
        str | None, tyro.conf.arg(metavar="HOST:PORT", help_behavior_hint="(default: start one here)")
    ] = None
    """Address of the Ray cluster."""


@dataclass(frozen=True)
class TrainOptions:
    """What to learn from, what to learn, and where to keep it."""

    data: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="DATA [DATA ...]", help_behavior_hint="(required)"),
    ]
    """Folder of the data set, made by `stiction collect` or `stiction import --instances`; for a material, one or many
    of them, or a folder of recordings, made by `stiction import`."""
    out: Path
    """Model file to write, .safetensors."""
    law: Literal["augmented", "statistical", "material"] = "augmented"
    """"augmented", the law of the paper, "statistical", its purely data-driven baseline, or "material"."""
    approximator: Literal["network", "trees", "gp", "svm"] = "network"
    """Networks, gradient-boosted trees, Gaussian processes or support vector machines."""
    switches: Annotated[Switches, tyro.conf.arg(name="")] = Switches()  # noqa: RUF009
    material: Annotated[str | None, tyro.conf.arg(metavar="MATERIAL", help_behavior_hint="(optional)")] = None
    """Name or file of a material whose friction the networks of an augmented law correct."""
    hidden: Annotated[tuple[int, ...], tyro.conf.arg(help_behavior_hint="(default: depends on the patch)")] = ()
    """Units of the networks' hidden layers."""
    steps: int = 8000
    """Optimiser steps of each network."""
    floor: float = 1e-3
    """Errors of friction below this share of the normal impulse count little; lower it where errors add up."""
    time_budget: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(optional)")] = None
    """Train for about this long instead [s]; the result then depends on the machine."""
    through: Literal["auto", "steps", "rollouts"] = "auto"
    """For a material: fit single "steps" with their impulses, which must be known well, or "rollouts", for poses that
    may be noisy; "auto": steps for data sets, rollouts for recordings."""
    body: Annotated[str | None, tyro.conf.arg(metavar="STR", help_behavior_hint="(optional)")] = None
    """For a material that is learned from recordings: the body that was tossed, as for `stiction import`."""
    mass: float = 1.0
    """Mass of this body [kg]."""
    seed: int = 0
    """Seed of all random draws."""
    json: OptionalFile = None
    """For a material: write the chosen model and its errors to this file."""


@dataclass(frozen=True)
class IdentifyOptions:
    """What to fit, and where to keep it."""

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folder of recordings, made by `stiction import`; or a file with SI units, z up, quaternions w x y z."""
    out: Path
    """Model file to write, .safetensors; with --mjcf, OUT.xml and OUT.safetensors."""
    body: Annotated[str, tyro.conf.arg(help_behavior_hint="(default: of the import)")] = ""
    """The body as measured, if DATA does not say it: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT in metres, or the path of a
    convex mesh file; rectangle:X,Z for recordings in a vertical plane."""
    mjcf: OptionalFile = None
    """A part with joints instead, as measured: an MJCF file with a free base, hinges and slides."""
    mass: Annotated[float | None, tyro.conf.arg(metavar="FLOAT", help_behavior_hint="(default: of the import)")] = None
    """Mass of the body [kg], 1 for a file; it is not observable in recorded motion."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    hull: bool = False
    """Take the convex hull of a mesh file that is not convex, uniformly filled."""
    tosses: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(default: all)")] = None
    """Fit this many tosses only."""
    residual: bool = True
    """Also learn corrections of friction and restitution, and keep those that clearly reduce the error."""
    seed: int = 0
    """Seed of all random draws."""
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: beside --out)")] = None
    """Picture of friction and restitution with their bands, .png; needs the extra `report`."""
    details: bool = False
    """Also print all parameters and how the law was chosen."""
    json: OptionalFile = None
    """Write the figures to this file."""


@dataclass(frozen=True)
class ImportOptions(BodyOptions):
    """What was recorded, and in which units and axes."""

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """A file, or a folder of them, as trackers export them: .csv, .tsv, .txt, .parquet, .npz or .mcap. One recording of
    many tosses is split where the part rests, where a hand holds it, and where frames are missing."""
    body: str
    """The body that was thrown: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT in metres, or the path of a convex mesh file; with
    --mjcf the name of a body in that model; rectangle:X,Z for recordings in a vertical plane."""
    out: Path
    """Folder for the recordings, or for the data set; made if missing."""
    instances: bool = False
    """PATH holds single contacts, to train on: an .npz or .parquet file as in docs/ground_truth.md."""
    timestep: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(of the file, or 0.002)")] = None
    """With --instances: length of a time step [s]."""
    gravity: Annotated[
        tuple[float, float, float] | None,
        tyro.conf.arg(metavar="X Y Z", help_behavior_hint="(of the file, or 0 0 -9.81)"),
    ] = None
    """With --instances: gravity [m/s^2]."""
    object: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="(default: the only one)")] = None
    """Name of the tracked body in a file with several: rigid body, object, child frame, topic or number of a tag."""
    units: Annotated[Literal["m", "cm", "mm", "in"] | None, _DETECTED] = None
    """Unit of the positions."""
    time_unit: Annotated[Literal["s", "ms", "us", "ns"] | None, _DETECTED] = None
    """Unit of the time stamps."""
    quaternion: Annotated[Literal["wxyz", "xyzw"] | None, _DETECTED] = None
    """Order of the quaternion's components in .npz files; in other files, components have names."""
    up: Annotated[Literal["z", "y", "x", "-z", "-y", "-x"] | None, _DETECTED] = None
    """Axis that points up; write --up=-y for one that points down."""
    mirror: Literal["", "x", "y"] = ""
    """Positions are from a left-handed frame, mirrored along this axis, while orientations are not."""
    inverse: bool = False
    """Quaternions map world to body axes; in a plane, angles turn z towards x."""
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
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: OUT/split.png)")] = None
    """Picture of the height over time and of the tosses found in one recording, .png; needs the extra `report`."""
