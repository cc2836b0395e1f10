"""The commands that learn: collect, train, evaluate, import, identify, and export."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from stiction.basics.environment import require
from stiction.basics.errors import InputError
from stiction.commands.arguments import loading
from stiction.commands.options import CollectOptions, IdentifyOptions, ImportOptions, OptionalFile, TrainOptions

if TYPE_CHECKING:
    from stiction.bodies.body import Body
    from stiction.data.collection_plan import Plan

COLLECT_NEEDS = ("pyarrow", "joblib")
TRAIN_NEEDS = ("pyarrow", "torch", "sklearn")
ASSUMED_MASS = (
    "No --mass was given: 1 kg is assumed. Motion does not depend on it, but all forces in newtons do: give the mass "
    "in kilograms."
)


def collect(options: Annotated[CollectOptions, tyro.conf.arg(name="")]) -> None:
    """Throw a body many times in a ground truth and keep its contacts, to train a law on."""
    with loading():
        from stiction.data.ground_truth import DART
    by_dart = options.law is None and options.truth in DART
    by_ray = options.executor == "ray"
    require("`stiction collect`", *COLLECT_NEEDS, *(["dartpy"] if by_dart else []), *(["ray"] if by_ray else []))
    with loading():
        from stiction.data.collecting import run_plan
        from stiction.data.dataset import print_summary
        from stiction.data.executors import Workers
    plan = collection_plan(options)
    try:
        data = run_plan(plan, options.out, Workers(options.workers, options.executor, options.address))
    except KeyboardInterrupt:
        print(f"Stopped. The same command continues with the data in {options.out}.", file=sys.stderr)
        raise
    print_summary(data)


def collection_plan(options: CollectOptions) -> "Plan":
    """The plan that the options describe; the body's preset fills in the defaults."""
    from stiction.data.collection_plan import Plan
    from stiction.data.ground_truth import GroundTruth, gravity_of, resolved, to_truth
    from stiction.data.presets import preset
    from stiction.laws.modelfile import load_law

    if [bool(options.body), options.law is not None, options.mjcf is not None].count(True) != 1:
        raise InputError(
            "Give a BODY to throw in a ground truth, or --law, which brings its own body, or --mjcf: one of them."
        )
    if options.mjcf_body and options.mjcf is None:
        raise InputError("--body NAME is for a body in a model file, --mjcf FILE.")
    usual = preset(options.body)
    if options.law is not None:
        law = load_law(options.law)
        body, truth, gravity = law.body, GroundTruth("law", law=options.law), law.gravity
    else:
        body = options.body_called(options.body or options.mjcf_body)
        given = resolved(options.truth)
        gravity = gravity_of(given)
        truth = to_truth(
            given, body, friction=options.friction, usual_friction=usual.friction, timestep=options.timestep,
            gravity=gravity,
        )  # fmt: skip
    ranges = {name: getattr(options, name) for name in ("height", "horizontal", "vertical", "spin")}
    return Plan(
        body,
        truth,
        throws=options.throws,
        steps=options.steps,
        seed=options.seed,
        ranges=replace(usual.ranges, **{name: value for name, value in ranges.items() if value is not None}),
        requeries=options.requeries,
        jitter_share=options.jitter_share,
        jitter_speed=options.jitter_speed,
        keep_static_surface=options.keep_static_surface,
        in_plane=options.in_plane,
        shard_throws=options.shard_throws,
        timestep=options.timestep,
        gravity=gravity,
    )


def train(options: Annotated[TrainOptions, tyro.conf.arg(name="")]) -> None:
    """Train a law on a data set. The same command continues a training that was stopped.

    A material is a friction law without a body: it may learn from several bodies together, and applies to any other. It
    is learned within a few minutes; among the options below, only --out, --through, --body, --mass, --seed and --json
    apply to it, all others are for networks.
    """
    if options.law == "material":
        _train_material(options)
        return
    if options.through != "auto" or options.body is not None:
        raise InputError("--through and --body are for a material.")
    if len(options.data) != 1:
        raise InputError(
            f"--law {options.law} takes one data set, got {len(options.data)}; only a material takes many."
        )
    if options.json is not None:
        raise InputError("--json is for a material; `stiction evaluate` writes the figures of other laws.")
    require("`stiction train`", *TRAIN_NEEDS)
    with loading():
        from stiction.training.from_data import train_from
        from stiction.training.settings import TrainSettings
    settings = TrainSettings(
        options.law, options.approximator, options.switches, options.material, options.hidden, options.steps,
        options.time_budget, options.floor, seed=options.seed,
    )  # fmt: skip
    train_from(options.data[0], options.out, settings)


def _train_material(options: TrainOptions) -> None:
    plain = TrainOptions(options.data, options.out)
    for name in ("approximator", "switches", "material", "hidden", "steps", "floor", "time_budget"):
        if getattr(options, name) != getattr(plain, name):
            raise InputError("A material has no networks: leave out the options for networks.")
    require("`stiction train --law material`", "pyarrow")
    with loading():
        from stiction.basics.files import check_writable
        from stiction.data.presets import parse_body
        from stiction.fit.train_material import run
    check_writable(options.json)
    body = None if options.body is None else parse_body(options.body, options.mass)
    run(options.data, options.out, through=options.through, body=body, seed=options.seed, json=options.json)


def evaluate(
    law: Annotated[str, tyro.conf.Positional],
    /,
    *,
    contacts: int = 40_000,
    truth: Annotated[str | None, tyro.conf.arg(metavar="MODULE:OBJECT", help_behavior_hint="(optional)")] = None,
    data: OptionalFile = None,
    seed: int = 0,
    json: OptionalFile = None,
) -> None:
    """Measure a law on fresh single contacts from its ground truth, or an identified one on recorded tosses.

    Args:
        law: Name of a shipped law, or path of a model file.
        contacts: Contacts of each kind of patch.
        truth: Ground truth to query, if it was a user-defined object, which no file holds.
        data: Recordings to forecast, for a law that was identified.
        seed: Seed of the fresh throws.
        json: Write the figures to this file.
    """
    require("`stiction evaluate`", "pyarrow")
    with loading():
        from stiction.basics.files import check_writable, write_json
        from stiction.evaluation.evaluate import evaluate, print_figures
    check_writable(json)
    figures = evaluate(law, contacts=contacts, truth=truth, data=data, seed=seed)
    print_figures(figures)
    if json is not None:
        write_json(json, figures)
        print(f"Wrote {json}")


def import_(options: Annotated[ImportOptions, tyro.conf.arg(name="")]) -> None:
    """Read recorded poses of tosses, check them against mechanics, and keep them in SI units and our axes.

    With --instances, read single contacts instead, and keep them as a data set to train on.
    """
    require("`stiction import`", "pyarrow")
    with loading():
        from stiction.basics.checks import positive
        from stiction.basics.files import check_writable
        from stiction.recordings.folder import save_recordings
        from stiction.recordings.importing import import_recordings
        from stiction.recordings.poses import Conventions
        from stiction.recordings.splitting import Cut, plot_cuts
    body = options.body_called(options.body)
    if options.instances:
        _import_instances(options, body)
        return
    conventions = Conventions(
        units=options.units,
        time_unit=options.time_unit,
        quaternion=options.quaternion,
        up=options.up,
        mirror=options.mirror,
        inverse=options.inverse,
        angle=options.angle,
        floor=options.floor,
        interval=None if options.rate is None else 1 / positive("rate [Hz]", options.rate),
    )
    columns = dict(_column(part) for part in options.columns.split(",") if part)
    if options.plot is not None:
        check_writable(options.plot)
        require("`stiction import --plot`", "matplotlib")
    picture: list[Cut] = []
    found = import_recordings(
        options.path, body, conventions, columns=columns, topic=options.topic, name=options.object, cuts=picture
    )
    save_recordings(found, options.out)
    for line in found.report:
        print(f"- {line}")
    if options.mass is None and options.mjcf is None:
        print(f"- {ASSUMED_MASS}")
    print(f"Wrote {len(found)} tosses to {options.out}.")
    if picture and find_spec("matplotlib") is not None:
        path = options.plot or options.out / "split.png"
        plot_cuts(picture, path)
        print(f"Wrote {path}, which shows where the recording was split.")


def _import_instances(options: ImportOptions, body: "Body") -> None:
    import warnings

    from stiction.data.dataset import print_summary
    from stiction.data.external_instances import read_instances_file

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read_instances_file(
            options.path, body, timestep=options.timestep, gravity=options.gravity, out=options.out
        )
    for warning in caught:
        print(f"- {warning.message}")
    print_summary(data)


def _column(text: str) -> tuple[str, str]:
    """One NAME=COLUMN of --columns."""
    name, equals, column = text.partition("=")
    allowed = ("time", "toss", "x", "y", "z", "qw", "qx", "qy", "qz", "angle", "vx", "vy", "vz", "wx", "wy", "wz")
    if not equals or name not in allowed:
        raise InputError(f"--columns takes NAME=COLUMN with a name of {', '.join(allowed)}, got {text!r}.")
    return name, column


def identify(options: Annotated[IdentifyOptions, tyro.conf.arg(name="")]) -> None:
    """Fit a body, or a part with joints (--mjcf), and its contact law to recorded tosses."""
    require("`stiction identify`", "pyarrow")
    with loading():
        from stiction.basics.environment import versions
        from stiction.basics.files import check_writable, write_json
    check_writable(options.json, options.plot)
    if options.mjcf is not None:
        require("`stiction identify --mjcf`", "mujoco")
    with loading():
        from stiction.fit.identify import IdentifySettings, identify_to_file
    imported = (options.data / "manifest.json").is_file()
    if not options.body and options.mjcf is None and not imported:
        raise InputError("Give what was tossed: --body, such as box:0.1,0.1,0.1, or --mjcf for a part with joints.")
    if options.body and options.mjcf is not None:
        raise InputError("--mjcf describes the whole part: leave out --body.")
    body = None if options.mjcf is not None else _identified_body(options, imported)
    command = " ".join(["stiction", *sys.argv[1:]])
    settings = IdentifySettings(
        options.tosses, options.residual, seed=options.seed, command=command, details=options.details
    )
    figures = identify_to_file(settings, options.data, body, options.mjcf, options.out, options.plot).figures
    if options.json is not None:
        write_json(options.json, {**figures, "versions": versions("numpy", "scipy")})
        print(f"Wrote {options.json}")


def _identified_body(options: IdentifyOptions, imported: bool) -> "Body | None":
    """The body as given; None: that of the imported folder, which also has the mass where none is given."""
    from stiction.basics.checks import positive
    from stiction.data.presets import checked_density, parse_body
    from stiction.recordings.folder import load_recordings

    known = load_recordings(options.data).body if imported else None
    if options.body:
        if options.mass is None and known is None:
            print(ASSUMED_MASS)
        mass = options.mass if options.mass is not None else (1.0 if known is None else known.mass)
        return parse_body(options.body, mass, options.scale, hull=options.hull)
    if options.mass is None or known is None:
        return None
    mass = positive("mass [kg]", options.mass)
    return checked_density(replace(known, mass=mass, inertia=known.inertia * (mass / known.mass)))


def export(
    found: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FOUND")],
    /,
    *,
    to: Literal["mujoco", "urdf", "sdf", "usd-physics", "json"],
    out: Path,
    name: str = "part",
    seed: int = 0,
    json: OptionalFile = None,
) -> None:
    """Write an identified body and its contact for another simulator, with ranges for domain randomisation.

    Args:
        found: Law that `stiction identify` wrote, or the name of a shipped one, such as cube.
        to: Format: MJCF with MuJoCo's own contact, fitted to motions of the law; URDF or SDF, with the hull in an .obj
            file beside it; USD as text; or JSON.
        out: File to write.
        name: Name of the body.
        seed: Seed of the throws that MuJoCo's contact is fitted to.
        json: Write the ranges, the contact parameters and the loss of accuracy to this file.
    """
    if to == "mujoco":
        require("`stiction export --to mujoco`", "mujoco")
    with loading():
        from stiction.basics.files import check_writable, write_json
        from stiction.fit.export import export as write
        from stiction.laws.modelfile import load
    check_writable(out, json)
    exported = write(load(found), to, out, name=name, seed=seed)
    for line in exported.notes:
        print(line)
    print(f"Wrote {out}.")
    if json is not None:
        write_json(json, exported.figures())
        print(f"Wrote {json}")
