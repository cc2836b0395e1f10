"""Laws that bounce inside MuJoCo: the law `cube` as it is, links of robots, and what no bounce may do."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from scipy.spatial.transform import Rotation

import stiction
from standing_robot import FEET, joint_targets, standing
from stiction import Body, CoulombLaw, InputError, Material, Mode, State, _core
from stiction.mujoco import Simulation
from stiction.mujoco.plan import max_substep
from stiction_studies.robots.cube_in_mujoco import draw_tosses, follow
from toss_files import impact_law

H = 0.002
DIE = Body.box((0.1, 0.1, 0.1), 0.37, rounding=0.002)
MOMENTS = " ".join(f"{moment:.17g}" for moment in np.diag(DIE.inertia))
SHAPE = f'<inertial pos="0 0 0" mass="0.37" diaginertia="{MOMENTS}"/><geom type="box" size=".05 .05 .05" contype="2"/>'
FREE = f'<body name="a" pos="0 0 0.2"><freejoint/>{SHAPE}</body>'
PAIR = (  # two dice on a ball joint
    f'<body name="a" pos="0 0 0.25"><freejoint/>{SHAPE}<body name="b" pos="0.15 0 0"><joint type="ball" '
    f'pos="-0.075 0 0"/>{SHAPE}</body></body>'
)
HINGED = f'<body name="a" pos="0 0 0.3"><joint axis="0 1 0"/><body name="b" pos="0.3 0 0">{SHAPE}</body></body>'


def world(inside: str, timestep: float = H, ground: str = ""):
    """A model with a floor, or another ground, and `inside` the world."""
    ground = ground or '<geom type="plane" size="5 5 .1" conaffinity="2"/>'
    option = f'<option timestep="{timestep:.17g}"><flag energy="enable"/></option>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{ground}{inside}</worldbody></mujoco>")


def law(restitution: float = 0.5, friction: float = 0.3, substeps: int = 0, **more):
    material = dict(restitution=restitution, friction=friction, friction_loaded=friction, **more)
    return impact_law(DIE, timestep=H, substeps=substeps, **material)


@pytest.mark.parametrize(("timestep", "parts"), [(0.002, 2), (1 / 148, 4)])
def test_the_cube_follows_its_own_rollout(timestep, parts):
    """To 5 % of its width in the median: measured are 1 to 2 %."""
    found = follow(stiction.load("cube"), draw_tosses(24, seed=3), timestep)
    assert found.parts == parts and found.unsolved == 0 and found.contact_steps > 24 * 50
    figures = found.figures()
    assert figures["mean_error"] < 0.03 and figures["greatest_error"] < 0.05


def test_whole_steps_of_a_free_body_are_those_of_a_rollout():
    sim = Simulation(world(FREE), laws={"a": law()}, tolerance=1e-12)
    start = State((0, 0, 0.2), (0.8, 0.36, 0.48, 0), (1.0, -0.5, 0.0), (1.0, 3.0, -2.0))
    spin = Rotation.from_quat(start.quaternion, scalar_first=True).inv().apply(start.angular_velocity)
    sim.reset(qpos=[*start.position, *start.quaternion], qvel=[*start.velocity, *spin])
    run = stiction.rollout(law(), start, steps=400)
    for k in range(400):
        sim.step()
        assert np.abs(sim.data.qpos[:3] - run.position[k + 1]).max() < 1e-8
        assert sim.contacts["a"].mode == run.mode[k]
    assert run.velocity[:, 2].max() > 0.3 and (run.mode == Mode.DYNAMIC).sum() > 50


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.9])
def test_a_link_bounces_as_fast_as_it_arrives(restitution):
    """A die on an arm: after the impact it turns back with e times its speed, but for what gravity adds in the step."""
    sim = Simulation(world(HINGED), laws={"b": law(restitution, friction=0.0, restitution_threshold=0.0)})
    bounces = 0
    for _ in range(400):
        speed = sim.data.qvel[0]
        sim.step()
        if sim.contacts["b"].impulse[2] > 0 and speed > 1.0:
            gained = sim.core.V_free[4] - speed  # of the link, which turns as the arm does
            wanted = gained - restitution * speed if restitution else 0.0
            assert sim.data.qvel[0] == pytest.approx(wanted, abs=1e-9)
            bounces += 1
    assert bounces > 0


def contact_work(sim) -> tuple[float, float]:
    """Kinetic energy that the last step's contact has added to the system [J], and its greatest part."""
    core = sim.core
    V, after = core.V_free, core.predicted
    p = np.concatenate([core.link_statistics[k]["impulse"] for k in core.touching])
    return float(0.5 * p @ (V + after)), float(np.abs(p) @ np.abs(V))


def separation(sim, name: str, twist: np.ndarray) -> float:
    """The smallest upward speed of the contact points of a body for a twist [m/s]."""
    arms = sim.contacts[name].points - sim.core.centre(sim.model.body(name).id)
    return float((twist[:3] + np.cross(twist[3:], arms))[:, 2].min())


@pytest.mark.parametrize("seed", range(12))
def test_bounces_add_no_energy_and_pull_nothing(seed):
    """Two dice on a joint, thrown, with any restitution and friction."""
    rng = np.random.default_rng(seed)
    restitution = (0.3, 0.6, 0.9, 1.0)[seed % 4]
    rule = law(restitution, rng.uniform(0, 1.2), spin=rng.uniform(0, 2), restitution_threshold=0.02 * (seed % 2))
    model = world(PAIR)
    sim = Simulation(model, laws={"a": rule, "b": rule})
    sim.data.qpos[3:7] = Rotation.random(rng=rng).as_quat(scalar_first=True)
    sim.data.qvel[:] = rng.normal(0, 2, model.nv)
    fastest = 0.0
    for _ in range(300):
        sim.step()
        touching = sim.core.touching
        if len(touching) == 0:
            continue
        gained, scale = contact_work(sim)
        assert gained <= 1e-9 * scale
        for row, link in enumerate(touching):
            impulse = sim.core.link_statistics[link]["impulse"]  # pyright: ignore
            assert impulse[2] >= 0.0 and (impulse[2] > 0.0 or not impulse.any())
            after = sim.core.predicted[6 * row : 6 * row + 6]
            speed = separation(sim, "ab"[link], after)
            assert speed > -1e-9
            fastest = max(fastest, speed)
    assert np.isfinite(sim.data.qpos).all() and fastest > 0.01


@pytest.mark.parametrize("seed", range(4))
def test_a_free_body_never_gains_energy(seed):
    """Kinetic and potential energy together: they rise only where what has sunk in is raised, 1 mm/s at most."""
    rng = np.random.default_rng(seed)
    sim = Simulation(world(FREE), laws={"a": law((0.3, 0.7, 0.9, 1.0)[seed], rng.uniform(0, 1))})
    sim.data.qpos[3:7] = Rotation.random(rng=rng).as_quat(scalar_first=True)
    sim.data.qvel[:] = rng.normal(0, 2, 6)
    energy = np.zeros(500)
    for k in range(500):
        sim.step()
        energy[k] = sim.data.energy.sum()  # at the start of the step
    assert np.diff(energy).max() < 0.37 * 9.81 * 1e-3 * H * 1.001
    assert sim.contacts["a"].steps > 2


def test_it_comes_to_rest_and_stays():
    sim = Simulation(world(FREE), laws={"a": law(0.4, substeps=4)})
    sim.data.qvel[:] = [0.5, 0.2, 0, 1, 2, 3]
    for _ in range(1500):
        sim.step()
    start = sim.data.qpos.copy()
    for _ in range(200):
        sim.step()
    assert sim.contacts["a"].mode == Mode.STATIC
    assert np.abs(sim.data.qpos - start)[[0, 1, 3, 4, 5, 6]].max() < 1e-9


def test_it_bounces_off_a_slope_as_on_level_ground():
    """A drop along the normal of a tilted plane, without gravity, ends at e times its speed along the normal."""
    turn = Rotation.from_rotvec([0.3, -0.4, 0.0])
    quaternion = " ".join(f"{q:.17g}" for q in turn.as_quat(scalar_first=True))
    model = world(
        f'<frame quat="{quaternion}">{FREE}</frame>', ground=f'<geom type="plane" size="5 5 .1" quat="{quaternion}"/>'
    )
    model.opt.gravity[:] = 0.0
    sim = Simulation(model, laws={"a": law(0.5, restitution_threshold=0.0)})
    sim.data.qvel[:3] = turn.apply([0, 0, -1.5])
    for _ in range(120):
        sim.step()
    assert turn.inv().apply(sim.data.qvel[:3]) == pytest.approx([0, 0, 0.75], abs=1e-9)


def test_parts_of_a_step_add_up():
    """Time, impulses and counts are those of whole steps, and the model keeps its time step."""
    sim = Simulation(world(FREE), laws={"a": law(0.4, substeps=3)})
    assert _core.substeps_of(H, max_substep([law(substeps=3)])) == 3
    sim.data.qpos[3:7] = Rotation.from_rotvec([0.4, 0.7, 0.2]).as_quat(scalar_first=True)
    momentum, touched = [], 0
    for _ in range(400):
        before = 0.37 * sim.data.qvel[:3].copy()
        sim.step()
        gravity = np.array([0, 0, -9.81 * 0.37 * H])
        momentum.append(0.37 * sim.data.qvel[:3] - before - gravity - sim.contacts["a"].impulse[:3])
        touched += sim.contacts["a"].kind > 0
    assert np.abs(momentum).max() < 1e-12
    assert sim.contacts["a"].steps == touched > 10
    assert sim.data.time == pytest.approx(400 * H) and sim.model.opt.timestep == H


def test_a_step_that_fails_in_parts_leaves_the_time_step():
    class Failing(CoulombLaw):
        substeps = 4

    sim = Simulation(world(FREE), laws={"a": Failing(DIE, 0.3, softness=0.0)})
    mujoco.set_mjcb_passive(lambda m, d: 1 / 0)
    try:
        with pytest.raises(ZeroDivisionError):
            sim.step()
    finally:
        mujoco.set_mjcb_passive(None)
    assert sim.model.opt.timestep == H


def test_a_robot_trots_on_feet_that_bounce():
    foot = Body.box((0.16, 0.08, 0.03), 0.4)
    rule = impact_law(foot, timestep=0.002, substeps=0, restitution=0.3, friction=0.8, friction_loaded=0.8)
    sim = standing(dict.fromkeys(FEET, rule), 0.08)
    for k in range(600):
        sim.data.ctrl[:] = joint_targets(H * k, 1.0)
        sim.step()
    trunk = sim.model.body("trunk").id
    assert sim.data.xpos[trunk, 2] > 0.3 and sim.data.xmat[trunk, 8] > 0.95
    assert max(contact.unsolved for contact in sim.contacts.values()) < 0.05 * 600


def test_a_material_that_bounces():
    """Its restitution acts on links, too."""
    material = Material.coulomb(0.4, restitution=0.5)
    sim = Simulation(world(FREE), laws={"a": material.on(Body.box((0.1, 0.1, 0.1), 0.37), timestep=H)})
    for _ in range(200):
        down = sim.data.qvel[2]
        sim.step()
        if sim.data.qvel[2] > 0.1:
            break
    assert sim.data.qvel[2] == pytest.approx(-0.5 * down, rel=0.05)


def test_refuses_what_cannot_go_together():
    model = world(PAIR)
    with pytest.raises(InputError, match="bounces, which the method 'powell' cannot solve"):
        Simulation(model, laws={"a": law()}, method="powell")
    learned = stiction.AugmentedLaw.untrained(DIE, seed=0)
    with pytest.raises(InputError, match=r"The law of 'b' holds for steps of 0.002 s only, .* into 4 sub-steps"):
        Simulation(model, laws={"a": law(substeps=4), "b": learned})
    with pytest.raises(InputError, match="do not have the shape"):
        Simulation(world(FREE.replace(".05 .05 .05", ".05 .05 .052")), laws={"a": law()})
