"""Algorithm 2 on the paper's three-link chain: it swings to the ground in DART, and in MuJoCo with our laws.

The learned law was trained on throws of the third link alone, and never on the chain.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import bar
from stiction.laws.coulomb import CoulombLaw
from stiction.laws.learned import AugmentedLaw
from stiction.laws.modelfile import load
from stiction.mujoco import simulation as engine
from stiction_studies import figures
from stiction_studies.page.motions_shown import Scene, poses_of, scene_of
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.robots import chain_model
from stiction_studies.robots.chain_model import MOVED, STEPS, TIMESTEP, Swing, swing_in_dart, swing_with
from stiction_studies.study import Study, number, percent

TRUTH, DANTZIG = "DART", "DART, Dantzig solver"
ANALYTIC, LEARNED, MUJOCO = "stiction, Coulomb", "stiction, learned", "MuJoCo's own contact"
ELSEWHERE = f"stiction, Coulomb, start moved by {MOVED:g} rad"
COLOURS = figures.run_colours((TRUTH, LEARNED, MUJOCO, ANALYTIC))
_TEXT = [
    "Three boxes hang end to end on hinges from a fixed point, start level or at random angles, swing down and drag "
    "the last one over the ground. The law of the last link was learned from throws of that link alone. In the chain "
    "the contact impulse and the force in the joint depend on each other; Algorithm 2 finds both.",
    "Ground truth is DART with its NSGS solver. The link was thrown with a ground truth that limits friction in the "
    "same way, by the true normal impulse. DART's Dantzig solver cannot serve for the throws: it limits a free body's "
    "friction by the frictionless normal impulse, but this chain's by the true one, so that no law of the free link "
    "fits both.",
]
Swinger = Callable[[NDArray[np.float64]], Swing]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Swing all chains, print the tables, write results and publish the section."""
    study = Study(out, "chain", scale, seed)
    n_swings, n_powell = {"quick": (3, 1), "usual": (20, 3), "full": (100, 10)}[scale]
    starts = chain_model.draw_starts(n_swings, seed)
    law = cast(AugmentedLaw, load("link"))
    found = _swing_all(starts, _contestants(law))
    powell = [swing_with(law, start, STEPS, method="powell") for start in starts[:n_powell]]
    content = {
        "swings": len(starts),
        "steps": STEPS,
        "timestep_s": TIMESTEP,
        "friction": chain_model.FRICTION,
        "runs": {name: _errors(found[TRUTH], runs) for name, runs in found.items() if name != TRUTH},
        "solver": {
            "mode by mode, Coulomb": _effort(found[ANALYTIC]),
            "mode by mode, learned": _effort(found[LEARNED]),
            "Powell, learned": _effort(powell),
        },
        "coverage": _coverage(law, found[LEARNED]),
    }
    tables = [_error_table(content), _effort_table(content), _coverage_table(content)]
    plots = [_angles(found), _forces(found), _spread(found)]
    section = Section(study.name, "A chain of three links", _TEXT, study.command, tables, plots, [_scene(found)])
    study.finish(section, content, _rows(found))


def _contestants(law: AugmentedLaw) -> dict[str, Swinger]:
    coulomb = CoulombLaw(chain_model.LINK, chain_model.FRICTION, cone="round", softness=0.0, timestep=TIMESTEP)
    return {
        TRUTH: lambda start: swing_in_dart(start, STEPS),
        ANALYTIC: lambda start: swing_with(coulomb, start, STEPS, tolerance=1e-6),
        ELSEWHERE: lambda start: swing_with(coulomb, start + MOVED, STEPS, tolerance=1e-6),
        LEARNED: lambda start: swing_with(law, start, STEPS),
        MUJOCO: lambda start: chain_model.swing_in_mujoco(start, STEPS),
        DANTZIG: lambda start: swing_in_dart(start, STEPS, "dantzig"),
    }


def _swing_all(starts: NDArray[np.float64], contestants: dict[str, Swinger]) -> dict[str, list[Swing]]:
    found: dict[str, list[Swing]] = {name: [] for name in contestants}
    with bar("Swinging", len(starts) * len(contestants)) as progress:
        for start in starts:
            for name, swing in contestants.items():
                found[name].append(swing(start))
                progress.advance()
    return found


def _errors(truth: list[Swing], runs: list[Swing]) -> dict[str, Any]:
    """Return joint-angle errors of each swing, and relative errors of impulse and joint force."""
    angle = [float(np.abs(a.angle - b.angle).max()) for a, b in zip(truth, runs)]
    first = [_first_impulse(a, b) for a, b in zip(truth, runs)]
    return {
        "angle_error_rad": angle,
        "angle_error_rad_median": float(np.median(angle)),
        "angle_error_rad_max": float(np.max(angle)),
        "above_0.05_rad": int(np.sum(np.array(angle) > 0.05)),
        "impulse_error": _relative(truth, runs, lambda swing: swing.impulse[:, [0, 2]]),
        "joint_force_error": _relative(truth, runs, lambda swing: swing.joint_force),
        "first_impulse_error": float(np.mean(first)),
    }


def _first_impulse(truth: Swing, run: Swing) -> float:
    t = int(np.argmax(np.abs(truth.impulse[:, 2]) > 0))
    return float(np.linalg.norm(run.impulse[t, :3] - truth.impulse[t, :3]) / np.linalg.norm(truth.impulse[t, :3]))


def _relative(truth: list[Swing], runs: list[Swing], of: Callable[[Swing], NDArray]) -> float:
    """Return the mean norm of the error over the mean true norm, over all steps of all swings.

    Impacts fall on one step, which may come a step earlier or later: so sums over three steps are compared.
    """
    wrong = size = 0.0
    for a, b in zip(truth, runs):
        values = np.stack([of(swing) for swing in (a, b)])
        smooth_a, smooth_b = values[:, :-2] + values[:, 1:-1] + values[:, 2:]
        wrong += np.linalg.norm(smooth_a - smooth_b, axis=1).sum()
        size += np.linalg.norm(smooth_a, axis=1).sum()
    return float(wrong / size)


def _effort(runs: list[Swing]) -> dict[str, Any]:
    evaluations = np.concatenate([run.evaluations[run.evaluations > 0] for run in runs])
    return {
        "swings": len(runs),
        "contact_steps": int(sum((run.kind > 0).sum() for run in runs)),
        "evaluations_mean": float(evaluations.mean()),
        "evaluations_percent_99": float(np.percentile(evaluations, 99)),
        "evaluations_max": int(evaluations.max()),
        "unsolved": int(sum(run.unsolved.sum() for run in runs)),
    }


def _coverage(law: AugmentedLaw, runs: list[Swing]) -> dict[str, Any]:
    """Return the twists at which the law was evaluated, and those that it was trained on."""
    twists = np.concatenate([run.law_twists for run in runs])
    speed, spin = np.linalg.norm(twists[:, :3], axis=1), np.linalg.norm(twists[:, 3:], axis=1)
    return {
        "evaluations": len(twists),
        "outside": int(sum(run.outside.sum() for run in runs)),
        "speed_m_per_s": {f"percent_{q}": float(np.percentile(speed, q)) for q in (50, 99, 100)},
        "spin_rad_per_s": {f"percent_{q}": float(np.percentile(spin, q)) for q in (50, 99, 100)},
        "throws": law.info.get("plan", {}).get("ranges", {}),
    }


def _error_table(content: dict[str, Any]) -> Table:
    rows = []
    for name, run in content["runs"].items():
        angles = [number(run[f"angle_error_rad_{which}"]) for which in ("median", "max")]
        shares = [percent(run[f"{which}_error"]) for which in ("first_impulse", "impulse", "joint_force")]
        rows.append([name, *angles, *shares])
    columns = ["", "Angle, median [rad]", "Angle, greatest [rad]", "First impulse", "Contact impulse", "Joint force"]
    note = (
        f"{content['swings']} swings of {content['steps'] * content['timestep_s']:g} s against DART. Angle: greatest "
        "error of any joint at any time, median and greatest over the swings. First impulse: of the first impact, "
        "mean. Contact impulse and joint force: mean size of the error over the mean true size, over all steps; an "
        "impact that comes a step early counts as the same. DART's other solver shows how well the truth itself is "
        "known: where an edge grazes the ground, the two diverge. The exact law from a start that is moved by "
        f"{MOVED:g} rad in every joint shows how the swings themselves amplify so small an error."
    )
    return Table("The chain against DART", columns, rows, note)


def _effort_table(content: dict[str, Any]) -> Table:
    rows = []
    for name, effort in content["solver"].items():
        share = effort["unsolved"] / effort["contact_steps"]
        counts = [f"{effort['contact_steps']:,}", f"{effort['evaluations_mean']:.2f}"]
        rows.append(
            [name, *counts, f"{effort['evaluations_percent_99']:.0f}", f"{effort['evaluations_max']}", percent(share)]
        )
    columns = ["", "Contact steps", "Evaluations, mean", "99 %", "Most", "Unsolved"]
    note = (
        "Evaluations of the law in a contact step (the paper's evaluations of G; steps without normal impulse need "
        "none). Unsolved: no mode is consistent, or Powell's method ends with a residual above 0.5 %."
    )
    return Table("The solver", columns, rows, note)


def _coverage_table(content: dict[str, Any]) -> Table:
    cover = content["coverage"]
    rows = []
    for label, key in (("speed [m/s]", "speed_m_per_s"), ("spin [rad/s]", "spin_rad_per_s")):
        rows.append([label, *(number(cover[key][f"percent_{q}"]) for q in (50, 99, 100))])
    throws = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in cover["throws"].items())
    note = (
        f"The twist V1 at which the law is evaluated: that of the link without contact. The link was thrown with "
        f"{throws} (heights in m, speeds in m/s, spin about each axis in rad/s). {cover['outside']:,} of "
        f"{cover['evaluations']:,} evaluations were outside of the training range of an input."
    )
    return Table("Twists at which the chain evaluates the law", ["", "median", "99 %", "greatest"], rows, note)


def _angles(found: dict[str, list[Swing]]) -> Plot:
    plot = figures.figure("Joint angles, level start", "time [s]", "angle [rad]")
    time = TIMESTEP * np.arange(STEPS + 1)
    for name, runs in found.items():
        if name in (DANTZIG, ELSEWHERE):
            continue
        for joint in range(3):
            dash = {ANALYTIC: "dot", MUJOCO: "dash"}.get(name, "solid")
            style = {"color": COLOURS[name], "width": 4 if name == TRUTH else 1.5, "dash": dash}
            plot.add_scatter(
                x=time[::4], y=runs[0].angle[::4, joint], name=name, legendgroup=name, showlegend=joint == 0,
                mode="lines", line=style, opacity=0.45 if name == TRUTH else 1.0,
            )  # fmt: skip
    return Plot(plot, "The three joints of the chain that starts level: DART wide and grey, the others on top of it.")


def _forces(found: dict[str, list[Swing]]) -> Plot:
    plot = figures.figure("Force in the last joint, level start", "time [s]", "force [N]")
    time = TIMESTEP * np.arange(STEPS)
    for name in (TRUTH, LEARNED):
        force = np.linalg.norm(found[name][0].joint_force, axis=1)
        contact = np.linalg.norm(found[name][0].impulse[:, :3], axis=1) / TIMESTEP
        width = 4 if name == TRUTH else 1.5
        for values, kind, dash in ((force, "joint", "solid"), (contact, "contact", "dot")):
            style = {"color": COLOURS[name], "width": width, "dash": dash}
            plot.add_scatter(x=time, y=values, name=f"{name}, {kind}", mode="lines", line=style,
                             opacity=0.45 if name == TRUTH else 1.0)  # fmt: skip
    greatest = float(np.percentile(np.linalg.norm(found[TRUTH][0].joint_force, axis=1), 99))
    plot.update_yaxes(range=[0, 1.3 * greatest])
    return Plot(
        plot, "Size of the joint's force and of the contact's. Impacts last one step and reach beyond the plot."
    )


def _spread(found: dict[str, list[Swing]]) -> Plot:
    plot = figures.figure("Error of each swing", "time [s]", "greatest joint-angle error [rad]")
    plot.update_yaxes(**figures.log_axis(-12, 1, 2))
    time = TIMESTEP * np.arange(STEPS + 1)
    for name in (ANALYTIC, LEARNED, MUJOCO):
        for k, (truth, run) in enumerate(zip(found[TRUTH], found[name])):
            error = np.abs(run.angle - truth.angle).max(axis=1)
            plot.add_scatter(
                x=time[::10], y=np.maximum(error[::10], 1e-12), name=name, legendgroup=name, showlegend=k == 0,
                mode="lines", line={"color": COLOURS[name], "width": 1}, opacity=0.6,
            )  # fmt: skip
    return Plot(plot, "Each line is a swing; before the first contact all agree to rounding.")


def _scene(found: dict[str, list[Swing]]) -> Scene:
    model = engine.mujoco.MjModel.from_xml_string(chain_model.CHAIN)
    every = round(0.01 / TIMESTEP)
    runs = {name: poses_of(model, found[name][0].angle[::every]) for name in (TRUTH, LEARNED, MUJOCO)}
    mode = np.zeros((len(runs[LEARNED]), model.nbody), np.int8)  # DART and MuJoCo do not name theirs
    mode[1:, model.body(chain_model.LAST).id] = found[LEARNED][0].mode[every - 1 :: every]
    return scene_of(
        "The chain that starts level",
        model,
        runs,
        every * TIMESTEP,
        modes={LEARNED: mode},
        names={model.body(chain_model.LAST).id: "last link"},
        caption="Faint: its start. Modes are those of the last link, by the learned law.",
        seen_from=(0.35, -1.0),
        truth=TRUTH,
    )


def _rows(found: dict[str, list[Swing]]) -> list[dict[str, Any]]:
    parts = []
    for name, runs in found.items():
        for k, run in enumerate(runs):
            force = run.joint_force
            parts.append(
                {"run": name, "swing": k, "step": np.arange(STEPS)}
                | {f"angle{j + 1}": run.angle[1:, j] for j in range(3)}
                | {"p_x": run.impulse[:, 0], "p_z": run.impulse[:, 2], "m_y": run.impulse[:, 4]}
                | {"joint_force_x": force[:, 0], "joint_force_z": force[:, 1]}
                | {"mode": run.mode, "kind": run.kind, "evaluations": run.evaluations}
            )
    return parts
