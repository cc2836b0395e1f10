"""The command line: one function a command. Heavy modules are imported inside the commands, so that help is quick."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import tyro

import stiction
from stiction.basics.checks import require
from stiction.learning.collect.options import CollectOptions
from stiction.learning.identify.options import IdentifyOptions
from stiction.learning.recordings.options import ImportOptions
from stiction.learning.train.switches import Switches
from stiction.studies import listed

Triple = Annotated[tuple[float, float, float], tyro.conf.arg(metavar="X Y Z")]
OptionalFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="(optional)")]


def reproduce(
    name: Annotated[listed.Name, tyro.conf.Positional],
    /,
    *,
    out: Path,
    quick: bool = False,
    full: bool = False,
    seed: int = 0,
    law: OptionalFile = None,
    data: OptionalFile = None,
    json: OptionalFile = None,
) -> None:
    """Run a study: measure, print its tables, write its results and its part of the page OUT/index.html.

    trajectories: whole throws of box, prism and rectangle, learned laws and baseline against DART.
    events: contact event sequences of box throws.
    anisotropy: a box thrown in eight directions onto ground with unequal friction.
    slope: a block at rest on the flat and on slopes; MuJoCo, Bullet and DART beside it.
    nsgs: whole throws with DART's NSGS solver as ground truth.
    efficiency: error against the number of training throws, for several approximators.
    ablation: what each choice in learning a law is worth.
    materials: friction that no Coulomb law expresses, learned as a material and carried to other bodies.
    chain: a three-link chain that swings to the ground, its last link with a law learned from throws of that link.
    robot: a quadruped with learned feet stands and walks for a minute, beside itself with MuJoCo's own contact.
    robots: models of Gymnasium, dm_control and robosuite, driven at random, with a material on their floor.
    grasp: grasps, a stack and slopes held for a minute by our solver, MuJoCo, Bullet and DART.
    agreement: our stepping with CoulombLaw against DART, one step at a time and over whole throws.
    tosses: our law and the simulators, all fitted to recorded tosses of a cube, given by --data.
    all: all of these, on one page; tosses only if --data is given, ablation, which takes hours, only if --quick.

    Args:
        name: Study to run.
        out: Folder for the results; made if missing. What materials and ablation find there is not measured again.
        quick: A small run, to see it work.
        full: A large run, for figures to rely on.
        seed: Seed of all that is drawn.
        law: For trajectories: a model file to be judged instead of the shipped laws.
        data: Recordings that the study works on, where it needs any.
        json: Write the figures of the study to this file too; they are in OUT/NAME/results.json in any case.
    """
    if quick and full:
        raise stiction.InputError("Give --quick or --full, not both.")
    if law is not None and name != "trajectories":
        raise stiction.InputError(f"--law belongs to the study trajectories, not to {name}.")
    scale = "quick" if quick else "full" if full else "usual"
    if data is not None and name not in ("tosses", "all"):
        raise stiction.InputError(f"The study {name} works on no recordings; --data is for tosses.")
    if name == "all":
        if json is not None:
            raise stiction.InputError("--json takes the figures of one study; `all` leaves those of each in OUT.")
        listed.run_all(out, scale, seed, data)
        return
    files = {"law": law, "data": data}
    listed.run(name, out, scale, seed, **{key: file for key, file in files.items() if file is not None})
    if json is not None:
        from stiction.basics.files import write_whole

        write_whole(json, (out / name / "results.json").read_bytes())
        print(f"Wrote {json}")


def simulate(
    *,
    size: Triple = (0.2, 0.3, 0.4),
    mass: float = 1.0,
    friction: float = 0.5,
    cone: Literal["box", "round"] = "box",
    height: float = 0.6,
    turn: Triple = (30.0, 20.0, 0.0),
    velocity: Triple = (1.5, 0.0, 0.0),
    spin: Triple = (0.0, 4.0, 0.0),
    steps: int = 800,
    timestep: float = 0.002,
    out: OptionalFile = None,
) -> None:
    """Throw a box onto the ground with Coulomb friction and say what became of it.

    Args:
        size: Edges of the box along its x, y, z [m].
        mass: Mass of the box [kg].
        friction: Coulomb coefficient.
        cone: Friction limit: "box" bounds p_x and p_y each, as DART's default; "round" bounds their resultant.
        height: Height of the centre at the start [m].
        turn: Orientation at the start: rotation about world x, then y, then z [degrees].
        velocity: Velocity at the start, world x, y, z [m/s].
        spin: Angular velocity at the start, world x, y, z [rad/s].
        steps: Number of time steps.
        timestep: Length of a time step [s].
        out: Write the trajectory to this .npz file: position, quaternion, velocity, angular_velocity, impulse, mode,
            kind, time, timestep.
    """
    if out is not None and out.suffix != ".npz":
        raise stiction.InputError(f"--out must name an .npz file, got {out}.")
    from rich.console import Console
    from scipy.spatial.transform import Rotation

    from stiction import Body, CoulombLaw, State, rollout

    law = CoulombLaw(Body.box(size, mass), friction, cone=cone, timestep=timestep)
    quaternion = Rotation.from_euler("xyz", turn, degrees=True).as_quat(scalar_first=True)
    start = State((0.0, 0.0, height), quaternion, velocity, spin)
    with Console(stderr=True).status("Simulating"):
        run = rollout(law, start, steps)
    _print_run(run)
    if out is not None:
        _save_run(out, run)


def _print_run(run: "stiction.Trajectory") -> None:
    """A short summary of one throw."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    def vector(values) -> str:
        return "  ".join(f"{value: .4f}" for value in values)

    touching = np.flatnonzero(run.kind)
    final = run.state()
    summary = Table.grid(padding=(0, 3))
    summary.add_row("simulated", f"{run.steps} steps of {run.timestep:g} s")
    summary.add_row("first contact", f"{touching[0] * run.timestep:.3f} s" if len(touching) else "none")
    counts = [(mode.name.lower(), int(np.sum(run.mode == mode))) for mode in stiction.Mode if mode]
    summary.add_row("contact steps", ", ".join(f"{count} {name}" for name, count in counts))
    summary.add_row("final position", f"{vector(final.position)}  m")
    summary.add_row("final quaternion", f"{vector(final.quaternion)}  (w, x, y, z)")
    summary.add_row("final speed", f"{np.linalg.norm(final.velocity):.2e} m/s")
    summary.add_row("final spin", f"{np.linalg.norm(final.angular_velocity):.2e} rad/s")
    Console(highlight=False).print(summary)


def _save_run(path: Path, run: "stiction.Trajectory") -> None:
    import numpy as np

    from stiction.basics.files import whole_file

    with whole_file(path) as temporary:
        np.savez_compressed(temporary, time=run.time, **vars(run))
    print(f"Wrote {path}")


def collect(options: Annotated[CollectOptions, tyro.conf.arg(name="")]) -> None:
    """Throw a body many times in a ground truth and keep its contacts, to train a law on."""
    needs = {"pyarrow": "train", "joblib": "train"}
    require("collect", needs | ({"ray": "cluster"} if options.executor == "ray" else {}))
    import_module("stiction.learning.collect.options").run(options)


def train(
    data: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA [DATA ...]")],
    /,
    *,
    out: Path,
    law: Literal["augmented", "statistical", "material"] = "augmented",
    approximator: Literal["network", "trees", "gp", "svm"] = "network",
    switches: Annotated[Switches, tyro.conf.arg(name="")] = Switches(),  # noqa: B008
    material: Annotated[str | None, tyro.conf.arg(metavar="MATERIAL", help_behavior_hint="(optional)")] = None,
    hidden: Annotated[tuple[int, ...], tyro.conf.arg(help_behavior_hint="(default: what suits the patch)")] = (),
    steps: int = 8000,
    floor: float = 1e-3,
    time_budget: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(optional)")] = None,
    through: Literal["auto", "steps", "rollouts"] = "auto",
    body: Annotated[str | None, tyro.conf.arg(metavar="STR", help_behavior_hint="(optional)")] = None,
    mass: float = 1.0,
    seed: int = 0,
    json: OptionalFile = None,
) -> None:
    """Train a law on a data set. A training that was stopped goes on with the same command.

    A material is friction itself: it may learn from several bodies together, and serves any other. It is learned within
    a minute or a few; of the options below, only --out, --through, --body, --mass, --seed and --json are for it, all
    others are for networks.

    Args:
        data: Folder of the data set, made by `stiction collect` or `stiction import --instances`; of a material, one
            or many, or a folder of recordings, made by `stiction import`.
        out: Model file to write, .safetensors.
        law: "augmented", the law of the paper, "statistical", its purely data-driven baseline, or "material".
        approximator: Networks, gradient-boosted trees, Gaussian processes or support vector machines.
        switches: How contacts are described.
        material: Name or file of a material whose friction the networks of an augmented law correct.
        hidden: Units of the networks' hidden layers.
        steps: Optimiser steps of each network.
        floor: Errors of friction below this share of the normal impulse count little; lower it where errors add up.
        time_budget: Train for about this long instead [s]; the result then depends on the machine.
        through: Of a material: single "steps" with their impulses, which must be known well, or "rollouts", for poses
            that may be noisy; "auto": steps for data sets, rollouts for recordings.
        body: Of a material that is learned from recordings: the body that was tossed, as for `stiction import`.
        mass: Of this body [kg].
        seed: Seed of all that is drawn.
        json: Of a material: write what was chosen and measured to this file.
    """
    if law == "material":
        default = (("network", Switches()), None, (), 8000, 1e-3, None)
        if ((approximator, switches), material, hidden, steps, floor, time_budget) != default:
            raise stiction.InputError("A material has no networks: give it no options of theirs.")
        require("train", {"pyarrow": "train"})
        own = None if body is None else import_module("stiction.learning.collect.presets").parse_body(body, mass)
        how = {"through": through, "body": own, "seed": seed, "json": json}
        import_module("stiction.learning.material.command").run(data, out, **how)
        return
    if through != "auto" or body is not None:
        raise stiction.InputError("--through and --body are for a material.")
    if len(data) != 1:
        raise stiction.InputError(f"--law {law} takes one data set, got {len(data)}; only a material takes many.")
    if json is not None:
        raise stiction.InputError("--json is for a material; `stiction evaluate` writes the figures of other laws.")
    require("train", {"pyarrow": "train", "torch": "train", "sklearn": "train"})
    from stiction.learning.train.from_data import train_from

    how = {"law": law, "approximator": approximator, "switches": switches, "hidden": hidden, "floor": floor}
    train_from(data[0], out, material=material, steps=steps, time_budget=time_budget, seed=seed, **how)


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
        truth: Ground truth to ask, where it was an object of your own, which no file holds.
        data: Recordings to forecast, of a law that was identified.
        seed: Seed of the fresh throws.
        json: Write the figures to this file.
    """
    require("evaluate", {"pyarrow": "train"})
    from stiction.laws.impact import ImpactLaw

    identified = stiction.load(law)
    if isinstance(identified, ImpactLaw):
        import_module("stiction.studies.recordings.forecasts").run(law, identified, data, seed=seed, json=json)
        return
    import_module("stiction.studies.paper.singlestep").run(law, contacts=contacts, truth=truth, seed=seed, json=json)


def view(
    law: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="LAW")] = "box",
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    open: bool = True,
    seed: int = 0,
) -> None:
    """Throw a body with a law in the browser and watch it beside its ground truth.

    Args:
        law: Name of a shipped law, or path of a model file.
        host: Address to listen on; 0.0.0.0 lets other machines in.
        port: Port to listen on; the next free one if it is taken.
        open: Open the browser.
        seed: Seed of the random throws.
    """
    require("view", {"viser": "report"})
    import_module("stiction.studies.page.viewer").serve(law, host=host, port=port, seed=seed, open_browser=open)


def import_(options: Annotated[ImportOptions, tyro.conf.arg(name="")]) -> None:
    """Read recorded poses of tosses, check them against mechanics, and keep them in SI units and our axes.

    With --instances, read single contacts instead, and keep them as a data set to train on.
    """
    require("import", {"pyarrow": "record"})
    import_module("stiction.learning.recordings.options").run_import(options)


def identify(options: Annotated[IdentifyOptions, tyro.conf.arg(name="")]) -> None:
    """Fit a body and its contact law to recorded tosses."""
    require("identify", {"pyarrow": "record"})
    figures = import_module("stiction.learning.identify.options").run_identify(options)
    if options.json is not None:
        from stiction.basics.files import write_json
        from stiction.basics.versions import versions

        write_json(options.json, {**figures, "versions": versions("numpy", "scipy")})
        print(f"Wrote {options.json}")


def bench(
    cases: Annotated[
        tuple[
            Literal["throw", "batch", "materials", "points", "chain", "quadruped", "start", "memory", "profile"], ...
        ],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[CASE ...]", help_behavior_hint="(default: all)"),
    ] = (),
    /,
    *,
    quick: bool = False,
    full: bool = False,
    repeat: int = 1,
    seed: int = 0,
    json: OptionalFile = None,
    plot: OptionalFile = None,
    markdown: OptionalFile = None,
) -> None:
    """Measure speed beside MuJoCo, DART and Bullet, those of them that are installed, in one run on one core.

    throw: one thrown box, a step in flight, in contact and over whole throws.
    batch: many thrown boxes at once, with one thread and with two.
    materials: what laws of materials cost beside networks, by kind of patch and mode.
    points: a prism that lies and slides on 4 to 1,024 contact points.
    chain: a three-link chain that drags its last link over the ground.
    quadruped: a robot that trots on four feet with a law.
    start: import, a whole throw and a first step in MuJoCo, each from the start of a fresh process.
    memory: of processes with many bodies.
    profile: where the time of a batch step goes, beside the least that its networks could take.

    Args:
        cases: What to measure.
        quick: A short run, to see it work.
        full: A long run, for figures to rely on, with 100,000 bodies too.
        repeat: Runs of everything, whose least and greatest ratios are shown.
        seed: Seed of the throws.
        json: Write all figures to this file.
        plot: Draw cost against contact points to this PNG file.
        markdown: Write the tables to this file, for documents.
    """
    if quick and full:
        raise stiction.InputError("Give --quick or --full, not both.")
    require("bench", {"matplotlib": "report"} if plot is not None else {})
    scale = "quick" if quick else "full" if full else "usual"
    files = {"json": json, "plot": plot, "markdown_file": markdown}
    import_module("stiction.studies.speed.run").run(scale, only=cases, repeat=repeat, seed=seed, **files)


COMMANDS = {
    "import": import_,
    "identify": identify,
    "collect": collect,
    "train": train,
    "evaluate": evaluate,
    "reproduce": reproduce,
    "simulate": simulate,
    "view": view,
    "bench": bench,
}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line `args` (the process's own by default) and return the exit code."""
    args = sys.argv[1:] if args is None else args
    if list(args) == ["--version"]:
        from stiction.basics.versions import versions

        print(f"stiction {versions()['stiction']}")
        return 0
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="stiction",
            description="Learned frictional contact for rigid bodies. `stiction --version` prints the version.",
            args=args,
        )
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough; nothing more may be written to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, listed.StudyError) as error:  # a folder that cannot be made, a full disk
        print(f"stiction: {error}", file=sys.stderr)
        return 1
    except stiction.InputError as error:
        print(f"stiction: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
