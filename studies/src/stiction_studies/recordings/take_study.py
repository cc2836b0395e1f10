"""From a tracker's take to a robot: a part that MuJoCo threw is imported, identified, judged, forecast and grasped."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics.progress import status
from stiction.bodies.body import Body
from stiction.fit.identified import IdentifiedBody
from stiction.fit.identify import identify
from stiction.fit.toss_objective import width_of
from stiction.fit.verdict import verdict_lines
from stiction.mujoco import Simulation
from stiction.mujoco.plain_throw import mujoco
from stiction.recordings.folder import save_recordings
from stiction.recordings.importing import import_recordings
from stiction.recordings.splitting import Cut, plot_cuts
from stiction.recordings.tosses import Recordings, errors, split
from stiction.viewer.subject import recorded_motion
from stiction_studies.page.motions_shown import Frames, Scene, scene_of, scene_of_throws
from stiction_studies.page.section import Picture, Section, Table
from stiction_studies.recordings import truths
from stiction_studies.recordings.example_take import OBJECT, PART, RECORDED, write_take
from stiction_studies.recordings.forecast_comparison import typical
from stiction_studies.study import Study

HOLDS, SLIPS = 1.5, 0.7  # forces of the fingers, relative to the least that carries the weight
SECONDS = 2.5  # of a grasp
GRIPPER = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="hand" pos="0 0 0.15">
      <joint name="lift" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.06 0.02 0.01" mass="0.3"/>
      <body name="left" pos="{left} 0 -0.075">
        <joint name="left" type="slide" axis="1 0 0" damping="5"/>
        <geom type="box" size="0.005 0.02 0.065" mass="0.05"/>
      </body>
      <body name="right" pos="{right} 0 -0.075">
        <joint name="right" type="slide" axis="-1 0 0" damping="5"/>
        <geom type="box" size="0.005 0.02 0.065" mass="0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="lift" kp="2000" kv="100"/><motor joint="left"/><motor joint="right"/>
  </actuator>
</mujoco>"""
_SPLIT = "The take as it was split by `stiction import`: height of the part over time, tosses in colour."


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Make a take, treat it as a user would, and write the section of the page."""
    study = Study(out, "take", scale, seed)
    folder, tosses = study.folder, 60 if scale == "full" else RECORDED.tosses
    with status("Throwing a part in MuJoCo"):
        take = write_take(folder / "recording", tosses, seed)
    commands = [
        f"stiction import {take.path} --object {OBJECT} --body {take.part} --mass {truths.MASS} --out {folder}/tosses",
        f"stiction identify {folder}/tosses --out {folder}/part.safetensors",
    ]
    print(f"\n$ {commands[0]}")
    cuts: list[Cut] = []
    recordings = import_recordings(take.path, Body.mesh(take.part, truths.MASS), name=OBJECT, cuts=cuts)
    save_recordings(recordings, folder / "tosses")
    plot_cuts(cuts, folder / "split.png")
    print("\n".join(f"- {line}" for line in recordings.report))
    print(f"\n$ {commands[1]}", flush=True)
    found = identify(recordings, seed=seed)
    assert isinstance(found, IdentifiedBody)
    found.save(folder / "part.safetensors")
    with status("Forecasting held-out tosses, and grasping"):
        forecasts, rows = _forecasts(found, recordings, seed)
        grasps, slips = _grasps(found)
        table = _verdict(found)
    picture = Picture(
        (folder / "split.png").read_bytes(), f"Height over time, with {len(recordings)} tosses marked.", _SPLIT
    )
    text = _text(tosses, commands, slips)
    section = Section(
        "take", "From a take to a grasp", text, study.command, [table], [], [*forecasts, grasps], [picture]
    )
    study.finish(section, {"verdict": found.figures["verdict"], "slips": slips}, [rows])


def _text(tosses: int, commands: list[str], slips: dict[str, float]) -> list[str]:
    held, dropped, usual = (1e3 * slip for slip in slips.values())
    return [
        f"A part with an off-centre mass is thrown {tosses} times in MuJoCo (elliptic cone, stiff contact), never in "
        "our own law. A hand carries it back each time. The motion is written as one long take, as OptiTrack Motive "
        "exports it: two rigid bodies, y up, millimetres, noise of 0.1 mm and 0.1 degree, lost frames.",
        f"Two commands lead to a law and a verdict: `{commands[0]}`",
        f"`{commands[1]}`",
        "The law then forecasts tosses that were held out, and a gripper in MuJoCo lifts the part with the friction "
        f"and the mass properties that were found. With {HOLDS:g} times the least force that carries the weight it "
        f"slips by {held:.0g} mm in {SECONDS:g} s; with {SLIPS:g} times that force, by {dropped:.0f} mm. MuJoCo's own "
        f"contact with its default friction of 1 does not show this: there the part creeps by {usual:.0f} mm.",
    ]


def _verdict(found: IdentifiedBody) -> Table:
    """Return the verdict as it is printed, with what is true of the part in MuJoCo."""
    body = PART.body
    com = ", ".join(f"{1e3 * x:.1f}" for x in body.com)
    true = {
        "Friction, sliding": f"{truths.friction(PART):.3f}",
        "Friction, impacts": f"{truths.friction(PART):.3f}",
        "Restitution": f"{truths.restitution(PART):.3f}",
        "Centre of mass": f"({com}) mm",
        "Inertia": f"{100 * (PART.inertia - 1):+.1f} %",
        "Size": f"{100 * (PART.size - 1):+.1f} %",
    }
    rows = [line.split(":", 1) for line in verdict_lines(found)]
    shown = [[name, text.strip(), true.get(name, "")] for name, text in rows]
    note = "Truth: friction of a plate that slides, and restitution of a corner at 1 m/s, measured in MuJoCo."
    return Table("The verdict, beside the truth", ["", "identified", "truth"], shown, note)


def _forecasts(found: IdentifiedBody, recordings: Recordings, seed: int) -> tuple[list[Scene], dict[str, Any]]:
    """Return replays of held-out tosses, the median and a poor forecast, and the errors of all held-out tosses."""
    held = split(recordings, seed=seed)[1]
    tosses = [recordings[int(number)] for number in held]
    runs = [toss.forecast(found.law) for toss in tosses]
    off = [errors(toss, run.position, run.quaternion)[0] for toss, run in zip(tosses, runs, strict=True)]
    percent = 100 / width_of(found.body) * np.array([np.linalg.norm(one, axis=1).mean() for one in off])
    scenes = []
    for (k, _), rank in zip(typical(percent, (0.5, 1.0)), ("the median", "the greatest")):
        caption = (
            "The part as recorded, and as the law forecasts it from its flight; the toss was not used in the fit. "
            f"Mean position error {percent[k]:.1f} % of the width, {rank} of the {len(held)} held-out tosses."
        )
        shown = {"recorded": recorded_motion(tosses[k], recordings.timestep), "stiction's forecast": runs[k]}
        scenes.append(scene_of_throws(f"Held-out toss {held[k] + 1}", found.body, shown, caption))
    return scenes, {"toss": held, "position_error_percent": percent}


def _grasps(found: IdentifiedBody) -> tuple[Scene, dict[str, float]]:
    """Return replays of the part in a gripper, and by how much it slips in each [m]."""
    friction = found.figures["verdict"]["friction_sliding"]["value"]
    least = found.body.mass * truths.G / (2 * friction)
    model = _scene(found)
    strong = Simulation(model, laws={"part-body": found.material})
    weak = Simulation(model, laws={"part-body": found.material})
    data = mujoco.MjData(model)
    grasps = {
        f"identified, {HOLDS:g} of the least force": (strong.data, strong.step, HOLDS),
        f"identified, {SLIPS:g} of it": (weak.data, weak.step, SLIPS),
        f"MuJoCo's default, {SLIPS:g} of it": (data, partial(mujoco.mj_step, model, data), SLIPS),
    }
    runs, slips = {}, {}
    for name, (state, step, share) in grasps.items():
        runs[name], slips[name] = _grasp(state, step, share * least)
    caption = (
        "A gripper holds the part at its two parallel faces, and lifts it. The least force is that at which the "
        "friction of both fingers, as identified, equals the weight."
    )
    scene = scene_of("The part in a gripper", model, runs, 0.02, caption=caption, seen_from=(0.3, -1.0), row=(1.0, 0.0))
    part = model.body("part-body").id
    return replace(scene, pieces=[replace(piece, plain=piece.body != part) for piece in scene.pieces]), slips


def _scene(found: IdentifiedBody) -> Any:
    """Return a model of a gripper around the part as found, whose z axis points from finger to finger."""
    reach = found.body.rounding + 0.00499  # half of a finger, in touch
    low, high = found.body.vertices[:, 2].min() - reach, found.body.vertices[:, 2].max() + reach
    spec = mujoco.MjSpec.from_string(GRIPPER.format(left=low, right=high))
    part = mujoco.MjSpec.from_string(found.mjcf())
    part.option.timestep, part.option.gravity = spec.option.timestep, spec.option.gravity
    turned = spec.worldbody.add_frame(pos=(0, 0, 0.075), quat=(np.sqrt(0.5), 0, np.sqrt(0.5), 0))
    part.body("body").pos = (0, 0, 0)
    turned.attach_body(part.body("body"), "part-", "")
    return spec.compile()


def _grasp(data: Any, step: Callable[[], Any], force: float) -> tuple[Frames, float]:
    """Lift the part with fingers that press with a force [N]; return the motion, and the slip in the hand [m]."""
    frames, start = Frames(), _in_hand(data)
    while data.time < SECONDS:
        data.ctrl[:] = 0.1 * np.clip(data.time - 0.5, 0.0, 1.0), force, force
        if len(frames) <= data.time / 0.02 + 1e-9:
            mujoco.mj_kinematics(data.model, data)
            frames.take(data)
        step()
    return frames, float(np.linalg.norm(_in_hand(data) - start))


def _in_hand(data: Any) -> NDArray[np.float64]:
    mujoco.mj_kinematics(data.model, data)
    return data.body("part-body").xpos - data.body("hand").xpos
