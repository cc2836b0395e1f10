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
from stiction.evaluation.single_steps import plan_of
from stiction.laws.coulomb import CoulombLaw
from stiction.laws.modelfile import load
from stiction.mujoco import plain_throw as mujoco_throw
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.section import Plot, Replay, Section, Table
from stiction_studies.paper.motions import BASELINE, OURS, throw_truth
from stiction_studies.study import Study, joined

LAW = "box-anisotropic"
DIRECTIONS = 45.0 * np.arange(8)  # [degrees] from x towards y
SPEED = 3.0  # [m/s]
HEIGHTS = {"slide": 0.0, "throw": 0.3}  # of the lowest face at the start [m]
STEPS = 800
TRUTH, MUJOCO, ELLIPTIC, POINT = "truth", "MuJoCo", "elliptic", "point mass"
FINE = {"timestep": 1e-4, "steps": 5000}  # [s] for MuJoCo, whose contacts need short steps, and for its peers
_SETTLING = 0.005  # [s] of MuJoCo's contacts; with stiffer ones the box takes off
_SUNK = 1e-4  # [m] where its contacts begin, about as deep as they carry the box
_TEXT = [
    "The ground has a friction coefficient of 0.75 along x and of 1.5 along y. A box is sent off at 3 m/s in eight "
    "directions, its longest edge along the way and its shortest upright: once sliding on its face, once dropped flat "
    "from 0.3 m, so that it hits the ground, may topple, and slides. The law has learned from random throws on this "
    "ground and is told nothing about axes or coefficients.",
    "The ground truth is the analytic Coulomb law with a friction box, the anisotropic form of DART's own law. "
    "MuJoCo's cone is an ellipse: along the axes both must agree, and on the diagonals they differ by definition: "
    "the box allows both coefficients at once, and the ellipse does not. With an elliptic cone the analytic law and "
    "MuJoCo can be compared in all directions.",
]


def starts(body: Body, height: float) -> State:
    """One start (8,) a direction: the box lies on its widest face, its longest edge and its velocity ahead."""
    longest, _, shortest = np.argsort(body.size)[::-1]
    axes = np.zeros((3, 3))  # columns: where the body's axes point
    axes[0, longest], axes[2, shortest] = 1.0, 1.0
    middle = 3 - longest - shortest
    axes[1, middle] = 1.0
    axes[:, middle] *= np.linalg.det(axes)
    turned = Rotation.from_euler("z", DIRECTIONS[:, np.newaxis], degrees=True) * Rotation.from_matrix(axes)
    angle = np.radians(DIRECTIONS)
    velocity = SPEED * np.stack([np.cos(angle), np.sin(angle), np.zeros(8)], axis=1)
    place = (0.0, 0.0, height + min(body.size) / 2)
    return State(np.tile(place, (8, 1)), turned.as_quat(scalar_first=True), velocity)


def travelled(run: Trajectory) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Horizontal distance [m] and heading [degrees] from start to end, each (n,)."""
    way = run.position[:, -1] - run.position[:, 0]
    return np.hypot(way[:, 0], way[:, 1]), np.degrees(np.arctan2(way[:, 1], way[:, 0]))


def heading_difference(a, b) -> NDArray[np.float64]:
    """a - b [degrees], between -180 and 180."""
    return (np.asarray(a) - np.asarray(b) + 180.0) % 360.0 - 180.0


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Send the box off in all directions, print the tables, write results and publish the section."""
    study = Study(out, "anisotropy", scale, seed)  # the same at every scale: there are eight directions
    laws = {OURS: load(LAW), BASELINE: load(f"{LAW}-pdd")}
    plan = plan_of(laws[OURS])
    mu = plan.truth.friction
    with Console(stderr=True).status("Sending the box off"):
        runs = {kind: _throw_all(plan, laws, starts(plan.body, height)) for kind, height in HEIGHTS.items()}
        fine = _second_opinion(plan)
    found = {kind: {name: travelled(run) for name, run in those.items()} for kind, those in runs.items()}
    tables = [_table(kind, found[kind]) for kind in HEIGHTS] + [_mujoco_table(fine)]
    plots = [_picture(kind, found[kind]) for kind in HEIGHTS]
    shown = {"Coulomb": TRUTH, OURS: OURS, BASELINE: BASELINE}
    replay = Replay(
        "Anisotropic ground, 45° between the axes",
        plan.body,
        {name: runs["throw"][run][1] for name, run in shown.items()},
    )
    section = Section(study.name, "Anisotropic friction", _TEXT, study.command, tables, plots, [replay])
    content = {
        "friction_x_y": list(mu),
        "speed_m_per_s": SPEED,
        "heights_m": HEIGHTS,
        "directions_degrees": DIRECTIONS.tolist(),
        "kinds": {kind: _figures(those) for kind, those in found.items()},
        "second_opinion": _figures(fine),
    }
    parts = [
        {"kind": kind, "run": name, "direction": DIRECTIONS, "distance": distance, "heading": heading}
        for kind, those in {**found, "second opinion": fine}.items()
        for name, (distance, heading) in those.items()
    ]
    study.finish(section, content, joined(parts), "mujoco-core")


def _throw_all(plan, laws, start: State) -> dict[str, Trajectory]:
    runs = {TRUTH: throw_truth(plan, start, STEPS)}
    return runs | {name: rollout(law, start, STEPS, gravity=plan.gravity) for name, law in laws.items()}


def _second_opinion(plan) -> dict[str, tuple[NDArray, NDArray]]:
    """Distances and headings of the sliding box at short steps: the ground truth, MuJoCo, and two like MuJoCo."""
    body, mu = plan.body, plan.truth.friction
    start, how = starts(body, 0.0), {"timestep": FINE["timestep"], "gravity": plan.gravity}
    laws = {TRUTH: CoulombLaw(body, mu, cone="box"), ELLIPTIC: CoulombLaw(body, mu, cone="round")}
    found = {name: travelled(rollout(law, start, FINE["steps"], **how)) for name, law in laws.items()}
    soft = {"friction": mu, "cone": "elliptic", "settling_time": _SETTLING, **how}
    found[MUJOCO] = travelled(mujoco_throw.throw(body, starts(body, -_SUNK), FINE["steps"], **soft))
    found[POINT] = slide_point(np.array(mu), -plan.gravity[2])
    return found


def slide_point(mu: NDArray[np.float64], g: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance and heading in each direction of a point that slides at SPEED with the friction of greatest dissipation
    in an elliptic cone: f_i = -mu_i^2 u_i / sqrt(sum (mu_j u_j)^2) of its weight."""
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


def _errors(found, name: str, against: str) -> tuple[NDArray, NDArray]:
    """Error of the distance as a share of the true one, and of the heading [degrees], each (8,)."""
    distance, heading = found[name]
    true_distance, true_heading = found[against]
    return distance / true_distance - 1, heading_difference(heading, true_heading)


def _figures(found) -> dict[str, Any]:
    figured = {}
    for name, (distance, heading) in found.items():
        share, turn = _errors(found, name, TRUTH)
        figured[name] = {
            "distance_m": distance.tolist(),
            "heading_degrees": heading.tolist(),
            "greatest_distance_error_share": float(np.abs(share).max()),
            "greatest_heading_error_degrees": float(np.abs(turn).max()),
        }
    return figured


def _table(kind: str, found) -> Table:
    """Distance and heading in each direction, and how far the law and the baseline are off."""
    rows = []
    for k, direction in enumerate(DIRECTIONS):
        cells = [f"{found[TRUTH][0][k]:.4f} m, {found[TRUTH][1][k]:.2f}°"]
        for name in (OURS, BASELINE):
            share, turn = _errors(found, name, TRUTH)
            cells.append(f"{100 * share[k]:+.3f} %, {turn[k]:+.3f}°")
        rows.append([f"{direction:g}°", *cells])
    worst = ["worst", ""]
    for name in (OURS, BASELINE):
        share, turn = _errors(found, name, TRUTH)
        worst.append(f"{100 * np.abs(share).max():.3f} %, {np.abs(turn).max():.3f}°")
    title = {"slide": "Sliding on its face", "throw": "Dropped flat from 0.3 m"}[kind]
    columns = ["Direction", "Ground truth: distance, heading", f"{OURS}: error", f"{BASELINE}: error"]
    return Table(f"{title}, {SPEED:g} m/s in eight directions", columns, [*rows, worst])


def _mujoco_table(found) -> Table:
    """The analytic law against MuJoCo's elliptic cone, with both of its own cones."""
    rows = []
    for k, direction in enumerate(DIRECTIONS):
        cells = [f"{found[MUJOCO][0][k]:.4f} m, {found[MUJOCO][1][k]:.2f}°"]
        for name in (ELLIPTIC, POINT, TRUTH):
            share, turn = _errors(found, name, MUJOCO)
            cells.append(f"{100 * share[k]:+.2f} %, {turn[k]:+.2f}°")
        rows.append([f"{direction:g}°", *cells])
    note = (
        f"Sliding box, steps of {1000 * FINE['timestep']:g} ms; the others as differences from MuJoCo. Like for like "
        "are the columns with an elliptic cone. The friction box is the ground truth above, equal to it along the axes "
        "only. On the diagonals MuJoCo takes a somewhat other way; a point mass with the elliptic cone goes where the "
        "analytic law goes. MuJoCo's contacts are soft; how soft was chosen among three settings."
    )
    columns = ["Direction", "MuJoCo, elliptic", "Coulomb, elliptic", "Point mass, elliptic", "Coulomb, box"]
    return Table("The ground truth against MuJoCo", columns, rows, note)


def _picture(kind: str, found) -> Plot:
    """Where the box ends, seen from above."""
    title = {"slide": "Sliding on its face", "throw": "Dropped flat from 0.3 m"}[kind]
    figure = figures.figure(f"{title}: distance and heading", "", "", height=440)
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
    figure.update_layout(
        polar={
            "radialaxis": {"ticksuffix": " m", "nticks": 4, "angle": 22.5, "tickangle": 22.5},
            "angularaxis": {"ticksuffix": "°", "dtick": 45},
        },
        margin={"l": 40, "r": 40, "t": 70, "b": 60},
    )
    return Plot(
        figure,
        "Seen from above, x to the right. Friction along y is twice that along x, so that it goes farther along x.",
    )
