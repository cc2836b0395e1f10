"""A box thrown in eight directions onto ground with unequal friction: 0.75 along x, 1.5 along y (the paper's x and z).

The ground truth is CoulombLaw with a friction box, since DART's Python interface has one coefficient only. It is
checked against MuJoCo: along the axes as it is, in all directions with the elliptic cone that both have.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.spatial.transform import Rotation

from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.data.collection_plan import Plan
from stiction.evaluation.single_steps import plan_of
from stiction.laws.coulomb import DART_SOFTNESS, CoulombCone, CoulombLaw
from stiction.laws.modelfile import load
from stiction.mujoco import plain_throw as mujoco_throw
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.motions_shown import scene_of_throws
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper.metrics import STEPS, throw_truth
from stiction_studies.paper.trajectories import BASELINE, OURS
from stiction_studies.study import Study

DIRECTIONS = 45.0 * np.arange(8)  # [degrees] from x towards y
SPEED = 3.0  # [m/s]
HEIGHTS = {"slide": 0.0, "throw": 0.3}  # of the lowest face at the start [m]
TITLES = {"slide": "Sliding on its face", "throw": "Dropped flat from 0.3 m"}
TRUTH, MUJOCO, ELLIPTIC, POINT = "truth", "MuJoCo", "elliptic", "point mass"
FINE_TIMESTEP, FINE_STEPS = 1e-4, 5000  # [s] for the comparison with MuJoCo, whose contacts need short time steps
Travel = tuple[NDArray[np.float64], NDArray[np.float64]]  # distance [m] and heading [degrees], each (8,)


def starts(body: Body, height: float) -> State:
    """One start (8,) a direction: the box on its widest face, its longest edge and its velocity ahead."""
    longest, _, shortest = np.argsort(body.size)[::-1]
    axes = np.zeros((3, 3))  # columns: directions of the body's axes
    axes[0, longest], axes[2, shortest] = 1.0, 1.0
    middle = 3 - longest - shortest
    axes[1, middle] = 1.0
    axes[:, middle] *= np.linalg.det(axes)
    turned = Rotation.from_euler("z", DIRECTIONS[:, np.newaxis], degrees=True) * Rotation.from_matrix(axes)
    angle = np.radians(DIRECTIONS)
    velocity = SPEED * np.stack([np.cos(angle), np.sin(angle), np.zeros(8)], axis=1)
    position = (0.0, 0.0, height + min(body.size) / 2)
    return State(np.tile(position, (8, 1)), turned.as_quat(scalar_first=True), velocity)


def travelled(run: Trajectory) -> Travel:
    """Horizontal distance [m] and heading [degrees] from start to end, each (n,)."""
    way = run.position[:, -1] - run.position[:, 0]
    return np.hypot(way[:, 0], way[:, 1]), np.degrees(np.arctan2(way[:, 1], way[:, 0]))


def heading_difference(a, b) -> NDArray[np.float64]:
    """a - b [degrees], between -180 and 180."""
    return (np.asarray(a) - np.asarray(b) + 180.0) % 360.0 - 180.0


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Throw the box in all directions, print the tables, write the results and publish the section."""
    study = Study(out, "anisotropy", scale, seed)  # the same at every scale
    laws = {OURS: load("box-anisotropic"), BASELINE: load("box-anisotropic-pdd")}
    plan = plan_of(laws[OURS])
    runs: dict[str, dict[str, Trajectory]] = {}
    with Console(stderr=True).status("Throwing the box"):
        for kind, height in HEIGHTS.items():
            start = starts(plan.body, height)
            runs[kind] = {TRUTH: throw_truth(plan, start, STEPS)}
            runs[kind] |= {name: rollout(law, start, STEPS, gravity=plan.gravity) for name, law in laws.items()}
        fine = _compare_with_mujoco(plan)
    found = {kind: {name: travelled(run) for name, run in of_kind.items()} for kind, of_kind in runs.items()}
    shown = {"Coulomb": TRUTH, OURS: OURS, BASELINE: BASELINE}
    replay = scene_of_throws(
        "Anisotropic ground, 45° between the axes",
        plan.body,
        {name: runs["throw"][run][1] for name, run in shown.items()},
    )
    text = [
        "The ground has a friction coefficient of 0.75 along x and of 1.5 along y. A box is thrown at 3 m/s in eight "
        "directions, its longest edge along the way and its shortest upright: once sliding on its face, once dropped "
        "flat from 0.3 m, so that it hits the ground, may topple, and slides. The law was trained on random throws on "
        "this ground; it is not given axes or coefficients.",
        "The ground truth is the analytic Coulomb law with a friction box, the anisotropic form of DART's own law. "
        "MuJoCo's cone is an ellipse: along the axes both must agree, and on the diagonals they differ by definition, "
        "since only the box allows both coefficients at once. With an elliptic cone the analytic law and MuJoCo can "
        "be compared in all directions.",
    ]
    tables = [_error_table(kind, found[kind]) for kind in HEIGHTS] + [_mujoco_table(fine)]
    plots = [_polar_plot(kind, found[kind]) for kind in HEIGHTS]
    section = Section(study.name, "Anisotropic friction", text, study.command, tables, plots, [replay])
    content = {
        "friction_x_y": list(plan.truth.friction),
        "speed_m_per_s": SPEED,
        "heights_m": HEIGHTS,
        "directions_degrees": DIRECTIONS.tolist(),
        "kinds": {kind: _summary(of_kind) for kind, of_kind in found.items()},
        "second_opinion": _summary(fine),
    }
    parts = [
        {"kind": kind, "run": name, "direction": DIRECTIONS, "distance": distance, "heading": heading}
        for kind, of_kind in {**found, "second opinion": fine}.items()
        for name, (distance, heading) in of_kind.items()
    ]
    study.finish(section, content, parts)


def _compare_with_mujoco(plan: Plan) -> dict[str, Travel]:
    """Travel of the sliding box at short time steps: ground truth, elliptic Coulomb cone, MuJoCo and a point mass."""
    body, mu, gravity = plan.body, plan.truth.friction, plan.gravity
    found = {}
    cones: dict[str, CoulombCone] = {TRUTH: "dart", ELLIPTIC: "round"}
    for name, cone in cones.items():
        law = CoulombLaw(body, mu, cone=cone, softness=DART_SOFTNESS)
        run = rollout(law, starts(body, 0.0), FINE_STEPS, timestep=FINE_TIMESTEP, gravity=gravity, substeps=0)
        found[name] = travelled(run)
    # It starts about as deep as MuJoCo's contacts carry it; with a shorter settling time [s] the box takes off.
    sunk = starts(body, -1e-4)
    run = mujoco_throw.throw(
        body, sunk, FINE_STEPS, friction=mu, contact=mujoco_throw.SoftContact("elliptic", 0.005),
        timestep=FINE_TIMESTEP, gravity=gravity,
    )  # fmt: skip
    return found | {MUJOCO: travelled(run), POINT: slide_point(np.array(mu), -gravity[2])}


def slide_point(mu: NDArray[np.float64], g: float) -> Travel:
    """Travel in each direction of a point mass that starts at SPEED, with the maximally dissipative friction of an
    elliptic cone: f_i = -mu_i^2 u_i / sqrt(sum (mu_j u_j)^2) times its weight."""
    angle = np.radians(DIRECTIONS)
    u = SPEED * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x = np.zeros_like(u)
    h = SPEED / (mu.min() * g) / 4000
    while (moving := np.linalg.norm(u, axis=1) > g * mu.max() * h).any():
        f = mu**2 * u / np.linalg.norm(mu * u, axis=1, keepdims=True).clip(1e-12)
        slower = np.where(moving[:, None], u - h * g * f, 0.0)
        x += 0.5 * h * (u + slower)
        u = slower
    return np.hypot(*x.T), np.degrees(np.arctan2(x[:, 1], x[:, 0]))


def _errors(found: dict[str, Travel], name: str, reference: str) -> Travel:
    """Error of the distance as a share of the reference, and of the heading [degrees], each (8,)."""
    (distance, heading), (true_distance, true_heading) = found[name], found[reference]
    return distance / true_distance - 1, heading_difference(heading, true_heading)


def _summary(found: dict[str, Travel]) -> dict[str, Any]:
    summary = {}
    for name, (distance, heading) in found.items():
        share, turn = _errors(found, name, TRUTH)
        summary[name] = {
            "distance_m": distance.tolist(),
            "heading_degrees": heading.tolist(),
            "greatest_distance_error_share": float(np.abs(share).max()),
            "greatest_heading_error_degrees": float(np.abs(turn).max()),
        }
    return summary


def _direction_rows(found: dict[str, Travel], reference: str, others: tuple[str, ...], digits: int) -> list[list[str]]:
    """A row a direction: travel of the reference, and how far the others differ from it."""
    rows = []
    for k, direction in enumerate(DIRECTIONS):
        cells = [f"{found[reference][0][k]:.4f} m, {found[reference][1][k]:.2f}°"]
        for name in others:
            share, turn = _errors(found, name, reference)
            cells.append(f"{100 * share[k]:+.{digits}f} %, {turn[k]:+.{digits}f}°")
        rows.append([f"{direction:g}°", *cells])
    return rows


def _error_table(kind: str, found: dict[str, Travel]) -> Table:
    worst = ["worst", ""]
    for name in (OURS, BASELINE):
        share, turn = _errors(found, name, TRUTH)
        worst.append(f"{100 * np.abs(share).max():.3f} %, {np.abs(turn).max():.3f}°")
    columns = ["Direction", "Ground truth: distance, heading", f"{OURS}: error", f"{BASELINE}: error"]
    rows = [*_direction_rows(found, TRUTH, (OURS, BASELINE), 3), worst]
    return Table(f"{TITLES[kind]}, {SPEED:g} m/s in eight directions", columns, rows)


def _mujoco_table(found: dict[str, Travel]) -> Table:
    note = (
        f"Sliding box, steps of {1000 * FINE_TIMESTEP:g} ms; the others as differences from MuJoCo. Like for like "
        "are the columns with an elliptic cone. The friction box is the ground truth above, equal to it along the axes "
        "only. On the diagonals MuJoCo takes a slightly different path; a point mass with the elliptic cone agrees "
        "with the analytic law. MuJoCo's contacts are soft; their settling time was chosen among three."
    )
    columns = ["Direction", "MuJoCo, elliptic", "Coulomb, elliptic", "Point mass, elliptic", "Coulomb, box"]
    rows = _direction_rows(found, MUJOCO, (ELLIPTIC, POINT, TRUTH), 2)
    return Table("The ground truth against MuJoCo", columns, rows, note)


def _polar_plot(kind: str, found: dict[str, Travel]) -> Plot:
    """Final positions, seen from above."""
    figure = figures.figure(f"{TITLES[kind]}: distance and heading", "", "", height=440)
    styles = [
        (TRUTH, "ground truth", "circle-open", 15, figures.COLOURS["truth"]),
        (OURS, OURS, "circle", 8, figures.COLOURS["stiction"]),
        (BASELINE, BASELINE, "x", 8, figures.COLOURS["PDD"]),
    ]
    for name, label, symbol, size, colour in styles:
        distance, heading = found[name]
        figure.add_scatterpolar(
            r=[*distance, distance[0]],
            theta=[*heading, heading[0]],
            mode="lines+markers",
            name=label,
            line={"color": colour, "width": 1 if name != OURS else 1.5},
            marker={"symbol": symbol, "size": size, "color": colour, "line": {"width": 2, "color": colour}},
            hovertemplate="%{r:.3f} m, %{theta:.1f}°<extra>" + label + "</extra>",
        )
    radial = {"ticksuffix": " m", "nticks": 4, "angle": 22.5, "tickangle": 22.5}
    figure.update_layout(
        polar={"radialaxis": radial, "angularaxis": {"ticksuffix": "°", "dtick": 45}},
        margin={"l": 40, "r": 40, "t": 70, "b": 60},
    )
    return Plot(figure, "Seen from above, x to the right. Friction along y is twice that along x.")
