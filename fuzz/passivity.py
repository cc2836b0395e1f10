"""The energy of whole throws with any law. `python -m fuzz.passivity --throws 10000`.

Contact must not add mechanical energy, height included, whatever a law returns: random networks, laws in Python that
push, materials and impact laws with restitution, on level and inclined ground, in whole steps and in steps that end at
impacts, and in MuJoCo on free bodies and chains. The figures are those of the worst throw, relative to the energy at
its start above the ground below it:

energy: how far kinetic and potential energy rise above those at the start, with everything that integration adds; not
    of chains in MuJoCo, whose integration may add energy and diverge
contact: the sum of what contact adds in the steps in which it adds some, p . v+ - |v+ - v'|^2 / 2 (docs/concepts.md);
    of whole steps only, since the impulses of cut steps are sums
other: the same of what else adds energy in steps with contact: penetration recovery and the gyroscopic torque

It fails if one of the first two exceeds 1e-9.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fuzz.worst_laws import RandomLaw, random_materials, random_networks
from stiction import AugmentedLaw, Body, CoulombLaw, InputError, Law, Material, Mode, State, load, rollout
from stiction.basics import files
from stiction.basics.progress import bar
from stiction.bodies.rotations import rotation_matrices
from stiction.laws.curves import Restitution
from stiction.laws.impact import ImpactLaw, ImpactMaterial
from stiction.mujoco import Simulation, body_of
from stiction.mujoco.mjcf import mujoco
from stiction_studies import results

TITLE = "Energy of throws"
BOUND = 1e-9  # of the energy at the start
_THROWS = 40  # with one law
_SECONDS = 0.2, 5.0  # of a throw
_SLOPES = 0.0, 0.0, 10.0, 30.0  # [degrees]
_BODIES: tuple[Callable[[], Body], ...] = (
    lambda: Body.box((0.2, 0.3, 0.4), 1.0),
    lambda: Body.box((0.1, 0.1, 0.1), 0.37, com=(0.001, -0.002, 0.006), rounding=0.002),
    lambda: Body.box((0.3, 0.2, 0.02), 0.5),
    lambda: Body.box((0.5, 0.05, 0.05), 0.4),
    lambda: Body.prism(6, 0.1, 0.05, 0.3),
    lambda: Body.rectangle((0.3, 0.2), 0.8),
)


class PushingLaw(Law):
    """Never static; friction along the slip or at random, of a thousandth to a hundred times the weight's impulse."""

    def __init__(self, body: Body, seed: int) -> None:
        self.body, self.rng = body, np.random.default_rng(seed)
        self.along = self.rng.uniform() < 0.5
        self.size = body.mass * 9.81 * self.timestep * 10 ** self.rng.uniform(-3, 2)

    def classify(self, contacts):
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        p_f = self.rng.normal(size=(len(dynamic), 3)) * [1.0, 1.0, 0.1 * self.body.diameter]
        if self.along:
            slip = contacts.slip[dynamic, :2]
            p_f[:, :2] = slip / np.maximum(np.linalg.norm(slip, axis=1, keepdims=True), 1e-300)
        return self.size * p_f


def _impact(body: Body, seed: int, timestep: float = 0.005, substeps: int = 4) -> ImpactLaw:
    rng = np.random.default_rng(seed)
    material = ImpactMaterial(
        restitution=rng.uniform(0, 1), restitution_fall=rng.uniform(-0.5, 1), restitution_threshold=rng.uniform(0, 0.2),
        friction=rng.uniform(0, 2), friction_loaded=rng.uniform(0, 2), friction_load=10 ** rng.uniform(-1, 3),
        friction_rise=rng.uniform(-0.5, 1), spin=rng.uniform(0, 3), lag=rng.uniform(0, 1),
        memory=int(rng.integers(1, 9)),
    )  # fmt: skip
    return ImpactLaw(body, material, timestep=timestep, substeps=substeps)


def _bouncing(body: Body, seed: int) -> Any:
    return Material.coulomb(0.1 * (seed % 10), restitution=0.25 * (1 + seed % 4)).on(body)


LAWS: dict[str, Callable[[Body, int], Any]] = {
    "untrained networks": lambda body, seed: AugmentedLaw.untrained(body, seed),
    "networks with weights of any size": random_networks,
    "laws that push": PushingLaw,
    "random answers": RandomLaw,
    "random materials": random_materials,
    "materials that bounce": _bouncing,
    "impact laws": _impact,
    "soft Coulomb friction": lambda body, seed: CoulombLaw(body, 0.1 * (seed % 10), softness=1e-3),
    "shipped laws": lambda body, seed: load(("box", "rectangle", "cube", "prism")[seed % 4]),
}
MATERIALS: dict[str, Callable[[np.random.Generator], Material]] = {  # at the points of MuJoCo
    "materials at points": lambda rng: Material.coulomb(rng.uniform(0, 1), restitution=rng.choice([0.0, 0.5, 1.0])),
    "soft materials at points": lambda rng: Material.soft(
        rng.uniform(0, 1), *rng.uniform(0, 0.02, 2), restitution=rng.choice([0.0, 0.5, 1.0])
    ),
    "materials with a lag at points": lambda rng: Material.soft(
        rng.uniform(0, 1), *rng.choice([0.0, 0.01], 2), parts=8,
        restitution=Restitution(rng.uniform(0, 1), lever=rng.uniform(-1, 3), lag=rng.uniform(0, 1)),
    ),
}  # fmt: skip
MUJOCO = ("untrained networks", "laws that push", "random answers", "impact laws", *MATERIALS)


@dataclass
class Gains:
    """Number of throws, and the greatest gains; NaN: not measured."""

    throws: int = 0
    energy: float = np.nan
    contact: float = np.nan
    other: float = np.nan

    def add(self, throws: int, **gains: np.ndarray) -> None:
        """Add the gains of some throws, each (n,)."""
        self.throws += throws
        for name, gain in gains.items():
            setattr(self, name, float(np.fmax(getattr(self, name), np.nan_to_num(gain, nan=np.inf).max())))


def energy_of(body: Body, run: Any, gravity: np.ndarray) -> np.ndarray:
    """Kinetic and potential energy [J] of all states (n, steps + 1), above the ground below each start."""
    R = rotation_matrices(run.quaternion)
    spin, arm = run.angular_velocity, R @ body.com
    velocity, place = run.velocity + np.cross(spin, arm), run.position + arm
    own = np.einsum("...ji,...j->...i", R, spin)
    place[..., :2] -= place[:, :1, :2].copy()
    kinetic = 0.5 * body.mass * (velocity**2).sum(-1) + 0.5 * np.einsum("...i,ij,...j", own, body.inertia, own)
    return kinetic - body.mass * (place @ gravity)


def contact_energy(body: Body, run: Any, gravity: np.ndarray) -> np.ndarray:
    """Mechanical energy [J] that contact adds in each whole step, p . v+ - |v+ - v'|^2 / 2, shape (n, steps)."""
    R = rotation_matrices(run.quaternion)
    spin = run.angular_velocity[:, 1:]
    velocity = run.velocity[:, 1:] + np.cross(spin, R[:, 1:] @ body.com)
    force, torque = run.impulse[..., :3], run.impulse[..., 3:]
    change, inverse = run.timestep * gravity + force / body.mass, np.linalg.pinv(body.inertia)
    if body.planar:
        change, inverse = change * [1, 0, 1], np.diag([0.0, 1 / body.inertia[1, 1], 0.0])
    own = np.einsum("...ji,...j->...i", R[:, :-1], torque)
    lost = 0.5 * body.mass * (change**2).sum(-1) + 0.5 * np.einsum("...i,ij,...j", own, inverse, own)
    work = (force * velocity).sum(-1) + (torque * spin).sum(-1)
    return np.where(run.impulse.any(-1), work - lost, 0.0)


def throw(
    rng: np.random.Generator, found: dict[str, Gains], name: str, seconds: tuple[float, float] = _SECONDS
) -> None:
    """Some throws with one law of this type."""
    seed = int(rng.integers(2**31))
    law = LAWS[name](_BODIES[rng.integers(len(_BODIES))](), seed)
    slope, heading = np.radians(rng.choice(_SLOPES)), rng.uniform(0, 2 * np.pi)
    down = np.array([np.cos(heading), 0.0 if law.body.planar else np.sin(heading), 0.0])
    gravity = 9.81 * (np.sin(slope) * down - np.cos(slope) * np.array([0, 0, 1]))
    substeps = int(rng.choice([0, law.substeps]))
    steps = int(rng.uniform(*seconds) / law.timestep)
    slides = rng.uniform() < 0.3  # from the start, instead of a fall
    ranges = {"height": (0.0, 1e-6), "vertical": (0.0, 0.0)} if slides else None
    start = State.random(law.body, _THROWS, seed=seed, ranges=ranges).raised(law.ground)
    run = rollout(law, start, steps, gravity=gravity, substeps=substeps, threads=1, finite=False)
    energy = energy_of(law.body, run, gravity)
    parts = {}
    if substeps == 0:
        contact = contact_energy(law.body, run, gravity)
        other = np.where(run.impulse.any(-1), np.diff(energy, axis=1) - contact, 0.0)
        parts = {
            name: np.maximum(x, 0.0).sum(axis=1) / energy[:, 0] for name, x in (("contact", contact), ("other", other))
        }
    found[name].add(_THROWS, energy=energy.max(axis=1) / energy[:, 0] - 1, **parts)


_LINK = '<geom type="box" size="{}" mass="{:.3g}"/>'
_SCENE = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="9 9 1" euler="{} 0 0"/>
<body name="a" pos="0 0 1.5"><freejoint/>{}{}</body></worldbody></mujoco>"""
_SECOND = '<body name="b" pos="0 0 0.3"><joint type="{}" axis="0 1 0.3" pos="0 0 -0.15"/>{}</body>'


def scene(
    rng: np.random.Generator, found: dict[str, Gains], name: str, seconds: tuple[float, float] = _SECONDS
) -> None:
    """A free box, or two on a joint, in MuJoCo, with a law of this type on each."""
    seed = int(rng.integers(2**31))
    sizes = rng.uniform(0.03, 0.12, (2, 3)).round(3)
    boxes = [_LINK.format(" ".join(map(str, size)), rng.uniform(0.2, 2)) for size in sizes]
    chain = _SECOND.format(rng.choice(["hinge", "ball"]), boxes[1]) if rng.uniform() < 0.5 else ""
    model = mujoco.MjModel.from_xml_string(_SCENE.format(rng.choice([0, 0, 10, 25]), boxes[0], chain))
    bodies = ["a", "b"] if chain else ["a"]
    if name in MATERIALS:
        laws = {body: MATERIALS[name](rng) for body in bodies}
    else:
        made = LAWS[name] if name != "impact laws" else lambda body, seed: _impact(body, seed, 0.002, 1)
        laws = {body: made(body_of(model, body), seed + k) for k, body in enumerate(bodies)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = Simulation(model, mujoco.MjData(model), laws=laws)
        sim.data.qpos[3:7] = rng.normal(size=4)
        sim.data.qvel[:] = rng.normal(0, 2, model.nv)
        mujoco.mj_normalizeQuat(model, sim.data.qpos)
        energies, added = [], 0.0
        for _ in range(int(rng.uniform(*seconds) / model.opt.timestep)):
            try:
                energy, contact = _step(sim, bodies)
            except InputError:  # MuJoCo's explicit integration of fast chains may diverge
                break
            energies.append(energy)
            added += max(0.0, contact)
    gains = {"contact": np.array([added / energies[0]])}
    if not chain:
        gains["energy"] = np.array([max(energies) / energies[0] - 1])
    found[f"{name}, {'chains' if chain else 'bodies'} in MuJoCo"].add(1, **gains)


def _step(sim: Simulation, bodies: list[str]) -> tuple[float, float]:
    """Energy before a step [J], and what contact adds to it in the step."""
    model, free = sim.model, mujoco.MjData(sim.model)
    mujoco.mj_copyData(free, model, sim.data)
    flags = model.opt.disableflags
    model.opt.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    mujoco.mj_forward(model, free)
    mujoco.mj_energyPos(model, free)
    mujoco.mj_energyVel(model, free)
    inertia, impulse = np.empty((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, free, inertia)
    before, fallen = free.qvel.copy(), free.qvel + model.opt.timestep * free.qacc
    model.opt.disableflags = flags
    sim.step()
    for body in bodies:  # from impulses: penetration recovery turns bodies, whose spins MuJoCo keeps in their own axes
        p, number = sim.contacts[body].impulse, model.body(body).id
        mujoco.mj_applyFT(model, free, p[:3], p[3:], free.xipos[number], number, impulse)
    after = fallen + np.linalg.solve(inertia, impulse)
    lost = 0.5 * (after - before) @ inertia @ (after - before)
    return float(free.energy.sum()), float(impulse @ after - lost) if impulse.any() else 0.0


def measured(throws: int, scenes: int, seed: int) -> dict[str, Gains]:
    """Greatest gains by type of law. Types take turns."""
    scenes_of = [f"{name}, {what} in MuJoCo" for name in MUJOCO for what in ("bodies", "chains")]
    found = {name: Gains() for name in (*LAWS, *scenes_of)}
    with bar("throws", throws + scenes) as shown:
        for number in range(-(-throws // _THROWS)):
            throw(np.random.default_rng([seed, number]), found, list(LAWS)[number % len(LAWS)])
            shown.reach(min(throws, (number + 1) * _THROWS))
        for number in range(scenes):
            scene(np.random.default_rng([seed, 1, number]), found, MUJOCO[number % len(MUJOCO)])
            shown.reach(throws + number + 1)
    return found


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.passivity", description=__doc__)
    parser.add_argument("--throws", type=int, default=10_000)
    parser.add_argument("--scenes", type=int, default=200, help="throws in MuJoCo")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a page, such as docs/hardening.md, whose table is filled")
    asked = parser.parse_args()
    found = measured(asked.throws, asked.scenes, asked.seed)
    rows = [
        (name, f"{one.throws:,}", *("-" if np.isnan(x) else f"{x:.1e}" for x in (one.energy, one.contact, one.other)))
        for name, one in found.items()
        if one.throws
    ]
    head = ("law", "throws", "energy", "contact", "other")
    table = Table(*head, title=TITLE)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)
    if asked.out:
        lines = [f"| {' | '.join(row)} |" for row in (head, ("---", *4 * ["---:"]), *rows)]
        text = results.filled(asked.out, {"passivity": {TITLE: "\n".join(lines)}}, others=True)
        files.write_whole(asked.out, text.encode())
    failed = [name for name, one in found.items() if one.contact > BOUND or one.energy > BOUND]
    for name in failed:
        print(f"{name}: contact adds energy")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
