"""Meshes that stand for smooth surfaces touch as these do; faces of polyhedra keep their points."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from stiction import Material
from stiction.mujoco import Simulation
from stiction.mujoco.smooth_meshes import smooth_mesh, smooth_meshes

mujoco: Any = pytest.importorskip("mujoco")

A, B, C = 0.07, 0.056, 0.05  # [m] semi-axes
WIDTH = 0.02
MASS = '<inertial pos="0 0 0" mass="0.15" diaginertia="0.00015 0.00023 0.00015"/>'


def text(vertices: Any) -> str:
    return " ".join(f"{x:.9g}" for x in np.ravel(vertices))


def prism(sides: int, a: float = A, c: float = C, width: float = WIDTH) -> str:
    """An elliptic cylinder along y."""
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    return text([(a * np.cos(t), y, c * np.sin(t)) for t in angle for y in (-width, width)])


def ellipsoid(sides: int) -> str:
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    tilt = np.pi * np.arange(1, sides // 2) / (sides // 2)
    ring = [(A * np.sin(s) * np.cos(t), B * np.sin(s) * np.sin(t), C * np.cos(s)) for s in tilt for t in turn]
    return text([(0, 0, C), (0, 0, -C), *ring])


def rounded_box(half: float, radius: float, steps: int) -> str:
    """A box with all edges rounded."""
    angle = np.linspace(0, np.pi / 2, steps)
    around = [(np.cos(t) * np.cos(u), np.cos(t) * np.sin(u), np.sin(t)) for t in angle for u in angle]
    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return text([np.array(s) * (half - radius + radius * np.array(p)) for s in signs for p in around])


def model(geom: str, vertices: str = "", more: str = "", inertia: str = "") -> Any:
    mesh = f'<asset><mesh name="m" vertex="{vertices}"/></asset>' if vertices else ""
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.002"/>{mesh}<worldbody><geom name="floor" type="plane" size="5 5 1"/>'
        f'<body name="part"><freejoint/>{inertia}{geom}</body>{more}</worldbody></mujoco>'
    )


def landed(one: Any, height: float, angle: float, velocity: Any, material: Material, **options: Any) -> np.ndarray:
    """Velocities 10 ms after a body starts so far above the ground."""
    sim = Simulation(one, laws={"part": material}, **options)
    sim.data.qpos[:] = 0, 0, height, np.cos(angle / 2), 0, np.sin(angle / 2), 0
    sim.data.qvel[:] = velocity
    sim.step(5)
    return sim.data.qvel.copy()


@pytest.mark.parametrize("vertices", [prism(240), ellipsoid(100)], ids=["prism", "ellipsoid"])
def test_the_impact_of_a_mesh_is_that_of_the_smooth_body(vertices):
    mesh = model('<geom type="mesh" mesh="m"/>', vertices, inertia=MASS)
    smooth = model(f'<geom type="ellipsoid" size="{A} {B} {C}"/>', inertia=MASS)
    rng = np.random.default_rng(1)
    errors, facets = [], []
    for _ in range(30):
        angle = rng.uniform(0, np.pi)
        height = np.hypot(A * np.sin(angle), C * np.cos(angle)) + rng.uniform(0.0002, 0.0008)
        velocity = rng.uniform(-1, 1), 0, rng.uniform(-2, -0.5), 0, rng.uniform(-15, 15), 0
        material = Material.coulomb(0.3, restitution=rng.choice([0.0, 0.5]))
        wanted = landed(smooth, height, angle, velocity, material)
        for found, options in ((errors, {"smooth": 5.0}), (facets, {"smooth": 0.0})):
            found.append(np.abs(landed(mesh, height, angle, velocity, material, **options) - wanted)[:3].max())
    assert np.mean(errors) < 0.005 < 0.01 < np.mean(facets)


def test_a_cylinder_as_a_mesh_rolls_down_a_slope_and_stands_on_its_end():
    disc = model('<geom type="mesh" mesh="m" mass="1"/>', prism(120, 0.05, 0.05))
    sim = Simulation(disc, laws={"part": 0.5}, smooth=5.0)
    sim.model.opt.gravity[:] = 9.81 * np.sin(0.1), 0, -9.81 * np.cos(0.1)
    sim.data.qpos[2] = 0.05
    sim.step(500)
    assert sim.data.qvel[0] == pytest.approx(2 / 3 * 9.81 * np.sin(0.1), rel=1e-3)
    assert len(sim.contacts["part"].points) == 2 and abs(sim.data.qvel[2]) < 1e-4
    sim = Simulation(disc, laws={"part": 0.5}, smooth=5.0)
    sim.data.qpos[:] = 0, 0, WIDTH, np.sqrt(0.5), np.sqrt(0.5), 0, 0
    sim.step(200)
    assert len(sim.contacts["part"].points) >= 3 and np.abs(sim.data.qvel).max() < 1e-9


def test_a_mesh_that_is_smooth_by_parts_does_not_sink_in():
    """Twelve meridians of ten rings: some of its edges are flatter than others."""
    turn, polar = 2 * np.pi * np.arange(12) / 12, np.arange(1, 11) * np.pi / 11
    ring = [(np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)) for a in polar for b in turn]
    vertices = np.array([0.06, 0.05, 0.04]) * np.array([(0.0, 0.0, 1.0), *ring, (0.0, 0.0, -1.0)])
    sim = Simulation(model('<geom type="mesh" mesh="m" mass="1"/>', text(vertices)), laws={"part": 0.5})
    sim.data.qpos[2], sim.data.qvel[:] = 0.08, [0.8, 0.2, 0, 2, 6, 1]
    for _ in range(500):
        sim.step()
        assert not sim.data.ncon or sim.data.contact.dist.min() > -1e-9


@pytest.mark.parametrize(
    "vertices", [text([(x, y, z) for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]), prism(12)]
)
def test_polyhedra_are_not_smooth(vertices):
    one = model('<geom type="mesh" mesh="m"/>', vertices)
    assert smooth_meshes(one, [1], 5.0) == {}


@pytest.mark.parametrize("smooth", [0.0, 5.0])
def test_a_box_with_rounded_edges_rests_on_its_face(smooth):
    one = model('<geom type="mesh" mesh="m" mass="1"/>', rounded_box(0.05, 0.005, 25))
    sim = Simulation(one, laws={"part": 0.5}, smooth=smooth)
    sim.data.qpos[2] = 0.05
    sim.step(100)
    places = sim.contacts["part"].points
    assert len(places) >= 3 and np.ptp(places[:, :2], axis=0).min() > 0.08
    assert np.abs(sim.data.qvel).max() < 1e-9 and sim.data.qpos[2] == pytest.approx(0.05, abs=1e-6)
    sim.data.qvel[4] = 1.0  # tips it a little
    sim.step(500)
    assert np.abs(sim.data.qvel).max() < 1e-6


def test_curvatures_are_those_of_the_smooth_surface():
    vertices = np.fromstring(prism(240), sep=" ").reshape(-1, 3)
    found = smooth_mesh(vertices, ConvexHull(vertices).simplices, np.radians(5.0))
    assert found is not None and len(found.normals) == 242
    lateral = np.abs(found.normals[:, 1]) < 0.5
    wanted = np.linalg.norm(found.normals[lateral] * [A, 0, C], axis=1) ** 3 / (A * C) ** 2
    trace = np.trace(found.curvatures[lateral], axis1=1, axis2=2)
    assert lateral.sum() == 240 and trace == pytest.approx(wanted, rel=2e-3) and not found.curvatures[~lateral].any()


def test_a_box_stands_on_a_large_drum_as_on_a_smooth_one():
    drum = '<geom name="drum" type="mesh" mesh="m" pos="0 0 1"/>'
    top = '<body name="box" pos="0.002 0 1.525"><freejoint/><geom type="box" size=".02 .02 .02" mass="1"/></body>'
    one = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="m" vertex="{prism(240, 0.5, 0.5, 0.3)}"/></asset>'
        f"<worldbody>{drum}{top}</worldbody></mujoco>"
    )
    sim = Simulation(one, laws={"box": 0.8})
    sim.step(1000)
    assert abs(sim.data.qpos[0]) < 0.01 and sim.data.qpos[2] == pytest.approx(1.52, abs=1e-3) and sim.unsolved == 0
