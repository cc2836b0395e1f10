"""A block at rest on the flat and on a slope, below and above the friction angle: who creeps, and who slides right.

The slope is a flat ground under tilted gravity, which is the same and fits every engine.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State, Trajectory
from stiction.laws.coulomb import CoulombLaw
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study, joined, number, percent

DURATION = {"quick": 10.0, "usual": 60.0, "full": 60.0}  # [s] at rest
FRICTION, G, TIMESTEP = 1.0, 9.81, 0.002  # the coefficient that the law `box` has learned; its friction angle is 45°
BELOW, ABOVE = (0.0, 30.0, 40.0), 50.0  # slopes [degrees]
SETTLING, SLIDING = 1.0, 1.0  # [s] before creep is measured, and during which the acceleration is
_SMALLEST = 1e-12  # [m] creep below it is drawn at it
Throw = Callable[[State, int, NDArray[np.float64]], Trajectory]
_TEXT = [
    "A block lies on the flat and on slopes of 30° and 40° with a friction coefficient of 1, whose friction angle is "
    "45°: it must not move. Engines that soften contact, or solve it only nearly, let it creep, which their "
    "users complain of. On a slope of 50° it must slide with g (sin a - mu cos a).",
    "Engines run with their own defaults at the same time step; MuJoCo a second time with its elliptic cone and its "
    "solver against slip, which are meant to help here; Bullet without damping; DART as the ground truth of this page.",
]


def tilted(angle: float) -> NDArray[np.float64]:
    """Gravity (3,) [m/s^2] on a slope of `angle` [degrees] that falls along x."""
    a = np.radians(angle)
    return G * np.array([np.sin(a), 0.0, -np.cos(a)])


def contestants(body: Body) -> dict[str, Throw]:
    """How each of them simulates the block, by name; an engine that is not installed is left out."""

    def law(one) -> Throw:
        return lambda state, steps, gravity: rollout(one, state, steps, timestep=TIMESTEP, gravity=gravity)

    def engine(throw: Callable[..., Trajectory], **options: Any) -> Throw:
        options |= {"friction": FRICTION, "timestep": TIMESTEP}
        return lambda state, steps, gravity: throw(body, state, steps, gravity=gravity, **options)

    found = {
        "stiction, learned box": law(load("box")),
        "stiction, CoulombLaw, rigid": law(CoulombLaw(body, FRICTION, softness=0.0)),
        "stiction, CoulombLaw, soft as DART": law(CoulombLaw(body, FRICTION)),
    }
    if find_spec("dartpy"):
        from stiction import dart

        found["DART"] = engine(dart.throw)
    if find_spec("mujoco"):
        from stiction.mujoco import plain_throw

        found["MuJoCo"] = engine(plain_throw.throw)
        found["MuJoCo, elliptic, noslip"] = engine(plain_throw.throw, cone="elliptic", noslip=10)
    if find_spec("pybullet"):
        from stiction_studies.engines import bullet_engine

        found["Bullet"] = engine(bullet_engine.throw)
    return found


def lying(body: Body) -> State:
    """The block at rest on its widest face, its longest edge along the slope."""
    half = np.sqrt(0.5)
    return State((0.0, 0.0, body.size[0] / 2), (half, 0.0, half, 0.0))


def creep(run: Trajectory) -> NDArray[np.float64]:
    """Distance along the ground [m] from where the block was after SETTLING, shape (steps,) from then on."""
    path = run.position[round(SETTLING / run.timestep) :, :2]
    return np.linalg.norm(path - path[0], axis=1)


def acceleration(run: Trajectory) -> float:
    """Mean acceleration down the slope in the last SLIDING seconds [m/s^2]."""
    return float((run.velocity[-1, 0] - run.velocity[-1 - round(SLIDING / run.timestep), 0]) / SLIDING)


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Let the block lie and slide in all of them, print the table, write results and publish the section."""
    study = Study(out, "slope", scale, seed)  # nothing is drawn
    body = load("box").body
    steps, sliding = round((SETTLING + DURATION[scale]) / TIMESTEP), round((SLIDING + 0.5) / TIMESTEP)
    paths: dict[tuple[str, float], NDArray] = {}
    sped: dict[str, float] = {}
    with Console(stderr=True).status("") as status:
        for name, throw in contestants(body).items():
            status.update(f"Lying and sliding: {name}")
            for angle in BELOW:
                paths[name, angle] = creep(throw(lying(body), steps, tilted(angle)))
            sped[name] = acceleration(throw(lying(body), sliding, tilted(ABOVE)))
    wanted = G * (np.sin(np.radians(ABOVE)) - FRICTION * np.cos(np.radians(ABOVE)))
    content = _content(paths, sped, wanted, DURATION[scale])
    plots = [_picture(paths, sped, BELOW[-1])]
    tables = [_table(content, bool(find_spec("pybullet")))]
    section = Section(study.name, "At rest, and on a slope", _TEXT, study.command, tables, plots)
    study.finish(section, content, _rows(paths), "dartpy", "mujoco-core", "pybullet")


def _rows(paths: dict[tuple[str, float], NDArray]) -> dict[str, NDArray]:
    """Columns of all paths, thinned to ten a second."""
    every = round(0.1 / TIMESTEP)
    thin = {key: path[::every] for key, path in paths.items()}
    parts = [
        {"run": name, "angle": angle, "time": TIMESTEP * every * np.arange(len(path)), "creep": path}
        for (name, angle), path in thin.items()
    ]
    return joined(parts)


def _content(paths, sped, wanted: float, duration: float) -> dict[str, Any]:
    runs = {}
    for name, value in sped.items():
        runs[name] = {
            "creep_m": {f"{angle:g}": float(paths[name, angle].max()) for angle in BELOW},
            "acceleration_m_per_s2": value,
            "acceleration_error_share": value / wanted - 1,
        }
    return {
        "friction": FRICTION,
        "timestep_s": TIMESTEP,
        "at_rest_s": duration,
        "sliding_slope_degrees": ABOVE,
        "wanted_acceleration_m_per_s2": wanted,
        "runs": runs,
    }


def _table(content: dict[str, Any], bullet: bool) -> Table:
    rows = []
    for name, run in content["runs"].items():
        cells = [_length(run["creep_m"][f"{angle:g}"]) for angle in BELOW]
        rows.append([name, *cells, percent(run["acceleration_error_share"])])
    columns = ["", "Flat", *(f"Slope {angle:g}°" for angle in BELOW[1:]), f"Acceleration at {ABOVE:g}°, error"]
    note = (
        "Flat and slopes below the friction angle: greatest distance moved along the ground in "
        f"{content['at_rest_s']:g} s, after {SETTLING:g} s in which soft contacts may settle. The acceleration is "
        f"that of {SLIDING:g} s after half a second, against {content['wanted_acceleration_m_per_s2']:.3f} m/s². Less "
        "than 1e-15 m is rounding."
    )
    if not bullet:
        note += f" {needs('Bullet is left out; its row', 'pybullet')}"
    return Table("Creep at rest, and acceleration above the friction angle", columns, rows, note)


def _length(metres: float) -> str:
    for unit, factor in (("m", 1.0), ("mm", 1e3), ("µm", 1e6), ("nm", 1e9)):
        if metres * factor >= (1e-3 if unit == "nm" else 1):
            return f"{number(metres * factor)} {unit}"
    return "0" if metres == 0 else f"{metres:.0e} m"


def _picture(paths, sped, angle: float) -> Plot:
    """Creep over time of all of them on one slope."""
    figure = figures.figure(f"Creep on a slope of {angle:g}°", "time [s]", "distance [m]")
    for name, colour in figures.run_colours(sped).items():
        path = np.maximum(paths[name, angle][::50], _SMALLEST)
        time = TIMESTEP * 50 * np.arange(len(path))
        figure.add_scatter(x=time, y=path, mode="lines", name=name, line={"color": colour, "width": 2})
    figure.update_yaxes(**figures.log_axis(-12, 1, 3))
    return Plot(figure, f"Logarithmic; {_SMALLEST:g} m stands for everything below it, zero too.")
