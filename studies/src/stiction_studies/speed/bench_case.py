"""Common parts of the cases of the bench: how much is measured, in which worlds, and the figures and their table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.laws.law import GRAVITY, Law
from stiction.laws.learned import LearnedLaw
from stiction.simulation.motion import Setting
from stiction.simulation.rollout import Stepper
from stiction_studies.engines import worlds
from stiction_studies.engines.worlds import Engine, World
from stiction_studies.page.section import Table
from stiction_studies.timing import Run, least_times, pinned, timed_steps


class Who:
    """The contestants, as the tables name them."""

    STEPPED, ROLLED = "stiction, a call a step", "stiction, one call"
    MUJOCO, MUJOCO_ROLLED, DART, BULLET = "MuJoCo, mj_step", "MuJoCo, rollout", "DART", "Bullet"
    LAW = "MuJoCo with our law"


class Phase:
    """The parts of a motion, as the tables name them."""

    FLIGHT, CONTACT, FREE, WHOLE = "in flight", "in contact", "clear of the ground", "whole throw"


SETTING = Setting(0.002, np.array(GRAVITY))  # of all worlds

Progress = Callable[[str, int], Callable[[], object]]  # (what, turns) -> function that counts a turn


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    repeats: turns of each contestant, of which the least times count; rounds: those of long pieces of work
    throws: of a single body; batch: of many at once; steps: of a throw
    points: numbers of contact points; limit: time for one contestant on one number of them [s]
    swings: of the chain; swing_steps: of a swing
    bodies: numbers of bodies whose memory is measured
    """

    repeats: int
    rounds: int
    throws: int
    batch: int
    limit: float
    swings: int
    bodies: tuple[int, ...]
    steps: int = 800
    swing_steps: int = 1000
    points: tuple[int, ...] = (4, 16, 64, 256, 1024)


SCALES = {
    "quick": Scale(repeats=8, rounds=5, throws=8, batch=512, limit=0.5, swings=1, bodies=(1, 1000)),
    "usual": Scale(repeats=12, rounds=7, throws=24, batch=1024, limit=4.0, swings=4, bodies=(1, 1000)),
    "full": Scale(repeats=25, rounds=9, throws=64, batch=1024, limit=30.0, swings=10, bodies=(1, 1000, 100_000)),
}

Figures = dict[str, dict[str, float]]  # contestant -> quantity -> figure


@dataclass
class Measured:
    """One run of a case.

    figures: of each contestant, in the order of `quantities`; a quantity that was not measured is missing
    ours: contestant -> the one of ours that does the same, which its figures are divided by
    notes: sentences below the table
    extra: further entries of the JSON file
    """

    title: str
    unit: str
    quantities: list[str]
    figures: Figures
    ours: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def ratio(self, contestant: str, quantity: str) -> float | None:
        """Return a contestant's figure over ours; None where one of them is missing."""
        reference = self.figures.get(self.ours.get(contestant, ""), {}).get(quantity)
        own = self.figures.get(contestant, {}).get(quantity)
        return own / reference if own is not None and reference else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for the JSON file."""
        ratios = {
            name: {q: value for q in self.quantities if (value := self.ratio(name, q)) is not None}
            for name in self.ours
        }
        return {
            "title": self.title,
            "unit": self.unit,
            "figures": self.figures,
            "times_ours": ratios,
            "notes": self.notes,
            **self.extra,
        }


Case = Callable[[Scale, int, Progress], Measured]


class StepperWorld(World):
    """A body with a law, stepped by stiction.Stepper."""

    def __init__(self, law: Law, states: State) -> None:
        self.states, self.stepper = states, Stepper(law, states[0])
        self.step = self.stepper.step

    def put(self, start: int) -> None:
        self.stepper.state = self.states[start]

    def n_contacts(self) -> int:
        return int(self.stepper.kind)  # in contact or not; the patch has no list of points


class LawWorld(World):
    """A model in MuJoCo, some bodies of which touch the ground by a law of ours.

    angles: joint positions at the starts, (n, nq), all at rest
    """

    def __init__(self, model_text: str, names: tuple[str, ...], law: Law, angles: NDArray[np.float64]) -> None:
        from stiction.mujoco.simulation import Simulation, mujoco  # only where MuJoCo is installed

        self.simulation = Simulation(mujoco.MjModel.from_xml_string(model_text), laws={name: law for name in names})
        self.angles, self.data = angles, self.simulation.data
        self.step = self.simulation.step

    def put(self, start: int) -> None:
        self.simulation.reset(qpos=self.angles[start])

    def n_contacts(self) -> int:
        return sum(contact.kind > 0 for contact in self.simulation.contacts.values())


def friction_of(law: LearnedLaw) -> float:
    """Return the friction coefficient of the throws that a law was learned from, which its peers get too."""
    return float(law.info["plan"]["truth"]["friction"][0])


def peers(*names: str) -> tuple[dict[str, Engine], list[str]]:
    """Return the simulators of these contestants that are installed, and a sentence for each that is not."""
    engines = {Who.MUJOCO: worlds.MUJOCO, Who.DART: worlds.DART, Who.BULLET: worlds.BULLET}
    there = worlds.installed()
    found = {name: there[engines[name]] for name in names if engines[name] in there}
    return found, [f"{engines[name]} is not installed and was left out." for name in names if name not in found]


def step_all(world: World, n_starts: int, steps: int) -> NDArray[np.float64]:
    """Return the time of each step from each start [s], (starts, steps)."""
    times = np.empty((n_starts, steps))
    for i in range(n_starts):
        world.put(i)
        times[i] = timed_steps(world.step, steps)
    return times


def in_contact(world: World, n_starts: int, steps: int) -> NDArray[np.bool_]:
    """Return in which steps the body touches, as its own simulator reports it, (starts, steps)."""
    return np.array([world.counts(i, steps) > 0 for i in range(n_starts)])


def time_in_turn(what: str, runs: dict[str, Run], repeats: int, progress: Progress) -> dict[str, NDArray[np.float64]]:
    """Return the least times of all contestants, on one core."""
    with pinned():
        return least_times(runs, repeats, progress(what, len(runs) * (repeats + 1)))


def microseconds(times: NDArray[np.float64], phases: dict[str, Any]) -> dict[str, float]:
    """Return the mean of the times [s] in each phase in microseconds; a phase without steps is left out."""
    return {name: 1e6 * float(np.mean(times[chosen])) for name, chosen in phases.items() if times[chosen].size}


def table(runs: list[Measured]) -> Table:
    """Return one table of the runs of a case: medians of the figures, and the least and greatest ratio to ours."""
    first = runs[0]
    rows = []
    for name in first.figures:
        rows.append([name, *(_cell(runs, name, quantity) for quantity in first.quantities)])
    notes = list(first.notes)
    if first.ours:
        spread = f", least to greatest of {len(runs)} runs" if len(runs) > 1 else ""
        notes.append(f"In brackets: times ours{spread}.")
    return Table(f"{first.title} [{first.unit}]", ["", *first.quantities], rows, " ".join(notes))


def _cell(runs: list[Measured], name: str, quantity: str) -> str:
    measured = [run for run in runs if quantity in run.figures[name]]
    if not measured:
        return "–"
    text = shown(float(np.median([run.figures[name][quantity] for run in measured])))
    ratios = [ratio for run in measured if (ratio := run.ratio(name, quantity)) is not None]
    return f"{text} ({spread(ratios)})" if ratios else text


def spread(values: list[float]) -> str:
    """Return a number, or the least and the greatest of several where they differ as shown."""
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low}–{high}"


def shown(value: float) -> str:
    """Return a number with three digits, thousands with commas."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - int(np.floor(np.log10(abs(value)))))}f}"
