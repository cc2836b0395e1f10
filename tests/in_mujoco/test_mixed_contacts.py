"""stiction.mujoco with laws of bodies and materials of pairs in one simulation."""

import copy
import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import stiction
from standing_robot import FEET, MODEL, STANCE, joint_targets
from stiction import CoulombLaw, InputError, Law, Material, Mode
from stiction.mujoco import Simulation, body_of

HAND = (
    '<body name="hand" pos="0.36 0 0"><geom type="box" size="0.03 0.06 0.01" mass="0.2"/>'
    '<body name="left" pos="0.04 0.035 0"><joint name="left" type="slide" axis="0 -1 0" damping="5"/>'
    '<geom type="box" size="0.02 0.005 0.03" mass="0.05" contype="2" conaffinity="2"/></body>'
    '<body name="right" pos="0.04 -0.035 0"><joint name="right" type="slide" axis="0 1 0" damping="5"/>'
    '<geom type="box" size="0.02 0.005 0.03" mass="0.05" contype="2" conaffinity="2"/></body></body>'
)
CUBE = (
    '<body name="cube" pos="0.4 0 0.402"><freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.1" contype="3" '
    'conaffinity="3"/></body>'
)
GRIP = '<motor joint="left" gear="10"/><motor joint="right" gear="10"/></actuator>'


def model_of(inside: str, rest: str = "", option: str = ""):
    """A model with a floor and `inside` the world."""
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.002" {option}/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>'
        f"{inside}</worldbody>{rest}</mujoco>"
    )


def box(name: str, size: float, z: float, mass: float = 1.0, x: float = 0.0) -> str:
    """A free cube of half the edge `size`."""
    return (
        f'<body name="{name}" pos="{x} 0 {z}"><freejoint/><geom name="{name}_geom" type="box" '
        f'size="{size} {size} {size}" mass="{mass}"/></body>'
    )


def rigid(model, name: str, friction: float = 0.5) -> CoulombLaw:
    """A law without softness for a body of the model."""
    return CoulombLaw(body_of(model, name), friction, timestep=0.002, softness=0.0)


def stacked(mass: float = 1.0, option: str = "") -> Simulation:
    """A box that stands on the floor by its law, and a box on it by a material."""
    model = model_of(box("low", 0.1, 0.1) + box("up", 0.08, 0.281, mass), option=option)
    return Simulation(model, laws={"low": rigid(model, "low"), ("up", "low"): 0.6})


def walker(laws) -> Simulation:
    """A quadruped that stands, with a gripper on its trunk around a cube."""
    text = MODEL.replace("</worldbody>", CUBE + "</worldbody>").replace("</actuator>", GRIP)
    at = text.index('<body name="front_left_thigh"')
    model = mujoco.MjModel.from_xml_string(text[:at] + HAND + text[at:])
    sim = Simulation(model, laws=laws)
    angles = joint_targets()
    for k, leg in enumerate(("front_left", "front_right", "rear_left", "rear_right")):
        for j, joint in enumerate(("hip", "knee", "ankle")):
            sim.data.joint(f"{leg}_{joint}").qpos[0] = angles[3 * k + j]
            sim.data.ctrl[3 * k + j] = angles[3 * k + j]
    sim.data.ctrl[-2:] = 1.0
    sim.data.joint("root").qpos[2] = STANCE + 0.051
    return sim


def energy(sim: Simulation) -> float:
    """Kinetic and potential [J]."""
    mujoco.mj_forward(sim.model, sim.data)
    mujoco.mj_energyPos(sim.model, sim.data)
    mujoco.mj_energyVel(sim.model, sim.data)
    return float(sim.data.energy.sum())


@pytest.mark.parametrize("foot", ["foot", "rigid"])
def test_a_robot_stands_by_its_laws_and_holds_a_cube_by_a_material(foot):
    law = CoulombLaw(stiction.load("foot").body, 0.8, softness=0.0) if foot == "rigid" else "foot"
    sim = walker({**dict.fromkeys(FEET, law), ("cube", "left"): 0.7, ("cube", "right"): Material.coulomb(0.7)})
    sim.step(1500)
    start = sim.data.qpos.copy()
    sim.step(1000)
    assert np.abs(sim.data.qpos - start).max() < 1e-9
    assert all(sim.contacts[name].mode == Mode.STATIC for name in (*FEET, ("cube", "left"), ("cube", "right")))
    assert all(sim.contacts[name].impulse[2] > 0 for name in FEET)
    assert sim.unsolved <= 5


@pytest.mark.parametrize("mass", [0.1, 1.0, 10.0, 100.0])
def test_a_box_with_a_law_carries_a_box_with_a_material_without_creep(mass):
    sim = stacked(mass)
    sim.data.qvel[:2] = 0.5, 0.2  # the lower one slides from under the other, and stops
    sim.step(1500)
    assert sim.data.qpos[0] > 0.003
    start = sim.data.qpos.copy()
    sim.step(1000)
    assert np.abs(sim.data.qpos - start).max() < 1e-11
    weight = 9.81 * 0.002
    assert sim.contacts["low"].impulse[2] == pytest.approx((1 + mass) * weight, rel=1e-6)
    assert sim.contacts["up", "low"].impulse[2] == pytest.approx(mass * weight, rel=1e-6)
    assert sim.unsolved <= 2


@pytest.mark.parametrize("option", ['integrator="implicitfast"', 'integrator="implicit"'])
def test_other_integrators(option):
    sim = stacked(2.0, option)
    sim.step(800)
    start = sim.data.qpos.copy()
    sim.step(500)
    assert np.abs(sim.data.qpos - start).max() < 1e-11
    assert not sim.unsolved


def test_contact_adds_no_energy_and_never_pulls():
    rng = np.random.default_rng(3)
    for _ in range(6):
        model = model_of(box("low", 0.1, 0.1) + box("up", 0.08, 0.281, float(rng.uniform(0.2, 5.0))))
        sim = Simulation(model, laws={"low": rigid(model, "low"), "up": 0.6})
        sim.data.qpos[2], sim.data.qpos[9] = 0.15, 0.4
        sim.data.qvel[:] = rng.normal(0, 1.5, sim.model.nv)
        before = energy(sim)
        for _ in range(400):
            sim.step()
            assert sim.contacts["low"].impulse[2] >= 0
            pair = sim.contacts["up"]
            assert (np.einsum("ki,ki->k", pair.impulses, pair.normals) >= 0).all()
        assert energy(sim) < before
        assert sim.unsolved <= 4


def test_objects_that_do_not_touch_each_other_move_as_they_do_alone():
    falls = box("law", 0.1, 0.4) + box("pair", 0.05, 0.3, x=1.0) + box("top", 0.04, 0.5, x=1.0)

    def run(keys):
        model = model_of(falls)
        laws = {"law": rigid(model, "law"), ("pair", "*"): 0.5}
        sim = Simulation(model, laws={key: laws[key] for key in keys})
        sim.data.qvel[:] = np.random.default_rng(0).normal(0, 1, sim.model.nv)
        sim.step(500)
        return sim.data.qpos.copy()

    both, own, pairs = run(["law", ("pair", "*")]), run(["law"]), run([("pair", "*")])
    assert np.abs(both[:7] - own[:7]).max() < 1e-9
    assert np.abs(both[7:] - pairs[7:]).max() < 1e-9


def test_a_law_that_steps_in_parts_beside_a_stack():
    law = stiction.load("cube")
    half, (xx, yy, zz) = 0.5 * np.ptp(law.body.vertices, axis=0)[0] + law.body.rounding, np.diag(law.body.inertia)
    cube = (
        f'<body name="cube" pos="0 0 0.2" euler="20 30 40"><freejoint/><inertial pos="0 0 0" mass="{law.body.mass}" '
        f'diaginertia="{xx} {yy} {zz}"/><geom type="box" size="{half} {half} {half}"/></body>'
    )
    model = model_of(cube + box("a", 0.05, 0.05, x=1.0) + box("b", 0.05, 0.15, x=1.0))
    sim = Simulation(model, laws={"cube": law, ("a", "*"): 0.6}, fit=0.05)
    alone = Simulation(model_of(cube), laws={"cube": law}, fit=0.05)
    sim.step(200)
    alone.step(200)
    assert sim.contacts["cube"].steps == alone.contacts["cube"].steps > 0
    assert np.abs(sim.data.qpos[:7] - alone.data.qpos).max() < 1e-8
    start = sim.data.qpos[7:].copy()
    sim.step(300)
    assert np.abs(sim.data.qpos[7:] - start).max() < 1e-11
    assert sim.contacts["a", "*"].steps == sim.steps
    assert sim.contacts["a", "*"].impulse[2] == pytest.approx(9.81 * 0.002, rel=1e-6)  # of all parts of the step


def test_a_material_on_a_pair_takes_ground_from_a_law():
    ramp = '<geom name="ramp" type="box" size="0.5 0.5 0.1" pos="2 0 0.2"/>'
    inside = ramp + box("foot", 0.1, 0.41, x=2.0) + box("ball", 0.05, 0.56, x=2.0)
    model = model_of(inside)
    laws = {"foot": rigid(model, "foot"), ("foot", "ramp"): 0.0, ("foot", "ball"): 0.4}
    sim = Simulation(model, laws=laws)
    sim.step(100)
    assert sim.contacts["foot"].kind == 0  # on the ramp the material holds
    assert sim.contacts["foot", "ramp"].impulse[2] > 0
    assert sim.contacts["foot", "ball"].impulse[2] < 0  # the ball presses on the foot
    assert sim.uncovered == {"foot": 0}
    sim.data.qpos[[0, 7]], sim.data.qpos[[2, 9]] = 0.0, (0.101, 0.251)
    sim.data.qvel[:] = 0.0
    sim.step(100)
    assert sim.contacts["foot"].mode == Mode.STATIC
    assert sim.contacts["foot", "ramp"].kind == 0
    assert sim.uncovered == {"foot": 0}


@pytest.mark.parametrize(
    ("keys", "by_law"),
    [
        (["foot", "*"], True),
        (["*", "foot"], True),
        (["foot", "slab"], True),
        (["slab", "foot"], False),
        (["foot", "top"], False),
        (["foot", ("foot", "slab")], False),
    ],
)
def test_the_most_special_key_wins_and_of_equals_the_first(keys, by_law):
    slab = '<body name="slab" pos="0 0 0.1"><geom name="top" type="box" size="1 1 0.1"/></body>'
    model = model_of(slab + box("foot", 0.1, 0.3))
    laws = {key: rigid(model, "foot") if key == "foot" else Material.coulomb(0.3) for key in keys}
    sim = Simulation(model, laws=laws)
    sim.step(20)
    assert (sim.contacts["foot"].kind > 0) == by_law
    other = next(key for key in keys if key != "foot")
    assert (sim.contacts[other].kind > 0) == (not by_law)


@pytest.mark.parametrize(
    ("key", "pair", "message"),
    [
        ("foot", ("foot", "floor"), "has a learned law, but no ground for it"),
        (("foot", "floor"), "foot", "its key must be that body, not a pair"),
        ("foot", ("foot", "nobody"), "no body, geom, material or class 'nobody'"),
        ("nobody", ("foot", "floor"), "no body, geom, material or class 'nobody'"),
    ],
)
def test_refuses(key, pair, message):
    model = model_of(box("foot", 0.1, 0.1))
    with pytest.raises(InputError, match=message):
        Simulation(model, laws={key: rigid(model, "foot"), pair: 0.3})
    assert not model.geom_gap.any()  # nothing has been changed


def test_goes_on_bit_for_bit_from_a_copy_a_pickle_and_a_saved_state():
    sim = stacked()
    sim.data.qvel[:] = 0.3
    sim.step(60)
    state, twin, other = sim.save(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))
    sim.step(60)
    end, counts = sim.save(), sim.core.counts
    for copied in (twin, other):
        copied.step(60)
        assert (copied.save() == end).all()
        assert copied.unsolved == sim.unsolved
        assert (copied.core.counts == counts).all() and copied.contacts["low"].steps == sim.contacts["low"].steps  # pyright: ignore
    sim.restore(state)
    sim.step(60)
    assert (sim.save() == end).all()
    with pytest.raises(InputError, match="other laws"):
        sim.restore(state[: mujoco.mj_stateSize(sim.model, mujoco.mjtState.mjSTATE_INTEGRATION)])
    sim.reset()
    assert sim.steps == sim.unsolved == sim.contacts["low"].steps == sim.contacts["up", "low"].steps == 0
    fresh = stacked()
    sim.step(50)
    fresh.step(50)
    assert (sim.save() == fresh.save()).all()


def test_many_motions_are_those_of_one_simulation():
    sim = stacked()
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(sim.model, kind))
    mujoco.mj_getState(sim.model, sim.data, start, kind)
    starts = np.stack([start, start, start])
    starts[1, -3] = 0.5
    laws = {"low": rigid(sim.model, "low"), ("up", "low"): 0.6}
    data = [mujoco.MjData(sim.model) for _ in range(2)]
    states, _ = stiction.mujoco.rollout(sim.model, data, starts, nstep=40, laws=laws)
    sim.step(40)
    mujoco.mj_getState(sim.model, sim.data, start, kind)
    assert (states[0, -1] == start).all()
    assert (states[2] == states[0]).all()


class Failing(Law):
    """A law without friction that fails after so many questions."""

    def __init__(self, body, asked: int) -> None:
        self.body, self.left = body, asked

    def classify(self, contacts):
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        self.left -= 1
        if self.left < 0:
            raise KeyError("lost")
        return np.zeros((len(dynamic), 3))


def test_an_error_of_a_law_leaves_the_step_untaken():
    model = model_of(box("low", 0.1, 0.1) + box("up", 0.08, 0.2801))
    law = Failing(body_of(model, "low"), 20)
    sim = Simulation(model, laws={"low": law, ("up", "low"): 0.6})
    sim.data.xfrc_applied[1] = 0.1
    with pytest.raises(KeyError, match="lost"):
        for _ in range(40):
            before = sim.save()
            sim.step()
    assert (sim.save() == before).all()
    law.left = 1000
    sim.step()
    assert sim.data.xfrc_applied[1].tolist() == [0.1] * 6


def test_mujocos_own_reset_is_reported_and_leaves_no_force():
    sim = stacked()
    sim.step(5)
    sim.data.xfrc_applied[2, 0] = 1e300
    with pytest.raises(InputError, match="MuJoCo found a bad number in its accelerations"):
        sim.step()
    assert sim.data.time < 0.01  # anew
    assert not sim.data.xfrc_applied.any()


def test_nan_and_a_changed_time_step_are_reported():
    sim = stacked()
    sim.step(3)
    sim.model.opt.timestep = 0.003
    with pytest.raises(InputError, match=r"The law of 'low' is for steps of 0.002 s, the model has 0.003 s"):
        sim.step()
    sim.model.opt.timestep = 0.002
    sim.data.qvel[0] = np.nan
    with pytest.raises(InputError, match="is not finite before step 3"):
        sim.step()


def test_forces_on_bodies_and_touch_sensors_feel_both():
    model = model_of(
        box("low", 0.1, 0.1)
        + '<body name="up" pos="0 0 0.2801"><freejoint/><geom type="box" size=".08 .08 .08" mass="1"/>'
        '<site name="skin" type="box" size=".09 .09 .09"/></body>',
        '<sensor><touch site="skin"/></sensor>',
    )
    sim = Simulation(model, laws={"low": rigid(model, "low"), ("up", "low"): 0.6})
    sim.core.forces_wanted = True
    sim.step(300)
    assert sim.data.sensordata[0] == pytest.approx(9.81, rel=1e-6)
    assert sim.data.cfrc_ext[2, 5] == pytest.approx(9.81, rel=1e-6)
    assert sim.data.cfrc_ext[1, 5] == pytest.approx(9.81, rel=1e-6)  # the floor's less the upper box's


def test_contacts_without_a_law_warn_and_are_counted():
    model = model_of(box("low", 0.1, 0.1) + box("up", 0.08, 0.2801) + box("side", 0.05, 0.05, x=0.1499))
    sim = Simulation(model, laws={"low": rigid(model, "low"), ("up", "low"): 0.6})
    with pytest.warns(UserWarning, match="'low' has a law, but touches something that its law does not cover"):
        sim.step(3)
    assert sim.uncovered == {"low": 3}
    assert sim.contacts["low"].points.shape[1] == sim.contacts["up", "low"].points.shape[1] == 3
