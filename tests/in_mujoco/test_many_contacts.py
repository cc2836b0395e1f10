"""Groups of many contact points, which are solved on sparse rows."""

# pyright: reportAttributeAccessIssue=false

import mujoco
import numpy as np
import pytest

from stiction import Material
from stiction.mujoco import Simulation

FLOOR = '<geom name="floor" type="plane" size="5 5 .1"/>'


def arch(n: int = 9, inner: float = 0.3, outer: float = 0.4, depth: float = 0.05) -> str:
    """A semicircular arch of wedges, which stands by friction alone."""
    angles, meshes, bodies = np.linspace(0, np.pi, n + 1), "", ""
    for k in range(n):
        ends = [(np.cos(t), np.sin(t)) for t in angles[k : k + 2]]
        corners = np.array([(r * c, y, r * s) for c, s in ends for r in (inner, outer) for y in (-depth, depth)])
        middle = corners.mean(axis=0)
        meshes += f'<mesh name="m{k}" vertex="{" ".join(map("{:.9f}".format, (corners - middle).ravel()))}"/>'
        x, y, z = middle
        bodies += f'<body pos="{x} {y} {z}"><freejoint/><geom type="mesh" mesh="m{k}" density="2000"/></body>'
    return f"<mujoco><asset>{meshes}</asset><worldbody>{FLOOR}{bodies}</worldbody></mujoco>"


def tower(layers: int) -> str:
    """Layers of three blocks, every other one turned by 90 degrees; the blocks of a layer do not touch."""
    bodies = ""
    for layer in range(layers):
        for k in (-1, 0, 1):
            long, across = (0.0375, 0.0125) if layer % 2 else (0.0125, 0.0375)
            x, y = (0.0, 0.026 * k) if layer % 2 else (0.026 * k, 0.0)
            geom = f'<geom type="box" size="{long} {across} 0.0075" density="600"/>'
            bodies += f'<body pos="{x} {y} {0.0075 + 0.015 * layer}"><freejoint/>{geom}</body>'
    return f"<mujoco><worldbody>{FLOOR}{bodies}</worldbody></mujoco>"


def heap(n: int, seed: int) -> str:
    """Boxes, balls and capsules that fall into a pen without touching at first."""
    rng, bodies = np.random.default_rng(seed), ""
    shapes = ('type="box" size=".03 .025 .02"', 'type="sphere" size=".025"', 'type="capsule" size=".02 .025"')
    for k in range(n):
        x, y = 0.1 * (k % 2) - 0.05, 0.1 * (k // 2 % 2) - 0.05
        a, b, c = rng.uniform(0, 180, 3)
        place = f'pos="{x} {y} {0.06 + 0.1 * (k // 4)}" euler="{a} {b} {c}"'
        bodies += f"<body {place}><freejoint/><geom {shapes[k % 3]}/></body>"
    for x, y in ((0.12, 0), (-0.12, 0), (0, 0.12), (0, -0.12)):
        size = ".01 .12 .3" if x else ".12 .01 .3"
        bodies += f'<geom type="box" size="{size}" pos="{x} {y} .3"/>'
    return f"<mujoco><worldbody>{FLOOR}{bodies}</worldbody></mujoco>"


def simulation(xml: str, friction: float = 0.6) -> Simulation:
    return Simulation(mujoco.MjModel.from_xml_string(xml), laws={("*", "*"): Material.coulomb(friction)})


@pytest.mark.parametrize("xml", [arch(), tower(6)], ids=["arch", "tower"])
def test_what_stands_by_friction_does_not_creep(xml):
    sim = simulation(xml)
    sim.step(300)
    before, steps = sim.data.qpos.copy(), sim.core.newton_steps
    sim.step(300)
    assert sim.unsolved == 0 and np.abs(sim.data.qpos - before).max() < 1e-11
    assert sim.core.newton_steps - steps < 900  # a step starts from the solution of the one before


def test_nearly_all_steps_of_a_falling_heap_are_solved():
    sim = simulation(heap(12, seed=0))
    for _ in range(500):
        sim.step()
        assert sim.core.work <= 1e-12
    assert sim.unsolved <= 0.03 * sim.core.contact_steps
    assert sim.report().to_dict()["unsolved"] == sim.unsolved


def test_an_arch_without_enough_friction_falls():
    sim = simulation(arch(), friction=0.1)
    sim.step()
    top = sim.data.xpos[5, 2]
    sim.step(500)
    assert sim.data.xpos[5, 2] < top - 0.1


@pytest.mark.parametrize("damping", [0, 20])
def test_velocities_of_coupled_damped_joints_are_predicted(damping):
    """Twelve boxes on sliders are coupled by equalities: MuJoCo mostly obtains at once what was predicted."""
    bodies = equalities = ""
    for k in range(12):
        joints = "".join(
            f'<joint name="{axis}{k}" type="slide" axis="{vector}" damping="{damping}" armature=".1"/>'
            for axis, vector in (("x", "1 0 0"), ("z", "0 0 1"))
        )
        bodies += f'<body pos="{0.3 * k} 0 .05">{joints}<geom type="box" size=".05 .05 .05" mass=".5"/></body>'
        if k:
            equalities += f'<joint joint1="x{k}" joint2="x{k - 1}"/>'
    xml = f"<mujoco><worldbody>{FLOOR}{bodies}</worldbody><equality>{equalities}</equality></mujoco>"
    sim = simulation(xml, friction=0.2)
    sim.data.qvel[::2] = 1.0
    sim.step(200)
    assert sim.unsolved == 0 and sim.core.rounds <= 1.5 * sim.core.contact_steps
    assert len(sim.core.points()[0]) >= 24 and np.ptp(sim.data.qvel[::2]) < 1e-3


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_a_heap_that_bounces_gains_no_energy(integrator):
    xml = heap(8, seed=1).replace("<mujoco>", f'<mujoco><option integrator="{integrator}"/>')
    sim = Simulation(mujoco.MjModel.from_xml_string(xml), laws={("*", "*"): Material.coulomb(0.4, restitution=0.5)})
    sim.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    sim.step()
    before = start = sim.data.energy.sum()
    for _ in range(300):
        sim.step()
        mujoco.mj_energyPos(sim.model, sim.data), mujoco.mj_energyVel(sim.model, sim.data)
        now = sim.data.energy.sum()
        assert now <= before + 1e-3 * start
        before = now
    assert before < 0.7 * start
