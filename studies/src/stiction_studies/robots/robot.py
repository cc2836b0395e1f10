"""A quadruped with learned feet stands, trots and stands again, beside itself with MuJoCo's own contact.

The law of a foot was learned from throws of a foot alone; up to four of them touch the ground at once.
"""

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import bar
from stiction.laws.law import Law
from stiction.laws.learned import AugmentedLaw
from stiction.laws.modelfile import load
from stiction.mujoco import simulation as engine
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, strength_at, targets
from stiction_studies import figures
from stiction_studies.page.motions_shown import Frames, Scene, scene_of
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study, joined, number, percent

STAND = {"quick": 2.0, "usual": 10.0, "full": 10.0}  # [s] before and after
WALK = {"quick": 3.0, "usual": 40.0, "full": 40.0}  # [s] between
LEARNED, MUJOCO = "stiction, learned feet", "MuJoCo's own contact"
COLOURS = figures.run_colours((LEARNED, MUJOCO))
_FALLEN = 0.25  # [m] a trunk below this has fallen
_BEFORE, _SHOWN, _FRAME = 0.5, 5.5, 0.02  # [s] of the replay before and after it begins to walk; between two frames
_TEXT = [
    "A quadruped of our own, with hips, knees and ankles as position servos and flat boxes as feet, stands, trots by a "
    "fixed gait and stands again. The law of the feet was learned from throws of one foot alone; here up to four feet "
    "touch the ground at once and feel each other through the robot, which the paper leaves open.",
    "MuJoCo softens contact, so that what stands creeps. Here a foot that is static does not move at all, whatever the "
    "law's networks say.",
]


@dataclass(frozen=True)
class Run:
    """A run of the robot.

    trunk: position (steps, 3) and cosine of the tilt, as the last column
    feet: positions of the feet's origins, (steps, 4, 3)
    impulse, mode, kind: of each foot, (steps, 4, ...); zeros for MuJoCo's own contact
    info: counts and times
    frames: of the whole robot, as it begins to walk; shown_mode: of its feet then, (frames, 4)
    """

    trunk: NDArray[np.float64]
    feet: NDArray[np.float64]
    impulse: NDArray[np.float64]
    mode: NDArray[np.int8]
    kind: NDArray[np.int8]
    info: dict[str, Any]
    frames: Frames
    shown_mode: NDArray[np.int8]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Walk with both, print the tables, write results and publish the section."""
    study = Study(out, "robot", scale, seed)  # nothing is drawn
    stand, walk = STAND[scale], WALK[scale]
    found = {LEARNED: walk_with_law(stand, walk), MUJOCO: walk_in_mujoco(stand, walk)}
    content = {
        "stand_s": stand,
        "walk_s": walk,
        "runs": {name: _figures(one, stand, walk) for name, one in found.items()},
        "solver": found[LEARNED].info,
    }
    section = Section(
        study.name,
        "A quadruped with learned feet",
        _TEXT,
        study.command,
        [_motion_table(content), _solver_table(content)],
        [_creep_plot(found, stand, walk), _trunk_plot(found)],
        [_scene(found)],
    )
    study.finish(section, content, joined(_rows(found)), "mujoco-core")


def walk_with_law(stand: float, walk: float, law: Law | None = None) -> Run:
    """The robot with learned feet."""
    law = cast(AugmentedLaw, load("foot")) if law is None else law
    sim = engine.Simulation(engine.mujoco.MjModel.from_xml_string(model_text()), laws={foot: law for foot in FEET})
    steps = round((2 * stand + walk) / sim.model.opt.timestep)
    asked, unsolved = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    impulse, mode, kind = np.zeros((steps, 4, 6)), np.zeros((steps, 4), np.int8), np.zeros((steps, 4), np.int8)

    frames, shown = Frames(), _shown(stand)

    def note(t: int) -> None:
        if t in shown:
            frames.take(sim.data)
        unsolved[t] = sum(contact.unsolved for contact in sim.contacts.values())
        for k, foot in enumerate(FEET):
            contact = sim.contacts[foot]
            asked[t] = max(asked[t], contact.evaluations)
            impulse[t, k], mode[t, k], kind[t, k] = contact.impulse, contact.mode, contact.kind

    motion, duration = drive(sim.model, sim.data, sim.step, note, stand, walk, steps)
    feet = list(sim.contacts.values())
    touching = (kind > 0).sum(axis=1)
    info = {
        "contact_steps": int((touching > 0).sum()),
        "several_feet": int((touching > 1).sum()),
        "foot_contacts": sum(foot.steps for foot in feet),
        "evaluations_mean": float(asked[asked > 0].mean()),
        "evaluations_max": int(asked.max()),
        "unsolved": int((np.diff(unsolved, prepend=0) > 0).sum()),
        "outside": sum(foot.outside for foot in feet),
        "microseconds_per_step": 1e6 * duration / steps,
    }
    return Run(*motion, impulse, mode, kind, info, frames, mode[shown.start : shown.stop : shown.step])


def walk_in_mujoco(stand: float, walk: float) -> Run:
    """The robot with MuJoCo's own contact."""
    mujoco = engine.mujoco
    model = mujoco.MjModel.from_xml_string(model_text())
    data = mujoco.MjData(model)
    steps = round((2 * stand + walk) / model.opt.timestep)
    frames, shown = Frames(), _shown(stand)

    def note(t: int) -> None:
        if t in shown:
            frames.take(data)

    motion, duration = drive(model, data, lambda: mujoco.mj_step(model, data), note, stand, walk, steps)
    nothing, info = np.zeros((steps, 4), np.int8), {"microseconds_per_step": 1e6 * duration / steps}
    return Run(*motion, np.zeros((steps, 4, 6)), nothing, nothing, info, frames, nothing[:0])


def _shown(stand: float) -> range:
    """The steps that the replay shows."""
    h = 0.002
    return range(round((stand - _BEFORE) / h), round((stand + _SHOWN) / h) + 1, round(_FRAME / h))


def drive(
    model: Any,
    data: Any,
    step: Callable[[], None],
    note: Callable[[int], None],
    stand: float,
    walk: float,
    steps: int,
    *,
    lift: float = 0.0,
) -> tuple[tuple[NDArray, NDArray], float]:
    """Stand, walk and stand; trunk and feet at every step, and the seconds that the steps took.

    lift: how far above the ground it begins [m]
    """
    gait = Gait()
    data.qpos[7:] = targets(0.0, gait, 0.0)
    data.qpos[2] = STANCE + 0.05 + lift  # without it the soles touch
    trunk, feet = np.zeros((steps, 4)), np.zeros((steps, 4, 3))
    numbers = [model.body(foot).id for foot in FEET]
    body = model.body("trunk").id
    taken = 0.0
    with bar("Walking", steps) as progress:
        for t in range(steps):
            now = t * model.opt.timestep
            data.ctrl[:] = targets(now, gait, strength_at(now, stand, walk))
            began = clock.perf_counter()
            step()
            taken += clock.perf_counter() - began
            note(t)
            # Places are those at the step's begin, which MuJoCo leaves behind.
            trunk[t, :3], trunk[t, 3] = data.xpos[body], data.xmat[body, 8]
            feet[t] = data.xpos[numbers]
            if t % 200 == 0:
                progress.reach(t)
    return (trunk, feet), taken


def _standing(stand: float, walk: float, steps: int) -> list[slice]:
    """The steps in which the robot stands and has settled."""
    h = (2 * stand + walk) / steps
    first, last = round(settling(stand) / h), round((stand + walk + settling(stand)) / h)
    return [slice(first, round(stand / h)), slice(last, steps)]


def settling(stand: float) -> float:
    """Seconds of standing before creep is measured: what has sunk in is raised until then."""
    return 0.5 * stand


def creep(feet: NDArray[np.float64], stand: float, walk: float) -> list[float]:
    """Greatest distance that any foot moves along the ground while the robot stands [m], before and after the walk.

    feet: their positions [m], (steps, 4, 3)
    """
    moved = [feet[part, :, :2] - feet[part.start, :, :2] for part in _standing(stand, walk, len(feet))]
    return [float(np.linalg.norm(part, axis=-1).max()) for part in moved]


def _figures(run: Run, stand: float, walk: float) -> dict[str, Any]:
    return {
        "fallen": bool((run.trunk[:, 2] < _FALLEN).any()),
        "creep_m": creep(run.feet, stand, walk),
        "distance_m": float(np.linalg.norm(run.trunk[-1, :2] - run.trunk[0, :2])),
        "greatest_tilt_degrees": float(np.degrees(np.arccos(np.clip(run.trunk[:, 3], -1, 1))).max()),
        "microseconds_per_step": run.info["microseconds_per_step"],
    }


def _motion_table(content: dict[str, Any]) -> Table:
    rows = []
    for name, run in content["runs"].items():
        cells = [*map(number, run["creep_m"]), number(run["distance_m"]), number(run["greatest_tilt_degrees"])]
        rows.append([name, "yes" if run["fallen"] else "no", *cells, f"{run['microseconds_per_step']:.0f}"])
    columns = ["", "Falls", "Creep before [m]", "Creep after [m]", "Distance [m]", "Greatest tilt [°]", "µs a step"]
    note = (
        f"{content['stand_s']:g} s standing, {content['walk_s']:g} s trotting, {content['stand_s']:g} s standing. "
        "Creep: greatest distance that a foot moves along the ground while the robot stands, after "
        f"{settling(content['stand_s']):g} s. "
        "Distance: of the trunk, in all. After the walk feet stand on edges and corners and pull at each other: of "
        "all impulses that hold them, those are taken to which the law agrees. The two do not walk equally far, since "
        "their contacts are not the same."
    )
    return Table("Stand, trot, stand", columns, rows, note)


def _solver_table(content: dict[str, Any]) -> Table:
    info = content["solver"]
    rows = [
        ["steps in contact", f"{info['contact_steps']:,}"],
        ["with several feet at once", f"{info['several_feet']:,}"],
        ["evaluations a step, mean", f"{info['evaluations_mean']:.2f}"],
        ["evaluations a step, most", f"{info['evaluations_max']}"],
        [
            "steps without a consistent mode",
            f"{info['unsolved']:,} ({percent(info['unsolved'] / info['contact_steps'])})",
        ],
        ["contacts outside of the training range", percent(info["outside"] / max(1, info["foot_contacts"]))],
    ]
    return Table("The solver, all feet together", ["", "learned feet"], rows)


def _creep_plot(found: dict[str, Run], stand: float, walk: float) -> Plot:
    plot = figures.figure("Standing still", "time [s]", "farthest foot from where it stood [m]")
    plot.update_yaxes(**figures.log_axis(-12, 0, 2))
    for name, run in found.items():
        part = _standing(stand, walk, len(run.feet))[0]
        moved = np.linalg.norm(run.feet[part, :, :2] - run.feet[part.start, :, :2], axis=-1).max(axis=1)[::20]
        h = (2 * stand + walk) / len(run.feet)
        at = h * (part.start + 20 * np.arange(len(moved)))
        plot.add_scatter(x=at, y=np.maximum(moved, 1e-12), name=name, mode="lines", line={"color": COLOURS[name]})
    return Plot(plot, "What lies below 1e-12 m is drawn there: it did not move.")


def _trunk_plot(found: dict[str, Run]) -> Plot:
    plot = figures.figure("The trunk", "distance walked [m]", "height [m]")
    for name, run in found.items():
        kept = run.trunk[::25]
        plot.add_scatter(x=kept[:, 0], y=kept[:, 2], name=name, mode="lines", line={"color": COLOURS[name], "width": 1})
    return Plot(plot, "Height of the trunk over the way it has come, a point every 0.05 s.")


def _scene(found: dict[str, Run]) -> Scene:
    model = engine.mujoco.MjModel.from_xml_string(model_text())
    runs = {name: run.frames for name, run in reversed(found.items())}
    feet = {model.body(foot).id: foot.replace("_", " ") for foot in FEET}
    mode = np.zeros((len(found[LEARNED].frames), model.nbody), np.int8)
    mode[:, list(feet)] = found[LEARNED].shown_mode
    caption = "Faint: how it began. Modes are those of the learned feet."
    view = {"caption": caption, "seen_from": (0.5, -1.0), "names": feet}
    return scene_of("The quadruped begins to trot", model, runs, _FRAME, modes={LEARNED: mode}, **view)


def _rows(found: dict[str, Run]) -> list[dict[str, Any]]:
    parts = []
    for name, run in found.items():
        kept = slice(None, None, 5)
        part: dict[str, Any] = {"run": name, "step": np.arange(len(run.trunk))[kept]}
        part |= {f"trunk_{axis}": run.trunk[kept, k] for k, axis in enumerate("xyz")}
        for k, foot in enumerate(FEET):
            part |= {f"{foot}_{axis}": run.feet[kept, k, m] for m, axis in enumerate("xyz")}
            part |= {f"{foot}_mode": run.mode[kept, k], f"{foot}_p_z": run.impulse[kept, k, 2]}
        parts.append(part)
    return parts
