"""The tables of the study of grasps."""

from typing import Any

from stiction_studies.page.section import Table
from stiction_studies.robots.held import GRIP, ROUGH, SLOPE, holds
from stiction_studies.robots.holders import MUJOCO, OURS
from stiction_studies.robots.moving import moves
from stiction_studies.study import number, percent


def creep_tables(content: dict[str, Any]) -> list[Table]:
    """How far grasped bodies creep, and how far lying ones."""
    grasps, lying = _names(grasped=True), _names(grasped=False)
    time = f"in {content['held_s']:g} s"
    grasp_note = (
        "Creep: how far the held body's centre slips along the fingers, at most, from where it was after "
        f"{content['settling_s']:g} s, in which soft contacts may settle. The fingers press with 2, 20 and 95 times "
        f"the force that just holds, at a friction coefficient of {GRIP:g}. Dropped: it has left the fingers, after "
        "so many seconds."
    )
    lying_note = (
        "Creep: how far the centre of any body slips over what it lies on, at most, from where it was after "
        f"{content['settling_s']:g} s. The slope has {SLOPE:g}° (tangent 0.57735); the stack and the two boxes have a "
        f"friction coefficient of {ROUGH:g}. Fell: a box of the stack has moved by half its edge, the upper box has "
        "left the lower one, or the box on the slope has slid by 1 m."
    )
    return [
        Table(f"Creep of what is grasped, {time} [m]", ["", *grasps], _rows(content, grasps, "dropped"), grasp_note),
        Table(f"Creep of what lies, {time} [m]", ["", *lying], _rows(content, lying, "fell"), lying_note),
    ]


def motion_table(content: dict[str, Any]) -> Table:
    """What must move: errors of accelerations and of a speed."""
    names = [move.name for move in moves()]
    rows = [[name, *(percent(found[move]) for move in names)] for name, found in content["motion_error"].items()]
    note = (
        f"Slides: acceleration of a box on the slope of {SLOPE:g}° against g (sin a - mu cos a), with friction hardly "
        "below the slope's tangent, and well below. Sphere: speed after it has rolled for 5 s at 1 m/s over level "
        "ground. Cylinder: acceleration from rest on a slope of 10° against 2/3 g sin a."
    )
    return Table("What must slide or roll: error of its motion", ["", *names], rows, note)


def exactness_table(content: dict[str, Any]) -> Table:
    """How still ours is in all directions, how often it found no solution, and what a step costs."""
    steps = round((content["held_s"] + content["settling_s"]) / content["timestep_s"])
    rows = []
    for name in _names(grasped=True) + _names(grasped=False):
        ours, mujoco = content["held"][OURS][name], content["held"][MUJOCO][name]
        still = [number(ours["motion_m"]), number(ours["turn_rad"])]
        costs = [f"{run['microseconds_per_step']:.1f}" for run in (ours, mujoco)]
        rows.append([name, *still, f"{ours['unsolved_steps']:,} of {steps:,}", *costs])
    columns = ["", "Motion [m]", "Turn [rad]", "Unsolved steps", "µs a step", "MuJoCo, µs a step"]
    note = (
        "Motion: of the centre in any direction, that of pressing included. Unsolved: steps without a solution, taken "
        "under the guards. Costs: mean of the whole run, called from Python, one step a call; what MuJoCo has dropped "
        "costs it little."
    )
    return Table("How still stiction holds, and what it costs", columns, rows, note)


def _names(grasped: bool) -> list[str]:
    return [hold.name for hold in holds() if (len(hold.holders.get(0, ())) == 2) == grasped]


def _rows(content: dict[str, Any], names: list[str], lost: str) -> list[list[str]]:
    return [[who, *(_cell(found[name], lost) for name in names)] for who, found in content["held"].items()]


def _cell(found: dict[str, Any], lost: str) -> str:
    gone = found["dropped_s"]
    return number(found["creep_m"]) if gone is None else f"{lost}, {gone:.1f} s"
