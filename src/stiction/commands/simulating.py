"""`stiction simulate`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

import stiction
from stiction.basics.environment import require
from stiction.commands.arguments import Triple, load
from stiction.commands.options import Numbers, OptionalFile

if TYPE_CHECKING:
    from stiction.bodies.body import Body
    from stiction.bodies.state import State, Trajectory
    from stiction.laws.law import Law

COULOMB, FRICTION, CONE = "coulomb", 0.5, "box"


@dataclass(frozen=True)
class ThrownBody:
    """What is thrown."""

    body: str = "box:0.2,0.3,0.4"
    """Of coulomb and materials: box:X,Y,Z, prism:SIDES,RADIUS,HEIGHT or rectangle:X,Z in metres, or the path of a
    convex mesh file; with --mjcf the name of a body in that model. Any other law has its own body."""
    mass: float = 1.0
    """Mass of the body [kg]."""
    scale: float = 1.0
    """Metres in one unit of a mesh file."""
    com: Numbers = ()
    """Centre of mass in the body frame [m]; write --com=-0.01,0,0 where it begins with a minus."""
    inertia: Annotated[Numbers, tyro.conf.arg(metavar="XX,YY,ZZ[,XY,XZ,YZ]")] = ()
    """Moments of inertia about the centre of mass, body axes [kg m^2]."""
    mjcf: OptionalFile = None
    """MuJoCo model in which BODY is the name of a body."""


@dataclass(frozen=True)
class Start:
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


def simulate(
    law: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[LAW]")] = COULOMB,
    /,
    *,
    thrown: Annotated[ThrownBody, tyro.conf.arg(name="")] = ThrownBody(),  # noqa: B008
    friction: float = FRICTION,
    cone: Literal["box", "round"] = CONE,
    start: Annotated[Start, tyro.conf.arg(name="")] = Start(),  # noqa: B008
    steps: int = 800,
    timestep: Annotated[float | None, tyro.conf.arg(metavar="S", help_behavior_hint="(of the law, or 0.002)")] = None,
    out: OptionalFile = None,
    plot: OptionalFile = None,
) -> None:
    """Throw a body onto the ground with any law, and say what became of it.

    Args:
        law: coulomb, the name of a law or material that ships, or the path of a model file.
        thrown: What is thrown.
        friction: Of coulomb: the coefficient.
        cone: Of coulomb: the friction limit. "box" bounds p_x and p_y each, as DART's default; "round" bounds their
            resultant.
        start: How it is thrown.
        steps: Number of time steps.
        timestep: Length of a time step [s]; a learned law holds for its own only.
        out: Write the trajectory to this .npz file: position, quaternion, velocity, angular_velocity, impulse, mode,
            kind, time, timestep; `stiction.Trajectory.load` reads it.
        plot: Draw height, speed and contact modes over time to this file, such as throw.png.
    """
    if out is not None and out.suffix != ".npz":
        raise stiction.InputError(f"--out must name an .npz file, got {out}.")
    if plot is not None:
        require("`stiction simulate --plot`", "matplotlib")
    load("stiction.simulation.rollout")
    load("stiction.basics.files").check_writable(out, plot)
    chosen = _law(law, thrown, friction, cone, timestep)
    run = stiction.rollout(chosen, _state(chosen.body, start), steps, timestep=timestep)
    _print_run(chosen, run)
    if out is not None:
        run.save(out)
        print(f"Wrote {out}")
    if plot is not None:
        run.plot(plot)
        print(f"Wrote {plot}")


def _law(name: str, thrown: ThrownBody, friction: float, cone: str, timestep: float | None) -> "Law":
    """The law that is meant: Coulomb's law and materials on the body that is thrown, any other with its own."""
    step = {} if timestep is None else {"timestep": timestep}
    if name == COULOMB:
        return stiction.CoulombLaw(_body(thrown), friction, cone=cone, **step)
    found = stiction.load(name)
    if (friction, cone) != (FRICTION, CONE):
        raise stiction.InputError(f"--friction and --cone are for the law coulomb; {name} has its own friction.")
    if isinstance(found, stiction.Material):
        return found.on(_body(thrown), **step)
    if thrown != ThrownBody():
        raise stiction.InputError(
            f"{name} is a law of its own body, a {found.body.shape} of {found.body.mass:g} kg: give no other one with "
            "it. Any body goes with coulomb and with materials."
        )
    return found


def _body(thrown: ThrownBody) -> "Body":
    own = {"com": thrown.com, "inertia": thrown.inertia, "mjcf": thrown.mjcf}
    return load("stiction.data.presets").parse_body(thrown.body, thrown.mass, thrown.scale, **own)


def _state(body: "Body", start: Start) -> "State":
    height = max(0.6, body.diameter) if start.height is None else start.height
    turn = start.turn or ((0.0, 20.0, 0.0) if body.planar else (30.0, 20.0, 0.0))
    place = (0.0, 0.0, height)
    return stiction.State.from_euler(place, turn, velocity=start.velocity, angular_velocity=start.spin)


def _print_run(law: "Law", run: "Trajectory") -> None:
    """A short summary of one throw."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    def vector(values) -> str:
        return "  ".join(f"{value: .4f}" for value in values)

    touching = np.flatnonzero(run.kind)
    final = run.state()
    summary = Table.grid(padding=(0, 3))
    summary.add_row("law", repr(law))
    summary.add_row("simulated", f"{run.steps} steps of {run.timestep:g} s")
    summary.add_row("first contact", f"{touching[0] * run.timestep:.3f} s" if len(touching) else "none")
    counts = [(mode.name.lower(), int(np.sum(run.mode == mode))) for mode in stiction.Mode if mode]
    summary.add_row("contact steps", ", ".join(f"{count} {name}" for name, count in counts))
    summary.add_row("final position", f"{vector(final.position)}  m")
    summary.add_row("final quaternion", f"{vector(final.quaternion)}  (w, x, y, z)")
    summary.add_row("final speed", f"{np.linalg.norm(final.velocity):.2e} m/s")
    summary.add_row("final spin", f"{np.linalg.norm(final.angular_velocity):.2e} rad/s")
    Console(highlight=False).print(summary)


# `stiction view`.


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
        material: Of a MuJoCo model: coefficient, name or path of the material that all of it is made of.
        host: Address to listen on; 0.0.0.0 lets other machines in.
        port: Port to listen on; the next free one if it is taken.
        open: Open the browser.
        seed: Seed of the random throws.
    """
    require("`stiction view`", "viser")
    viewer = load("stiction.viewer.view")
    if viewer.is_robot(law):
        require(f"`stiction view {law}`", "mujoco")
    viewer.serve(law, host=host, port=port, seed=seed, open_browser=open, data=data, material=material)
