"""A soak test: bodies and robots that are simulated for very long. `python -m fuzz.soak --steps 1e9`.

Each round is drawn from the seed and its own number, so that the same command continues a soak that was stopped, with
the same figures except time and memory. It fails if a motion is not finite, if a body sinks into the ground, if a
body at rest creeps, or if a body gains energy (fuzz.passivity has more laws, and slopes).
"""

import argparse
import contextlib
import hashlib
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fuzz.counts import Counts
from fuzz.robots import case as robot_case
from stiction import AugmentedLaw, Body, CoulombLaw, Kind, Material, Mode, State, load, rollout
from stiction.basics import files
from stiction.basics.progress import bar
from stiction_studies import results

TITLE = "A soak"
MAX_DEPTH, MAX_CREEP = 0.1, 1e-9  # penetration relative to the diameter (a fast body reaches it in one step); [m]
MAX_GAIN = 1e-9  # of energy over a throw, relative to that at its start
_BODIES, _STEPS, _EVERY = 128, 16_000, 400  # of one round: 32 s, in which penetration is recovered and bodies settle
_MODELS, _ROBOT_STEPS = 10, 20  # robots of one round, and steps of each (fuzz.robots)
_LAWS: dict[str, Callable[[int], Any]] = {
    "box": lambda seed: load("box"),
    "rectangle": lambda seed: load("rectangle"),
    "cube": lambda seed: load("cube"),
    "Coulomb": lambda seed: CoulombLaw(Body.box((0.2, 0.3, 0.4), 1.0), 0.5, softness=0.0),
    "soft Coulomb": lambda seed: CoulombLaw(Body.box((0.2, 0.3, 0.4), 1.0), 0.5),
    "Coulomb on a nut": lambda seed: Material.coulomb(0.3).on(Body.prism(6, 0.1, 0.05, 0.3)),
    "stribeck on a rod": lambda seed: load("stribeck").on(Body.box((0.5, 0.05, 0.05), 0.4)),
    "random networks": lambda seed: AugmentedLaw.untrained(Body.box((0.2, 0.2, 0.3), 2.0), seed),
}
_WEIGHTS = {"soft Coulomb": 0.25}  # relative frequency: it never settles, and costs ten times as much
# Laws whose bodies come to rest exactly.
_RESTING = ("box", "rectangle", "Coulomb", "soft Coulomb", "Coulomb on a nut", "stribeck on a rod")


@dataclass
class Figures:
    """Figures so far.

    depth: greatest penetration relative to the diameter; creep: greatest motion of a body at rest [m]
    gain: greatest relative increase of energy over a throw; violation: greatest violation of physics by robots
    bits: digest of all final states, the same on all machines of one type
    first_memory, memory: peak memory after the first rounds and at the end [bytes]
    """

    rounds: int = 0
    body_steps: int = 0
    robot_steps: int = 0
    contacts: int = 0
    depth: float = 0.0
    creep: float = 0.0
    gain: float = 0.0
    violation: float = 0.0
    failures: list[str] = field(default_factory=list)
    bits: str = ""
    seconds: float = 0.0
    first_memory: int = 0
    memory: int = 0


def body_round(rng: np.random.Generator, found: Figures) -> None:
    """Throw many bodies and simulate them until they are at rest, and further."""
    often = np.array([_WEIGHTS.get(name, 1.0) for name in _LAWS])
    name = str(rng.choice(list(_LAWS), p=often / often.sum()))
    seed = int(rng.integers(2**31))
    law = _LAWS[name](seed)
    start = State.random(law.body, _BODIES, seed=seed).raised(law.ground)
    run = rollout(law, start, _STEPS, every=_EVERY)
    lowest = _lowest(law, run.position[:, 1:], run.quaternion[:, 1:])
    found.depth = max(found.depth, float(-lowest.min() / law.body.diameter))
    if not np.isfinite(run.position).all() or found.depth > MAX_DEPTH:
        found.failures.append(f"round {found.rounds}, {name}: depth {found.depth:.3g}")
    energy = _energy(law, run)
    gain = float((energy.max(axis=1) / energy[:, 0] - 1).max())
    found.gain = max(found.gain, gain)
    if gain > MAX_GAIN:
        found.failures.append(f"round {found.rounds}, {name}: energy gained {gain:.3g}")
    late = 3 * run.steps // 4
    still = ((run.mode[:, late:] == Mode.STATIC) & (run.kind[:, late:] == _footing(law))).all(axis=1)
    still &= np.linalg.norm(run.velocity[:, late + 1], axis=-1) < 1e-3
    if name in _RESTING and still.any():
        moved = float(np.ptp(run.position[still, late + 1 :, :2], axis=1).max())  # not z: penetration is recovered
        found.creep = max(found.creep, moved)
        if moved > MAX_CREEP:
            found.failures.append(f"round {found.rounds}, {name}: creep {moved:.3g} m")
    found.body_steps += _BODIES * _STEPS
    found.contacts += int((run.kind != Kind.NONE).sum()) * _EVERY
    found.bits = hashlib.sha256(found.bits.encode() + run.position[:, -1].tobytes()).hexdigest()


def robot_round(rng: np.random.Generator, found: Figures) -> None:
    """Simulate random MuJoCo models with materials and laws."""
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # for MuJoCo's log
        for _ in range(_MODELS):
            with counts.attempt():
                robot_case(rng, counts)
    found.robot_steps += _MODELS * _ROBOT_STEPS
    found.violation = max(found.violation, counts.violation or 0.0)
    found.failures += [f"round {found.rounds}: {failure[:300]}" for failure in counts.failures]


def _footing(law: Any) -> Kind:
    """The kind of patch of a body at rest."""
    return Kind.LINE if law.body.planar else Kind.SURFACE


def _lowest(law: Any, position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Heights of the lowest points above the ground [m]."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    return position[..., 2] + (up @ law.body.vertices.T).min(axis=-1) - law.body.rounding - law.ground


def _energy(law: Any, run: Any) -> np.ndarray:
    """Kinetic and potential energy above the ground [J], of bodies whose frames are at their centres of mass."""
    w, x, y, z = np.moveaxis(run.quaternion, -1, 0)
    spin = run.angular_velocity
    axis = np.stack([x, y, z], axis=-1)
    turned = spin - 2 * w[..., np.newaxis] * np.cross(axis, spin) + 2 * np.cross(axis, np.cross(axis, spin))
    turning = np.einsum("...i,ij,...j->...", turned, law.body.inertia, turned)
    moving = law.body.mass * (run.velocity**2).sum(axis=-1)
    return 0.5 * (moving + turning) + 9.81 * law.body.mass * (run.position[..., 2] - law.ground)


def soak(steps: float, seed: int, kept: Path | None, minutes: float = np.inf) -> Figures:
    """Run rounds up to this many body steps, or minutes; kept: file of the figures, to be continued."""
    found = Figures()
    if kept is not None and kept.exists():
        found = Figures(**json.loads(kept.read_text()))
    start, before = time.monotonic(), found.seconds
    with bar("body steps", steps, done=found.body_steps) as shown:
        while found.body_steps < steps and time.monotonic() - start < 60 * minutes:
            rng = np.random.default_rng([seed, found.rounds])
            (robot_round if found.rounds % 5 == 4 else body_round)(rng, found)
            found.rounds += 1
            found.seconds = before + time.monotonic() - start
            found.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            if found.rounds == 2 * len(_LAWS):
                found.first_memory = found.memory
            if kept is not None:
                files.write_json(kept, asdict(found))
            shown.reach(found.body_steps)
    return found


def rows_of(found: Figures) -> list[tuple[str, str]]:
    """The rows of the table."""
    return [
        ("body steps", f"{found.body_steps:,}"),
        ("of them in contact, about", f"{found.contacts:,}"),
        ("steps of random robots", f"{found.robot_steps:,}"),
        ("failures", str(len(found.failures))),
        ("greatest penetration, relative to the diameter", f"{found.depth:.1e}"),
        ("greatest creep of a body at rest [m]", f"{found.creep:.1e}"),
        ("greatest relative increase of energy over a throw", f"{found.gain:.1e}"),
        ("greatest violation of physics in robots", f"{found.violation:.1e}"),
        (
            "memory after the first rounds, and at the end [MB]",
            f"{found.first_memory / 1e6:.0f}, {found.memory / 1e6:.0f}",
        ),
        ("time [s]", f"{found.seconds:.0f}"),
        ("digest of all final states", found.bits[:16]),
    ]


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.soak", description=__doc__)
    parser.add_argument("--steps", type=float, default=1e9, help="total steps of bodies")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kept", type=Path, help="file of the figures, from which a stopped soak continues")
    parser.add_argument("--out", type=Path, help="a page, such as docs/hardening.md, whose table is filled")
    asked = parser.parse_args()
    found = soak(asked.steps, asked.seed, asked.kept, asked.minutes)
    table = Table("", "", title=TITLE, show_header=False)
    for row in rows_of(found):
        table.add_row(*map(escape, row))
    Console().print(table)
    for failure in found.failures[:20]:
        print(failure)
    if asked.out:
        lines = ["|  |  |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows_of(found))]
        text = results.filled(asked.out, {"soak": {TITLE: "\n".join(lines)}}, others=True)
        files.write_whole(asked.out, text.encode())
    return int(bool(found.failures))


if __name__ == "__main__":
    sys.exit(main())
