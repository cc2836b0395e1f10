"""What is held stays where it is: grasps, a stack and slopes for a minute, and what slides and rolls as it should.

Our solver stands beside MuJoCo with and without its remedies against slip, Bullet and DART, all with the same bodies,
forces, friction and time step.
"""

from pathlib import Path
from typing import Any

import numpy as np

from stiction.basics.progress import bar
from stiction_studies.page.section import Section
from stiction_studies.robots import grasp_page, grasp_tables
from stiction_studies.robots.held import Hold, creep, holds, motion, turn
from stiction_studies.robots.holders import EVERY, Held, Run, contestants
from stiction_studies.robots.moving import Move, moves
from stiction_studies.study import Study, joined

DURATION = {"quick": 3.0, "usual": 60.0, "full": 600.0}  # [s] that everything is held
SETTLING = 1.0  # [s] before creep is measured


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Hold, slide and roll in all of them, print the tables, write results and publish the section."""
    study = Study(out, "grasp", scale, seed)  # nothing is drawn
    held, moved = _run_all(DURATION[scale])
    content = _content(held, moved, DURATION[scale])
    rest = grasp_tables.motion_table(content), grasp_tables.exactness_table(content)
    tables = [*grasp_tables.creep_tables(content), *rest]
    section = Section(
        study.name,
        "What is held stays held",
        grasp_page.TEXT,
        study.command,
        tables,
        [grasp_page.creep_plot(held)],
        grasp_page.replays(held),
    )
    study.finish(section, content, _rows(held), "mujoco-core", "pybullet", "dartpy")


def _run_all(duration: float) -> tuple[Held, dict[tuple[str, str], float]]:
    """All holds, and the errors of all moves."""
    field = contestants()
    held: Held = {}
    moved: dict[tuple[str, str], float] = {}
    with bar("Holding", len(field) * (len(holds()) + len(moves()))) as progress:
        for name, runner in field.items():
            for hold in holds():
                held[name, hold.name] = _settled(hold, runner(hold.scene, SETTLING + duration))
                progress.advance()
            for move in moves():
                poses = runner(move.scene, move.seconds).poses
                moved[name, move.name] = _error(move, poses)
                progress.advance()
    return held, moved


def _settled(hold: Hold, run: Run) -> Run:
    """The run without its first SETTLING seconds."""
    first = round(SETTLING / (EVERY * hold.scene.timestep))
    return Run(run.poses[first:], run.cost, run.unsolved)


def _error(move: Move, poses) -> float:
    return move.error(move.way(poses), EVERY * move.scene.timestep)


def _content(held: Held, moved: dict[tuple[str, str], float], duration: float) -> dict[str, Any]:
    """Figures by contestant and scene, as they go into results.json."""
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
        "motion_m": float(motion(hold, run.poses).max()),
        "turn_rad": turn(hold, run.poses),
        "dropped_s": float(lost[0] * EVERY * hold.scene.timestep) if len(lost) else None,
        "unsolved_steps": run.unsolved,
        "microseconds_per_step": run.cost,
    }


def _rows(held: Held) -> dict[str, Any]:
    """Creep of all runs, ten times a second."""
    parts = []
    for hold in holds():
        frame = EVERY * hold.scene.timestep
        thin = round(0.1 / frame)
        for (name, scene), run in held.items():
            if scene == hold.name:
                way = creep(hold, run.poses)[::thin]
                at = thin * frame * np.arange(len(way))
                parts.append({"run": name, "scene": scene, "time": at, "creep": way})
    return joined(parts)
