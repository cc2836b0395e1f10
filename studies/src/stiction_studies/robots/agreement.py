"""Materials at MuJoCo's contact points against what computes the same contact in another way: rollouts, Algorithm 2 and
DART."""

from typing import Any

from stiction_studies.page.section import Table
from stiction_studies.robots import box_agreement, chain_agreement, robot_agreement
from stiction_studies.robots.attached import ATTACHED
from stiction_studies.robots.robot import settling
from stiction_studies.study import number, percent

THROWS = {"quick": 5, "usual": 50, "full": 200}
SWINGS = {"quick": 2, "usual": 20, "full": 100}
STAND = {"quick": 0.4, "usual": 5.0, "full": 10.0}  # [s] before and after
WALK = {"quick": 0.2, "usual": 4.0, "full": 10.0}  # [s] between
_CASES = {"box": "free box", "chain": "chain", "quadruped": "quadruped"}
_WHY = (
    "Single steps agree (see below). Whole motions part because contacts at MuJoCo's points are foreseen: a point may "
    "close its gap within a step, where a rollout and DART let it sink in first, so that impacts come up to a step "
    "earlier and are spread over two; and what has sunk in is raised up to 100 times faster."
)


def compare(scale: str, seed: int) -> dict[str, Any]:
    """All figures."""
    return {
        "box": box_agreement.compare(THROWS[scale], seed),
        "chain": chain_agreement.compare(SWINGS[scale], seed),
        "quadruped": robot_agreement.compare(STAND[scale], WALK[scale]),
    }


def tables(found: dict[str, Any]) -> list[Table]:
    """The figures as they are shown."""
    return [
        _box_table(found["box"]),
        _chain_table(found["chain"]),
        _robot_table(found["quadruped"]),
        _steps_table(found),
    ]


def _against(runs: dict[str, Any], others: tuple[str, str], what: tuple[str, str], write: Any) -> list[list[str]]:
    """A row for each run: two figures against each of two others."""
    return [
        [name, *(write(errors[other][one]) if other in errors else "-" for other in others for one in what)]
        for name, errors in runs.items()
    ]


def _box_table(found: dict[str, Any]) -> Table:
    others = box_agreement.ROLLOUT, box_agreement.DART
    rows = _against(found["runs"], others, ("median", "mean"), percent)
    columns = ["", "To rollout, median", "Mean", "To DART, median", "Mean"]
    note = (
        f"{found['throws']} random throws of a box, friction {box_agreement.FRICTION:g}, {box_agreement.STEPS} steps "
        f"of {1e3 * box_agreement.TIMESTEP:g} ms: distance between the final positions, as a share of the mean "
        f"distance thrown, {found['distance_m']:.2f} m. {_WHY} The last rows show how "
        "far throws part that are made with half the time step, or begin a little elsewhere."
    )
    return Table("Agreement: a free box", columns, rows, note)


def _chain_table(found: dict[str, Any]) -> Table:
    rows = _against(found["runs"], (ATTACHED, chain_agreement.DART), ("median", "greatest"), number)
    columns = ["", "To Algorithm 2, median [rad]", "Greatest [rad]", "To DART, median [rad]", "Greatest [rad]"]
    note = (
        f"{found['swings']} swings of {found['duration_s']:g} s of the paper's chain, the first from level: greatest "
        "difference of any joint's angle at any time, median and greatest over the swings."
    )
    return Table("Agreement: the chain", columns, rows, note)


def _robot_table(found: dict[str, Any]) -> Table:
    lengths = ("apart_after_standing_m", "apart_after_walking_m", "distance_m", "creep_before_m", "creep_after_m")
    rows = []
    for name, run in found["runs"].items():
        share = percent(run["unsolved_share"]) if "unsolved_share" in run else "-"
        rows.append([name, *(number(run[length]) for length in lengths), share])
    columns = ["", "Apart after standing [m]", "After walking [m]", "Way [m]"]
    columns += ["Creep before [m]", "Creep after [m]", "Unsolved"]
    stand, walk = found["stand_s"], found["walk_s"]
    note = (
        f"{stand:g} s standing, {walk:g} s trotting, {stand:g} s standing. Apart: distance of the trunk to that of "
        "Algorithm 2. Creep: greatest distance that a foot moves along the ground while the robot stands, after "
        f"{settling(stand):g} s. Unsolved: share of the contact steps."
    )
    return Table("Agreement: the quadruped", columns, rows, note)


def _steps_table(found: dict[str, Any]) -> Table:
    rows = []
    for key, name in _CASES.items():
        one, safe = found[key]["one_step"], found[key]["safety"]
        errors = [number(one[f"percent_{q}"]) if "percent_50" in one else "-" for q in (50, 90, 99)]
        counts = [f"{safe['unsolved']:,} of {safe['contact_steps']:,}"]
        limits = [number(safe["energy_gain_J"]), number(1e3 * safe["depth_m"])]
        rows.append([name, f"{one['steps'] - one['unsolved']:,} of {one['steps']:,}", *errors, *counts, *limits])
    columns = ["", "Single steps", "Error, median", "90 %", "99 %", "Unsolved", "Energy given [J]", "Deepest [mm]"]
    note = (
        "Single steps: from each state in contact of Algorithm 2's motions one step with the material instead, "
        "contacts not foreseen and nothing remembered, where both find a solution; error: greatest difference of any "
        "joint's velocity after it [m/s, rad/s]. Algorithm 2's tolerance is 0.5 % for the quadruped, else 1e-6. The "
        "rest is of the material's own motions, as usual: steps without a solution, the greatest energy that contact "
        "gave in any step, and the deepest point. In the rollouts of the box the deepest vertex lies "
        f"{number(1e3 * found['box']['rollout_depth_m'])} mm below the ground."
    )
    return Table("Agreement: single steps, and what must not happen", columns, rows, note)
