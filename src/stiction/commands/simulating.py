"""The commands that simulate: simulate and view."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from stiction.basics.environment import require
from stiction.basics.errors import InputError
from stiction.commands.arguments import Triple, loading
from stiction.commands.options import BodyOptions, OptionalFile

if TYPE_CHECKING:
    from stiction.bodies.body import Body
    from stiction.bodies.state import State
    from stiction.bodies.trajectory import Trajectory
    from stiction.laws.coulomb import CoulombCone
    from stiction.laws.law import Law

FRICTION, CONE = 0.5, "round"  # of `stiction simulate coulomb`


@dataclass(frozen=True)
class ThrownBody(BodyOptions):
    """What is thrown."""

    body: str = "box:0.2,0.3,0.4"
    """For coulomb and materials: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT or rectangle:X,Z in metres, or the path of a
    convex mesh file; with --mjcf the name of a body in that model. Any other law has its own body."""


@dataclass(frozen=True)
class Throw:
    """How it is thrown."""

    height: Annotated[float | None, tyro.conf.arg(metavar="M", help_behavior_hint="(default: 0.6, or its size)")] = None
    """Height of the body frame's origin at the start [m]."""
    turn: Annotated[
        Triple | None, tyro.conf.arg(metavar="X Y Z", help_behavior_hint="(default: 30 20 0, in 2D 0 20 0)")
    ] = None
    """Orientation at the start: rotation about world x, then y, then z [degrees]."""
    velocity: Triple = (1.5, 0.0, 0.0)
    """Velocity at the start, world x, y, z [m/s]."""
    spin: Triple = (0.0, 4.0, 0.0)
    """Angular velocity at the start, world x, y, z [rad/s]."""
    steps: int = 800
    """Number of time steps."""
    timestep: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(of the law, or 0.002)")] = None
    """Length of a time step [s]; a learned law holds only for the one it was trained with."""


def simulate(
    law: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[LAW]")] = "coulomb",
    /,
    *,
    thrown: Annotated[ThrownBody, tyro.conf.arg(name="")] = ThrownBody(),  # noqa: B008
    friction: float = FRICTION,
    cone: Literal["round", "dart"] = CONE,
    throw: Annotated[Throw, tyro.conf.arg(name="")] = Throw(),  # noqa: B008
    out: OptionalFile = None,
    plot: OptionalFile = None,
) -> None:
    """Throw a body onto the ground with any law, and print a summary.

    Args:
        law: coulomb, the name of a law or material that ships, or the path of a model file.
        thrown: What is thrown.
        friction: For coulomb: the coefficient.
        cone: For coulomb: the limit of friction. "round": of its resultant; "dart": of p_x and of p_y, as in DART, with
            DART's softness and whole steps.
        throw: How it is thrown.
        out: Write the trajectory to this .npz file: position, quaternion, velocity, angular_velocity, impulse, mode,
            kind, time, timestep; `stiction.Trajectory.load` reads it.
        plot: Draw height, speed and contact modes over time to this file, such as throw.png.
    """
    if out is not None and out.suffix != ".npz":
        raise InputError(f"--out must name an .npz file, got {out}.")
    if plot is not None:
        require("`stiction simulate --plot`", "matplotlib")
    with loading():
        from stiction.basics.files import check_writable
        from stiction.simulation.rollout import rollout
    check_writable(out, plot)
    chosen = _law(law, thrown, friction, cone, throw.timestep)
    run = rollout(chosen, _state(chosen.body, throw), throw.steps, timestep=throw.timestep)
    _print_run(chosen, run)
    if out is not None:
        run.save(out)
        print(f"Wrote {out}")
    if plot is not None:
        run.plot(plot)
        print(f"Wrote {plot}")


def _law(name: str, thrown: ThrownBody, friction: float, cone: "CoulombCone", timestep: float | None) -> "Law":
    """Coulomb's law or a material on the thrown body, or a law with its own body."""
    from stiction.laws.coulomb import CoulombLaw
    from stiction.laws.material import Material
    from stiction.laws.modelfile import load

    step = 0.002 if timestep is None else timestep
    if name == "coulomb":
        return CoulombLaw(thrown.body_called(thrown.body), friction, cone=cone, timestep=step)
    found = load(name)
    if (friction, cone) != (FRICTION, CONE):
        raise InputError(f"--friction and --cone are for the law coulomb; {name} has its own friction.")
    if isinstance(found, Material):
        return found.on(thrown.body_called(thrown.body), timestep=step)
    if thrown != ThrownBody():
        raise InputError(
            f"{name} is a law of its own body, a {found.body.shape} of {found.body.mass:g} kg: give no other one with "
            "it. Any body goes with coulomb and with materials."
        )
    return found


def _state(body: "Body", throw: Throw) -> "State":
    from stiction.bodies.state import State

    height = max(0.6, body.diameter) if throw.height is None else throw.height
    turn = throw.turn or ((0.0, 20.0, 0.0) if body.planar else (30.0, 20.0, 0.0))
    return State.from_euler((0.0, 0.0, height), turn, velocity=throw.velocity, angular_velocity=throw.spin)


def _print_run(law: "Law", run: "Trajectory") -> None:
    """Print a short summary of one throw."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from stiction.bodies.state import Mode

    def vector(values) -> str:
        return "  ".join(f"{value: .4f}" for value in values)

    touching = np.flatnonzero(run.kind)
    final = run.state()
    summary = Table.grid(padding=(0, 3))
    summary.add_row("law", repr(law))
    summary.add_row("simulated", f"{run.steps} steps of {run.timestep:g} s")
    summary.add_row("first contact", f"{touching[0] * run.timestep:.3f} s" if len(touching) else "none")
    counts = [(mode.name.lower(), int(np.sum(run.mode == mode))) for mode in Mode if mode]
    summary.add_row("contact steps", ", ".join(f"{count} {name}" for name, count in counts))
    summary.add_row("final position", f"{vector(final.position)}  m")
    summary.add_row("final quaternion", f"{vector(final.quaternion)}  (w, x, y, z)")
    summary.add_row("final speed", f"{np.linalg.norm(final.velocity):.2e} m/s")
    summary.add_row("final spin", f"{np.linalg.norm(final.angular_velocity):.2e} rad/s")
    Console(highlight=False).print(summary)


def view(
    law: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="LAW")] = "box",
    /,
    *,
    data: OptionalFile = None,
    material: Annotated[float | str | None, tyro.conf.arg(metavar="MATERIAL", help_behavior_hint="(optional)")] = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    open: bool = True,
    seed: int = 0,
) -> None:
    """Throw a body with a law in the browser and watch it beside its ground truth; or watch a robot.

    Args:
        law: Name of a shipped law, or path of a model file; quadruped, or a MuJoCo model (.xml, .mjcf, .urdf).
        data: Recordings of the body, to be shown beside their forecasts.
        material: For a MuJoCo model: coefficient, name or path of the material of all its geoms.
        host: Address to listen on; 0.0.0.0 lets other machines in.
        port: Port to listen on; the next free one if it is taken.
        open: Open the browser.
        seed: Seed of the random throws.
    """
    require("`stiction view`", "viser")
    if law != "quadruped" and Path(law).suffix.lower() not in (".xml", ".mjcf", ".urdf"):
        if material is not None:
            raise InputError(f"--material is for the file of a robot's model, got the law {law}.")
        with loading():
            from stiction.viewer.law_viewer import Viewer
        window = Viewer(law, host=host, port=port, seed=seed, data=data)
    else:
        require(f"`stiction view {law}`", "mujoco")
        if data is not None:
            raise InputError(f"Recordings are for a law, such as cube; got the robot {law}.")
        if law == "quadruped" and material is not None:
            raise InputError("The quadruped has learned feet; --material is for a model file.")
        with loading():
            from stiction.viewer.robot_viewer import ModelFile, Quadruped, RobotViewer
        robot = Quadruped() if law == "quadruped" else ModelFile(law, 0.8 if material is None else material, seed=seed)
        window = RobotViewer(robot, host=host, port=port)
    with window:
        print(f"Viewer: {window.address} (Ctrl+C ends it)", flush=True)
        if open:
            webbrowser.open(window.address)
        window.run()
