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
from stiction.laws.learned import AugmentedLaw
from stiction.laws.modelfile import load
from stiction.mujoco import simulation as engine
from stiction.viewer.quadruped import FEET, STANCE, Gait, model_text, strength_at, targets
from stiction_studies import figures
from stiction_studies.page.motions_shown import Frames, Scene, scene_of
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study, number, percent

LEARNED, MUJOCO = "stiction, learned feet", "MuJoCo's own contact"
COLOURS = figures.run_colours((LEARNED, MUJOCO))
_FRAME = 0.02  # [s] between two frames of the replay
_TEXT = [
    "A quadruped of our own, with hips, knees and ankles as position servos and flat boxes as feet, stands, trots by a "
    "fixed gait and stands again. The law of the feet was learned from throws of one foot alone; here up to four feet "
    "touch the ground at once and are coupled through the robot, which the paper leaves open.",
    "MuJoCo's contacts are soft, so that a robot that stands creeps. Here a static foot does not move at all, whatever "
    "the law's networks predict.",
]


@dataclass(frozen=True)
class Walk:
    """How long the robot stands, walks, and stands again [s]."""

    stand: float
    walk: float

    @property
    def duration(self) -> float:
        """Of everything [s]."""
        return 2 * self.stand + self.walk

    @property
    def settling(self) -> float:
        """Time of standing before creep is measured [s], in which initial penetration is recovered."""
        return 0.5 * self.stand

    def standing(self, steps: int) -> list[slice]:
        """Return the steps in which the robot stands and has settled, before and after the walk."""
        h = self.duration / steps
        first, last = round(self.settling / h), round((self.stand + self.walk + self.settling) / h)
        return [slice(first, round(self.stand / h)), slice(last, steps)]

    @property
    def shown(self) -> range:
        """The steps of 2 ms that the replay shows: from 0.5 s before the walk starts to 5.5 s after."""
        h = 0.002
        return range(round((self.stand - 0.5) / h), round((self.stand + 5.5) / h) + 1, round(_FRAME / h))


@dataclass(frozen=True)
class Run:
    """A run of the robot.

    trunk: position (steps, 3) and cosine of the tilt, as the last column
    feet: positions of the feet's origins, (steps, 4, 3)
    impulse, mode, kind: of each foot, (steps, 4, ...); zeros for MuJoCo's own contact
    info: counts and times
    frames: of the whole robot, as it starts to walk; shown_mode: of its feet then, (frames, 4)
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
    study = Study(out, "robot", scale, seed)  # nothing is random
    plan = Walk(2.0, 3.0) if scale == "quick" else Walk(10.0, 40.0)
    found = {LEARNED: walk_with_law(plan), MUJOCO: walk_in_mujoco(plan)}
    content = {
        "stand_s": plan.stand,
        "walk_s": plan.walk,
        "runs": {name: _figures(one, plan) for name, one in found.items()},
        "solver": found[LEARNED].info,
    }
    tables = [_motion_table(content, plan), _solver_table(content)]
    plots, title = [_creep_plot(found, plan), _trunk_plot(found)], "A quadruped with learned feet"
    section = Section(study.name, title, _TEXT, study.command, tables, plots, [_scene(found)])
    study.finish(section, content, _rows(found))


def walk_with_law(plan: Walk) -> Run:
    """Return a run of the robot with learned feet."""
    law = cast(AugmentedLaw, load("foot"))
    sim = engine.Simulation(engine.mujoco.MjModel.from_xml_string(model_text()), laws={foot: law for foot in FEET})
    steps = round(plan.duration / sim.model.opt.timestep)
    evaluations, unsolved = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.int64)
    impulse, mode, kind = np.zeros((steps, 4, 6)), np.zeros((steps, 4), np.int8), np.zeros((steps, 4), np.int8)
    frames, shown = Frames(), plan.shown

    def after_step(t: int) -> None:
        if t in shown:
            frames.take(sim.data)
        unsolved[t] = sum(contact.unsolved for contact in sim.contacts.values())
        for k, foot in enumerate(FEET):
            contact = sim.contacts[foot]
            evaluations[t] = max(evaluations[t], contact.evaluations)
            impulse[t, k], mode[t, k], kind[t, k] = contact.impulse, contact.mode, contact.kind

    trunk, feet_at, seconds = drive(sim.model, sim.data, sim.step, plan, after_step=after_step)
    feet = list(sim.contacts.values())
    touching = (kind > 0).sum(axis=1)
    info = {
        "contact_steps": int((touching > 0).sum()),
        "several_feet": int((touching > 1).sum()),
        "foot_contacts": sum(foot.steps for foot in feet),
        "evaluations_mean": float(evaluations[evaluations > 0].mean()),
        "evaluations_max": int(evaluations.max()),
        "unsolved": int((np.diff(unsolved, prepend=0) > 0).sum()),
        "outside": sum(foot.outside for foot in feet),
        "microseconds_per_step": 1e6 * seconds / steps,
    }
    return Run(trunk, feet_at, impulse, mode, kind, info, frames, mode[shown.start : shown.stop : shown.step])


def walk_in_mujoco(plan: Walk) -> Run:
    """Return a run of the robot with MuJoCo's own contact."""
    mujoco = engine.mujoco
    model = mujoco.MjModel.from_xml_string(model_text())
    data = mujoco.MjData(model)
    frames, shown = Frames(), plan.shown
    take = lambda t: frames.take(data) if t in shown else None  # noqa: E731
    trunk, feet, seconds = drive(model, data, lambda: mujoco.mj_step(model, data), plan, after_step=take)
    steps = len(trunk)
    nothing, info = np.zeros((steps, 4), np.int8), {"microseconds_per_step": 1e6 * seconds / steps}
    return Run(trunk, feet, np.zeros((steps, 4, 6)), nothing, nothing, info, frames, nothing[:0])


def drive(
    model: Any,
    data: Any,
    step: Callable[[], None],
    plan: Walk,
    *,
    after_step: Callable[[int], None] = lambda t: None,
    lift: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Stand, walk and stand; return trunk (steps, 4) and feet (steps, 4, 3) of every step, and the time of all [s].

    after_step: called after each step with its number
    lift: height above the ground at the start [m]
    """
    gait, steps = Gait(), round(plan.duration / model.opt.timestep)
    data.qpos[7:] = targets(0.0, gait, 0.0)
    data.qpos[2] = STANCE + 0.05 + lift  # without it the soles touch
    trunk, feet = np.zeros((steps, 4)), np.zeros((steps, 4, 3))
    numbers = [model.body(foot).id for foot in FEET]
    body = model.body("trunk").id
    taken = 0.0
    with bar("Walking", steps) as progress:
        for t in range(steps):
            now = t * model.opt.timestep
            data.ctrl[:] = targets(now, gait, strength_at(now, plan.stand, plan.walk))
            start = clock.perf_counter()
            step()
            taken += clock.perf_counter() - start
            after_step(t)
            # Places are those at the start of the step, which MuJoCo leaves behind.
            trunk[t, :3], trunk[t, 3] = data.xpos[body], data.xmat[body, 8]
            feet[t] = data.xpos[numbers]
            if t % 200 == 0:
                progress.reach(t)
    return trunk, feet, taken


def creep(feet: NDArray[np.float64], plan: Walk) -> list[float]:
    """Return the greatest distance that any foot creeps while the robot stands [m], before and after the walk.

    feet: their positions [m], (steps, 4, 3)
    """
    return [float(_moved(feet[part]).max()) for part in plan.standing(len(feet))]


def _moved(feet: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance along the ground of each foot from its first position [m], (steps, 4)."""
    return np.linalg.norm(feet[:, :, :2] - feet[0, :, :2], axis=-1)


def _figures(run: Run, plan: Walk) -> dict[str, Any]:
    return {
        "fallen": bool((run.trunk[:, 2] < 0.25).any()),  # [m]
        "creep_m": creep(run.feet, plan),
        "distance_m": float(np.linalg.norm(run.trunk[-1, :2] - run.trunk[0, :2])),
        "greatest_tilt_degrees": float(np.degrees(np.arccos(np.clip(run.trunk[:, 3], -1, 1))).max()),
        "microseconds_per_step": run.info["microseconds_per_step"],
    }


def _motion_table(content: dict[str, Any], plan: Walk) -> Table:
    rows = []
    for name, run in content["runs"].items():
        cells = [*map(number, run["creep_m"]), number(run["distance_m"]), number(run["greatest_tilt_degrees"])]
        rows.append([name, "yes" if run["fallen"] else "no", *cells, f"{run['microseconds_per_step']:.0f}"])
    columns = ["", "Falls", "Creep before [m]", "Creep after [m]", "Distance [m]", "Greatest tilt [°]", "µs a step"]
    note = (
        f"{plan.stand:g} s standing, {plan.walk:g} s trotting, {plan.stand:g} s standing. Creep: greatest distance "
        f"that a foot moves along the ground while the robot stands, after {plan.settling:g} s. Distance: of the "
        "trunk, in all. After the walk feet stand on edges and corners and pull at each other: the static impulses "
        "are not unique, and the solver takes those that the law classifies as static. The two do not walk equally "
        "far, since their contacts are not the same."
    )
    return Table("Stand, trot, stand", columns, rows, note)


def _solver_table(content: dict[str, Any]) -> Table:
    info = content["solver"]
    unsolved = percent(info["unsolved"] / info["contact_steps"])
    rows = [
        ["steps in contact", f"{info['contact_steps']:,}"],
        ["with several feet at once", f"{info['several_feet']:,}"],
        ["evaluations a step, mean", f"{info['evaluations_mean']:.2f}"],
        ["evaluations a step, most", f"{info['evaluations_max']}"],
        ["steps without a consistent mode", f"{info['unsolved']:,} ({unsolved})"],
        ["contacts outside of the training range", percent(info["outside"] / max(1, info["foot_contacts"]))],
    ]
    return Table("The solver, all feet together", ["", "learned feet"], rows)


def _creep_plot(found: dict[str, Run], plan: Walk) -> Plot:
    plot = figures.figure("Standing still", "time [s]", "farthest foot from where it stood [m]")
    plot.update_yaxes(**figures.log_axis(-12, 0, 2))
    for name, run in found.items():
        part = plan.standing(len(run.feet))[0]
        moved = _moved(run.feet[part]).max(axis=1)[::20]
        h = plan.duration / len(run.feet)
        at = h * (part.start + 20 * np.arange(len(moved)))
        plot.add_scatter(x=at, y=np.maximum(moved, 1e-12), name=name, mode="lines", line={"color": COLOURS[name]})
    return Plot(plot, "Distances below 1e-12 m are drawn there: the foot did not move.")


def _trunk_plot(found: dict[str, Run]) -> Plot:
    plot = figures.figure("The trunk", "distance walked [m]", "height [m]")
    for name, run in found.items():
        kept = run.trunk[::25]
        plot.add_scatter(x=kept[:, 0], y=kept[:, 2], name=name, mode="lines", line={"color": COLOURS[name], "width": 1})
    return Plot(plot, "Height of the trunk against the distance walked, a point every 0.05 s.")


def _scene(found: dict[str, Run]) -> Scene:
    model = engine.mujoco.MjModel.from_xml_string(model_text())
    runs = {name: run.frames for name, run in reversed(found.items())}
    feet = {model.body(foot).id: foot.replace("_", " ") for foot in FEET}
    mode = np.zeros((len(found[LEARNED].frames), model.nbody), np.int8)
    mode[:, list(feet)] = found[LEARNED].shown_mode
    return scene_of(
        "The quadruped starts to trot",
        model,
        runs,
        _FRAME,
        modes={LEARNED: mode},
        caption="Faint: its start. Modes are those of the learned feet.",
        seen_from=(0.5, -1.0),
        names=feet,
    )


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
