"""A block at rest on the flat and on a slope, below and above the friction angle: which simulators creep, and which
slide with the right acceleration.

The slope is a flat ground under tilted gravity, which is equivalent and fits every engine.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction.basics.environment import needs
from stiction.bodies.body import Body
from stiction.bodies.state import State
from stiction.bodies.trajectory import Trajectory
from stiction.laws.coulomb import CoulombLaw
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study, number, percent

DURATION = {"quick": 10.0, "usual": 60.0, "full": 60.0}  # [s] at rest
FRICTION, G, TIMESTEP = 1.0, 9.81, 0.002  # the coefficient of the law `box`; its friction angle is 45°
BELOW, ABOVE = (0.0, 30.0, 40.0), 50.0  # slopes [degrees]
SETTLING, SLIDING = 1.0, 1.0  # [s] before creep is measured, and during which the acceleration is
Throw = Callable[..., Trajectory]  # (start, steps, gravity=)


def tilted(angle: float) -> NDArray[np.float64]:
    """Gravity (3,) [m/s^2] on a slope of `angle` [degrees] that falls along x."""
    a = np.radians(angle)
    return G * np.array([np.sin(a), 0.0, -np.cos(a)])


def simulators(body: Body) -> dict[str, Throw]:
    """Functions that simulate the block, by name of the law or engine; engines that are not installed are left out."""

    laws = {
        "stiction, learned box": load("box"),
        "stiction, CoulombLaw, rigid": CoulombLaw(body, FRICTION, cone="dart", softness=0.0),
        "stiction, CoulombLaw, soft as DART": CoulombLaw(body, FRICTION, cone="dart"),
    }
    found: dict[str, Throw] = {name: partial(rollout, law, timestep=TIMESTEP) for name, law in laws.items()}
    if find_spec("dartpy"):
        from stiction import dart

        found["DART"] = partial(dart.throw, body, friction=FRICTION, timestep=TIMESTEP)
    if find_spec("mujoco"):
        from stiction.mujoco import plain_throw

        found["MuJoCo"] = partial(plain_throw.throw, body, friction=FRICTION, timestep=TIMESTEP)
        found["MuJoCo, elliptic, noslip"] = partial(
            found["MuJoCo"], contact=plain_throw.SoftContact("elliptic", noslip=10)
        )
    if find_spec("pybullet"):
        from stiction_studies.engines import bullet_engine

        found["Bullet"] = partial(bullet_engine.throw, body, friction=FRICTION, timestep=TIMESTEP)
    return found


def at_rest(body: Body) -> State:
    """The block at rest on its widest face, its longest edge along the slope."""
    half = np.sqrt(0.5)
    return State((0.0, 0.0, body.size[0] / 2), (half, 0.0, half, 0.0))


def creep(run: Trajectory) -> NDArray[np.float64]:
    """Distance along the ground [m] from the position after SETTLING, shape (steps,) from then on."""
    path = run.position[round(SETTLING / run.timestep) :, :2]
    return np.linalg.norm(path - path[0], axis=1)


def acceleration(run: Trajectory) -> float:
    """Mean acceleration down the slope in the last SLIDING seconds [m/s^2]."""
    return float((run.velocity[-1, 0] - run.velocity[-1 - round(SLIDING / run.timestep), 0]) / SLIDING)


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Simulate the block at rest and sliding, print the table, write the results and publish the section."""
    study = Study(out, "slope", scale, seed)
    body = load("box").body
    steps, sliding = round((SETTLING + DURATION[scale]) / TIMESTEP), round((SLIDING + 0.5) / TIMESTEP)
    paths: dict[tuple[str, float], NDArray] = {}
    measured: dict[str, float] = {}
    with Console(stderr=True).status("") as status:
        for name, throw in simulators(body).items():
            status.update(f"At rest and sliding: {name}")
            for angle in BELOW:
                paths[name, angle] = creep(throw(at_rest(body), steps, gravity=tilted(angle)))
            measured[name] = acceleration(throw(at_rest(body), sliding, gravity=tilted(ABOVE)))
    exact = G * (np.sin(np.radians(ABOVE)) - FRICTION * np.cos(np.radians(ABOVE)))
    content = {
        "friction": FRICTION,
        "timestep_s": TIMESTEP,
        "at_rest_s": DURATION[scale],
        "sliding_slope_degrees": ABOVE,
        "wanted_acceleration_m_per_s2": exact,
        "runs": {
            name: {
                "creep_m": {f"{angle:g}": float(paths[name, angle].max()) for angle in BELOW},
                "acceleration_m_per_s2": value,
                "acceleration_error_share": value / exact - 1,
            }
            for name, value in measured.items()
        },
    }
    text = [
        "A block rests on the flat and on slopes of 30° and 40° with a friction coefficient of 1, whose friction angle "
        "is 45°: it must not move. Engines with soft contacts, or with approximate contact solvers, let it creep, a "
        "common complaint of their users. On a slope of 50° it must slide with g (sin a - mu cos a).",
        "Engines run with their own defaults at the same time step; MuJoCo a second time with its elliptic cone and "
        "its noslip solver, which are meant to help here; Bullet without damping; DART as the ground truth of this "
        "page.",
    ]
    plots = [_creep_plot({name: paths[name, BELOW[-1]] for name in measured}, BELOW[-1])]
    section = Section(study.name, "At rest, and on a slope", text, study.command, [_table(content)], plots)
    every = round(0.1 / TIMESTEP)
    parts = [
        {"run": name, "angle": angle, "time": TIMESTEP * every * np.arange(len(path)), "creep": path}
        for (name, angle), path in ((key, path[::every]) for key, path in paths.items())
    ]
    study.finish(section, content, parts)


def _table(content: dict[str, Any]) -> Table:
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
    if "Bullet" not in content["runs"]:
        note += f" {needs('Bullet is left out; its row', 'pybullet')}"
    return Table("Creep at rest, and acceleration above the friction angle", columns, rows, note)


def _length(metres: float) -> str:
    for unit, factor in (("m", 1.0), ("mm", 1e3), ("µm", 1e6), ("nm", 1e9)):
        if metres * factor >= (1e-3 if unit == "nm" else 1):
            return f"{number(metres * factor)} {unit}"
    return "0" if metres == 0 else f"{metres:.0e} m"


def _creep_plot(paths: dict[str, NDArray], angle: float) -> Plot:
    """Creep over time on one slope."""
    figure = figures.figure(f"Creep on a slope of {angle:g}°", "time [s]", "distance [m]")
    smallest = 1e-12  # [m]
    for name, colour in figures.run_colours(paths).items():
        path = np.maximum(paths[name][::50], smallest)
        time = TIMESTEP * 50 * np.arange(len(path))
        figure.add_scatter(x=time, y=path, mode="lines", name=name, line={"color": colour, "width": 2})
    figure.update_yaxes(**figures.log_axis(-12, 1, 3))
    return Plot(figure, f"Logarithmic; everything below {smallest:g} m, also zero, is drawn at {smallest:g} m.")
