"""Grasps, a stack and slopes held for a minute, and bodies that slide and roll with a known motion.

Our solver is compared with MuJoCo with and without its remedies against slip, Bullet and DART, all with the same
bodies, forces, friction and time step.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray

from stiction.basics.progress import bar
from stiction.laws.material import Material
from stiction.mujoco import simulation as engine
from stiction.viewer.pieces import Piece, pieces_of
from stiction_studies import figures
from stiction_studies.engines.mujoco_engine import MujocoEngine, scene_mjcf, start_scene
from stiction_studies.engines.scene_parts import Scene
from stiction_studies.engines.worlds import BULLET, DART, MUJOCO, Engine, film, installed
from stiction_studies.page.motions_shown import Motion
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.page.section import Scene as Shown
from stiction_studies.robots import grasp_scenes
from stiction_studies.robots.grasp_scenes import Hold, creep, grasp, holds, moves
from stiction_studies.study import Study, number, percent

SETTLING = 1.0  # [s] before creep is measured
EVERY = 10  # steps between two frames
OURS = "stiction"
_TEXT = [
    "Two fingers pinch a capsule or a cube, with up to 95 times the least force that holds it: it must stay where it "
    "is. So must a stack of ten boxes, a box on a slope that is hardly less steep than the friction angle, and a box "
    "on a box on a slope. Simulators that regularise friction, or solve it only approximately, let a held body creep, "
    "and in the end drop it.",
    "Here MuJoCo finds the contact points, and one exact solver finds the impulses at all of them at once, with "
    "Coulomb friction as a material. Bodies, forces, friction and time step are the same for all. MuJoCo runs with its "
    "defaults and with the options that its documentation recommends against slip, Bullet without damping, DART with "
    "Dantzig's solver. DART's detector FCL does not support capsules and lets cylinders sink in: for these it uses "
    "those of Bullet and ODE.",
]


@dataclass(frozen=True)
class Run:
    """A scene that was run.

    poses: of all parts, (frames, parts, 7)
    cost: of a step, with everything that Python does between the steps [us]
    unsolved: steps in which our solver found no solution
    """

    poses: NDArray[np.float64]
    cost: float
    unsolved: int = 0


Held = dict[tuple[str, str], Run]  # contestant and scene -> run, from when it has settled
Runner = Callable[[Scene, float], Run]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Hold, slide and roll in all simulators, print the tables, write results and publish the section."""
    study = Study(out, "grasp", scale, seed)  # nothing is random
    duration = {"quick": 3.0, "usual": 60.0, "full": 600.0}[scale]  # [s] that everything is held
    held, moved = _run_all(duration)
    content = _content(held, moved, duration)
    tables = [*_creep_tables(content), _motion_table(content), _exactness_table(content)]
    title = "Held bodies stay in place"
    section = Section(study.name, title, _TEXT, study.command, tables, [_creep_plot(held)], _replays(held))
    study.finish(section, content, _rows(held))


def contestants() -> dict[str, Runner]:
    """Return how each simulator runs a scene, by name; one that is not installed is left out."""
    engines = installed()
    remedies = {  # against slip, as MuJoCo's documentation has them
        "MuJoCo, elliptic, impratio 100": MujocoEngine('cone="elliptic" impratio="100"'),
        "MuJoCo, noslip 10": MujocoEngine('noslip_iterations="10"'),
        "MuJoCo, all of these": MujocoEngine('cone="elliptic" impratio="100" noslip_iterations="10"'),
    }
    others = {MUJOCO: engines[MUJOCO], **remedies, **engines}
    return {OURS: run_with_material, **{name: _timed(one) for name, one in others.items()}}


def run_with_material(scene: Scene, seconds: float) -> Run:
    """Run a scene with our solver: Coulomb friction as a material of all free parts."""
    model = engine.mujoco.MjModel.from_xml_string(scene_mjcf(scene))
    material = Material.coulomb(scene.friction)
    sim = engine.Simulation(model, laws={f"body:{part.name}": material for part in scene.free})
    start_scene(scene, sim.data)
    steps = round(seconds / scene.timestep)
    start = time.perf_counter()
    qpos = film(sim.step, sim.data.qpos.copy, steps, EVERY)
    cost = 1e6 * (time.perf_counter() - start) / steps
    return Run(scene.poses(qpos), cost, sim.unsolved)


def _timed(simulator: Engine) -> Runner:
    def timed(scene: Scene, seconds: float) -> Run:
        steps = round(seconds / scene.timestep)
        start = time.perf_counter()
        poses = simulator.run_scene(scene, steps, EVERY)
        return Run(poses, 1e6 * (time.perf_counter() - start) / steps)

    return timed


def _run_all(duration: float) -> tuple[Held, dict[tuple[str, str], float]]:
    """Return all holds without their first SETTLING seconds, and the errors of all moves."""
    field = contestants()
    held: Held = {}
    moved: dict[tuple[str, str], float] = {}
    with bar("Holding", len(field) * (len(holds()) + len(moves()))) as progress:
        for name, runner in field.items():
            for hold in holds():
                whole = runner(hold.scene, SETTLING + duration)
                first = round(SETTLING / (EVERY * hold.scene.timestep))
                held[name, hold.name] = replace(whole, poses=whole.poses[first:])
                progress.advance()
            for move in moves():
                way = move.way(runner(move.scene, move.seconds).poses)
                moved[name, move.name] = move.error(way, EVERY * move.scene.timestep)
                progress.advance()
    return held, moved


def _content(held: Held, moved: dict[tuple[str, str], float], duration: float) -> dict[str, Any]:
    """Return the figures by contestant and scene, for results.json."""
    names = list(dict.fromkeys(name for name, _ in held))
    runs = {name: {hold.name: _figures(hold, held[name, hold.name]) for hold in holds()} for name in names}
    return {
        "held_s": duration,
        "settling_s": SETTLING,
        "timestep_s": holds()[0].scene.timestep,
        "held": runs,
        "motion_error": {name: {move.name: moved[name, move.name] for move in moves()} for name in names},
    }


def _figures(hold: Hold, run: Run) -> dict[str, Any]:
    way = creep(hold, run.poses)
    lost = np.flatnonzero(way > hold.lost)
    return {
        "creep_m": float(way.max()),
        "motion_m": float(grasp_scenes.motion(hold, run.poses).max()),
        "turn_rad": grasp_scenes.turn(hold, run.poses),
        "dropped_s": float(lost[0] * EVERY * hold.scene.timestep) if len(lost) else None,
        "unsolved_steps": run.unsolved,
        "microseconds_per_step": run.cost,
    }


def _rows(held: Held) -> list[dict[str, Any]]:
    """Return the creep of all runs, ten times a second."""
    parts = []
    for hold in holds():
        frame = EVERY * hold.scene.timestep
        thin = round(0.1 / frame)
        for (name, scene), run in held.items():
            if scene == hold.name:
                way = creep(hold, run.poses)[::thin]
                at = thin * frame * np.arange(len(way))
                parts.append({"run": name, "scene": scene, "time": at, "creep": way})
    return parts


# Tables.


def _creep_tables(content: dict[str, Any]) -> list[Table]:
    """Return how far grasped bodies creep, and how far bodies at rest."""
    grasps, rest = _names(grasped=True), _names(grasped=False)
    time = f"in {content['held_s']:g} s"
    settled = f"from where it was after {content['settling_s']:g} s, in which soft contacts may settle"
    note = (
        f"Creep: greatest slip of the held body's centre along the fingers, {settled}. The fingers press with 2, 20 "
        f"and 95 times the least force that holds, with friction {grasp_scenes.GRIP:g}. Dropped: it has left the "
        "fingers, after the stated time."
    )
    rest_note = (
        f"Creep: greatest slip of any body's centre over its support, {settled}. The slope has {grasp_scenes.SLOPE:g}° "
        f"(tangent 0.57735); stack and two boxes have friction {grasp_scenes.ROUGH:g}. Fell: a box of the stack has "
        "moved by half its edge, the upper box has left the lower one, or the box on the slope has slid by 1 m."
    )
    return [
        Table(f"Creep of grasped bodies, {time} [m]", ["", *grasps], _creep_rows(content, grasps, "dropped"), note),
        Table(f"Creep of bodies at rest, {time} [m]", ["", *rest], _creep_rows(content, rest, "fell"), rest_note),
    ]


def _motion_table(content: dict[str, Any]) -> Table:
    """Return the errors of accelerations and of a speed."""
    names = [move.name for move in moves()]
    rows = [[name, *(percent(found[move]) for move in names)] for name, found in content["motion_error"].items()]
    note = (
        f"Slides: acceleration of a box on a slope of {grasp_scenes.SLOPE:g}° against g (sin a - mu cos a), with "
        "friction just below the slope's tangent, and well below. Sphere: speed after it has rolled for 5 s at 1 m/s. "
        "Cylinder: acceleration from rest on a slope of 10° against 2/3 g sin a."
    )
    return Table("Bodies that slide or roll: error of the motion", ["", *names], rows, note)


def _exactness_table(content: dict[str, Any]) -> Table:
    """Return how far held bodies move with ours in all directions, its unsolved steps, and the cost of a step."""
    steps = round((content["held_s"] + content["settling_s"]) / content["timestep_s"])
    rows = []
    for name in _names(grasped=True) + _names(grasped=False):
        ours, mujoco = content["held"][OURS][name], content["held"][MUJOCO][name]
        still = [number(ours["motion_m"]), number(ours["turn_rad"])]
        costs = [f"{run['microseconds_per_step']:.1f}" for run in (ours, mujoco)]
        rows.append([name, *still, f"{ours['unsolved_steps']:,} of {steps:,}", *costs])
    columns = ["", "Motion [m]", "Turn [rad]", "Unsolved steps", "µs a step", "MuJoCo, µs a step"]
    note = (
        "Motion: of the centre in any direction, the normal included. Unsolved: steps without a solution, taken under "
        "the guards. Costs: mean of the whole run, called from Python, one step a call; a dropped body costs MuJoCo "
        "little."
    )
    return Table("Residual motion with stiction, and its cost", columns, rows, note)


def _names(grasped: bool) -> list[str]:
    return [hold.name for hold in holds() if (len(hold.holders.get(0, ())) == 2) == grasped]


def _creep_rows(content: dict[str, Any], names: list[str], lost: str) -> list[list[str]]:
    return [[who, *(_cell(found[name], lost) for name in names)] for who, found in content["held"].items()]


def _cell(found: dict[str, Any], lost: str) -> str:
    gone = found["dropped_s"]
    return number(found["creep_m"]) if gone is None else f"{lost}, {gone:.1f} s"


# Plot and replays.


def _creep_plot(held: Held) -> Plot:
    """Return the creep of the cube over time, for all contestants."""
    smallest = 1e-14  # [m] creep below it is drawn at it
    hold = grasp("cube", 20)
    plot = figures.figure("A cube, pinched with 20 times the needed force", "time [s]", "creep [m]")
    runs = {name: run for (name, scene), run in held.items() if scene == hold.name}
    shades = figures.run_colours(runs)
    for name, run in runs.items():
        thin = max(1, len(run.poses) // 400)
        way = np.maximum(creep(hold, run.poses)[::thin], smallest)
        time = thin * EVERY * hold.scene.timestep * np.arange(len(way))
        plot.add_scatter(x=time, y=way, name=name, mode="lines", line={"color": shades[name], "width": 2})
    plot.update_yaxes(**figures.log_axis(-14, 0, 2))
    return Plot(plot, f"Logarithmic; {smallest:g} m stands for everything below it, zero too.")


def _replays(held: Held) -> list[Shown]:
    """Return replays of the gripper, of boxes on a slope and of the stack."""
    front, downhill = (0.35, -1.0), (1.0, -0.4)
    return [
        _replay(held, grasp("cube", 20), "A cube between two fingers", front),
        _replay(held, grasp_scenes.two_on_a_slope(), "A box on a box on a slope", downhill),
        _replay(held, grasp_scenes.stack(), "Ten boxes", front),
    ]


def _replay(held: Held, hold: Hold, title: str, seen_from: tuple[float, float]) -> Shown:
    shown, interval, n_frames = (MUJOCO, OURS, BULLET, DART), 0.02, 300  # [s] of each frame
    poses = {name: _until_lost(hold, held[name, hold.name].poses) for name in shown if (name, hold.name) in held}
    thin = max(1, max(len(run) for run in poses.values()) // n_frames)
    fast = thin * EVERY * hold.scene.timestep / interval
    caption = "A run ends where something is dropped. Faint: its start."
    model = engine.mujoco.MjModel.from_xml_string(scene_mjcf(hold.scene))
    # Part 1 is body 1 of the model, whose body 0 is the world.
    plain = [part.slide is not None for part in hold.scene.parts]
    pieces = [replace(piece, body=piece.body - 1, plain=plain[piece.body - 1]) for piece in pieces_of(model)]
    kept = {name: np.unique(np.append(np.arange(0, len(run), thin), len(run) - 1)) for name, run in poses.items()}
    runs = {name: run[kept[name]] for name, run in poses.items()}
    if hold.scene.slope:  # is drawn as a slab
        slab = (0.6, 0.3, 0.02)  # edges [m]
        box = trimesh.creation.box(extents=slab)
        pose = np.concatenate([0.15 * hold.scene.downhill - slab[2] / 2 * hold.scene.up, hold.scene.tilt])
        pieces.append(Piece(len(plain), box.vertices, box.faces, plain=True))
        runs = {name: np.insert(run, len(plain), pose, axis=1) for name, run in runs.items()}
    motions = {name: Motion(run[..., :3], run[..., 3:], interval) for name, run in runs.items()}
    return Shown(title, pieces, motions, caption, seen_from, ground=not hold.scene.slope, speed=fast)


def _until_lost(hold: Hold, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the run until something is lost."""
    gone = np.flatnonzero(creep(hold, poses) > hold.lost)
    return poses[: gone[0] + 1] if len(gone) else poses
