"""Materials on MuJoCo's own contact points: what can be held is held, what slides slides right, and nothing pulls."""

import copy
import pickle
import warnings

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import stiction
from stiction import Body, InputError, Material, Mode, State
from stiction.mujoco import Simulation, rollout

GRIPPER = """<mujoco><worldbody>
<body name="left" pos="-.03 0 .5"><joint name="l" type="slide" axis="1 0 0"/>
  <geom type="box" size=".01 .02 .02" mass=".1"/></body>
<body name="right" pos=".03 0 .5"><joint name="r" type="slide" axis="-1 0 0"/>
  <geom type="box" size=".01 .02 .02" mass=".1"/></body>
<body name="held" pos="0 0 .5"><freejoint/><geom {shape} mass=".1"/></body></worldbody>
<actuator><motor joint="l"/><motor joint="r"/></actuator></mujoco>"""
SHAPES = {"cube": 'type="box" size=".02 .02 .02"', "capsule": 'type="capsule" size=".015 .04" euler="0 0 0"'}


def on_plane(inside: str, *, euler: str = "0 0 0", option: str = "", more: str = ""):
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option {option}/><worldbody><geom name="floor" type="plane" size="50 50 1" euler="{euler}"/>'
        f"{inside}</worldbody>{more}</mujoco>"
    )


def box(name: str, pos: str, size: str = ".1 .1 .1", **more: str) -> str:
    rest = " ".join(f'{key}="{value}"' for key, value in more.items())
    return f'<body name="{name}" pos="{pos}" {rest}><freejoint/><geom type="box" size="{size}" mass="1"/></body>'


@pytest.mark.parametrize("times", [2, 95])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_grasp_never_creeps(shape, times):
    sim = Simulation(mujoco.MjModel.from_xml_string(GRIPPER.format(shape=SHAPES[shape])), laws={"held": 0.6})
    sim.data.ctrl[:] = times * 0.1 * 9.81 / 2 / 0.6
    sim.step(500)
    before = sim.data.qpos.copy()
    sim.step(2500)
    assert np.abs(sim.data.qpos - before).max() < 1e-11
    assert sim.contacts["held"].mode is Mode.STATIC and sim.unsolved == 0


@pytest.mark.parametrize(("friction", "slides"), [(0.5774, False), (0.577, True), (0.3, True)])
def test_slides_just_above_its_angle(friction, slides):
    model = on_plane(box("part", "0.05 0 0.0866025404", euler="0 30 0"), euler="0 30 0")
    sim = Simulation(model, laws={("part", "floor"): friction})
    sim.step(250)
    place, speed = sim.data.qpos.copy(), np.linalg.norm(sim.data.qvel[:3])
    sim.step(500)
    gained = np.linalg.norm(sim.data.qvel[:3]) - speed
    if slides:
        assert gained == pytest.approx(9.81 * (0.5 - friction * np.sqrt(0.75)), rel=1e-6)
    else:
        assert np.abs(sim.data.qpos - place).max() < 1e-13


def test_a_stack_stands_and_a_sphere_rolls():
    boxes = "".join(box(f"b{k}", f"0 0 {0.05 + 0.1 * k:g}", ".05 .05 .05") for k in range(6))
    sim = Simulation(on_plane(boxes), laws={f"b{k}": 0.5 for k in range(6)})
    sim.step(100)
    before = sim.data.qpos.copy()
    sim.step(500)
    assert np.abs(sim.data.qpos - before).max() < 1e-12
    ball = '<body name="ball" pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>'
    sim = Simulation(on_plane(ball), laws={"ball": 0.5})
    sim.data.qvel[[0, 4]] = 1.0, 10.0
    sim.step(1000)
    assert sim.data.qvel[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_joints_springs_limits_and_other_contacts(integrator, cone):
    """Impulses come out as predicted whatever else acts in the model: points that stick are at rest to rounding."""
    leg = """<body name="trunk" pos="0 0 .62"><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>
      <geom type="box" size=".1 .1 .05" mass="2"/>
      <body name="leg" pos="0 0 -.1"><joint name="hip" axis="0 1 0" damping=".5" range="-20 20" frictionloss=".1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".3"/>
        <body name="foot" pos="0 0 -.22"><joint name="knee" axis="0 1 0" damping="2" stiffness="5"/>
          <geom name="sole" type="box" pos="0 0 -.25" size=".05 .05 .03" mass=".2"/></body></body></body>
      <body name="ball" pos=".5 0 .1"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>"""
    model = on_plane(leg, option=f'integrator="{integrator}" cone="{cone}"')
    sim = Simulation(model, laws={("sole", "floor"): 0.6})
    core = sim.core
    worst = stuck = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(400):
            sim.data.qvel[1] += 0.05 * (k == 150)
            sim.step()
            contact = sim.contacts["sole", "floor"]
            if contact.mode is Mode.STATIC:
                stuck += 1
                jacobian = np.zeros((3, model.nv))
                for place, depth in zip(contact.points, contact.depths):
                    mujoco.mj_jac(model, sim.data, jacobian, None, place, model.body("foot").id)
                    closes = [0, 0, min(depth, 0.0) / model.opt.timestep]  # a gap may close
                    worst = max(worst, np.abs(jacobian @ sim.data.qvel - closes).max())
            assert core.work <= 1e-12
    assert stuck > 50
    assert worst < 1e-7
    assert sim.unsolved == 0


def test_impulses_stay_in_their_cones_and_energy_falls():
    """A box thrown onto a heightfield and fixed boxes, by a material that depends on direction, speed and load."""
    material = Material.of(
        0.7, direction=lambda a: 1 + 0.3 * np.cos(a), speed=lambda v: 1 + 0.2 / (1 + v), load=lambda n: (n / 10) ** -0.1
    )
    hill = '<asset><hfield name="hill" nrow="8" ncol="8" size="1 1 .2 .1"/></asset>'
    model = on_plane(
        '<geom name="hill" type="hfield" hfield="hill" pos="0 0 .05"/>' + box("part", "0 0 .8", ".08 .1 .12"), more=hill
    )
    model.hfield_data[:] = np.random.default_rng(0).uniform(size=model.hfield_data.shape)
    sim = Simulation(model, laws={"part": material})
    sim.data.qvel[:] = 1.0, 0.5, -1.0, 3.0, -2.0, 5.0
    touched = 0
    for _ in range(1000):
        sim.step()
        contact = sim.contacts["part"]
        normal = (contact.normals * contact.impulses).sum(axis=1)
        along = np.linalg.norm(contact.impulses - normal[:, None] * contact.normals, axis=1)
        assert (normal > 0).all() and (along <= 2.2 * normal + 1e-12).all()
        assert sim.core.work <= 1e-12
        touched += len(normal) > 0
    assert touched > 200 and sim.unsolved <= 0.02 * touched


def test_free_box_as_in_rollout():
    """A box thrown in MuJoCo follows the material's own rollout, step by step as long as it flies or slides."""
    body = Body.box((0.2, 0.3, 0.4), 1.0)
    model = on_plane('<body name="part"><freejoint/><geom type="box" size=".1 .15 .2" mass="1"/></body>')
    start = State([0, 0, 0.2], [1, 0, 0, 0], [2.0, 0.7, 0], [0, 0, 0])
    run = stiction.rollout(Material.coulomb(0.4).on(body, timestep=0.002), start, 300)
    sim = Simulation(model, laws={"part": Material.coulomb(0.4)})
    sim.data.qpos[:] = [0, 0, 0.2, 1, 0, 0, 0]
    sim.data.qvel[:3] = 2.0, 0.7, 0
    for k in range(300):
        sim.step()
        assert np.abs(sim.data.qpos[:3] - run.position[k + 1]).max() < 2e-4
    assert np.abs(sim.data.qvel).max() < 1e-9  # it came to rest


def test_direction_is_that_of_the_first_over_the_second():
    """Scales: a part slides far along the heading and not against it, whichever of the pair MuJoCo lists first."""
    scales = Material.directional(0.1, 0.4, 0.9)
    ends = []
    for sign in (1, -1):
        sim = Simulation(on_plane(box("part", "0 0 .1")), laws={("part", "floor"): scales})
        sim.data.qvel[0] = sign
        sim.step(1500)
        ends.append(abs(sim.data.qpos[0]))
    assert ends[0] == pytest.approx(1 / (2 * 9.81 * 0.1), rel=0.01)
    assert ends[1] == pytest.approx(1 / (2 * 9.81 * 0.9), rel=0.03)
    sim = Simulation(on_plane(box("part", "0 0 .1")), laws={("floor", "part"): scales})
    sim.data.qvel[0] = 1  # the floor slides backwards under the part
    sim.step(1500)
    assert abs(sim.data.qpos[0]) == pytest.approx(ends[1], rel=0.01)


def test_bounces_as_far_as_it_should():
    ball = '<body name="ball" pos="0 0 1.1"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>'
    sim = Simulation(on_plane(ball, option='timestep="0.0005"'), laws={"ball": Material.coulomb(0.5, restitution=0.8)})
    heights = []
    for _ in range(2400):
        sim.step()
        heights.append(sim.data.qpos[2] - 0.1)
    assert max(heights[1000:]) == pytest.approx(0.64, rel=0.02)


def test_the_most_special_key_wins():
    model = on_plane(box("a", "0 0 .1") + box("b", "1 0 .1"))
    sim = Simulation(model, laws={"*": 0.1, "a": 0.5, ("a", "floor"): 0.0})
    sim.data.qvel[[0, 6]] = 1.0, 1.0
    sim.step(100)
    assert sim.data.qvel[0] == pytest.approx(1.0)
    assert sim.data.qvel[6] == pytest.approx(1.0 - 0.1 * 9.81 * 0.2, rel=1e-6)
    assert sim.contacts["a", "floor"].steps == 100 and sim.contacts["a"].steps == 0


def test_classes_and_materials_and_numbers_are_keys():
    spec = mujoco.MjSpec.from_string(
        """<mujoco><default><default class="rubber"><geom rgba="0 0 0 1"/></default></default>
        <asset><material name="steel" rgba="1 1 1 1"/></asset><worldbody><geom name="floor" type="plane" size="9 9 1"/>
        <body pos="0 0 .1"><freejoint/><geom class="rubber" type="box" size=".1 .1 .1" mass="1"/></body>
        <body pos="1 0 .1"><freejoint/><geom material="steel" type="box" size=".1 .1 .1" mass="1"/></body>
        </worldbody></mujoco>"""
    )
    sim = Simulation(spec, laws={"class:rubber": 0.9, "material:steel": 0.1})
    sim.data.qvel[[0, 6]] = 1.0
    sim.step(50)
    assert sim.data.qvel[0] == pytest.approx(1 - 0.9 * 0.981, rel=1e-6)
    assert sim.data.qvel[6] == pytest.approx(1 - 0.1 * 0.981, rel=1e-6)
    assert list(Simulation(spec, laws={1: 0.5}).contacts) == [1]


def test_contacts_without_a_law_warn_once_and_are_counted():
    sim = Simulation(on_plane(box("part", "0 0 .099") + box("wall", "0 1 .099")), laws={("part", "wall"): 0.5})
    with pytest.warns(UserWarning, match="'part', 'wall' has a law, but touches something"):
        sim.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step(9)
    assert sim.uncovered == {"part": 10, "wall": 10}


def test_copies_go_on_by_themselves():
    model = on_plane(box("part", "0 0 .3", euler="20 30 10"))
    sim = Simulation(model, laws={"part": 0.5})
    sim.step(100)
    twins = [copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    saved = sim.save()
    sim.step(200)
    end = sim.save()
    for twin in twins:
        twin.step(200)
        assert twin.save().tobytes() == end.tobytes()
        assert twin.contacts["part"].steps == sim.contacts["part"].steps
    sim.restore(saved)
    sim.step(200)
    assert sim.save().tobytes() == end.tobytes()
    with pytest.raises(InputError, match="state must be what `save` returned"):
        sim.restore(saved[:-1])


def test_motions_in_threads_have_the_bits_of_single_ones():
    model = on_plane(box("part", "0 0 .3"), more='<sensor><framepos objtype="body" objname="part"/></sensor>')
    rng = np.random.default_rng(0)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((12, size))
    initial[:, 3] = 0.3
    initial[:, 4:8] = (q := rng.normal(size=(12, 4))) / np.linalg.norm(q, axis=1, keepdims=True)
    initial[:, 8:14] = rng.normal(size=(12, 6))
    laws = {"part": 0.5}
    one, seen = rollout(model, mujoco.MjData(model), initial, nstep=200, laws=laws)
    two, _ = rollout(model, [mujoco.MjData(model) for _ in range(3)], initial, nstep=200, laws=laws)
    assert one.tobytes() == two.tobytes() and seen.shape == (12, 200, 3)
    sim = Simulation(model, laws=laws)
    mujoco.mj_setState(model, sim.data, initial[5], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    sim.step(200)
    assert np.array_equal(sim.data.qpos, one[5, -1, 1:8])


def test_a_motion_that_ends_at_once_has_its_start_and_no_sensors():
    touch = '<sensor><touch site="zone"/></sensor>'
    part = '<body name="part" pos="0 0 .1"><freejoint/><geom size=".1"/><site name="zone" size=".2"/></body>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{part}</worldbody>{touch}</mujoco>")
    start = np.zeros(14)
    start[1] = 1e11  # [m] where MuJoCo takes no number
    states, sensors = rollout(model, mujoco.MjData(model), start, nstep=3, laws={"part": 0.5})
    assert (states == start).all() and not sensors.any()


def test_a_changed_model_is_followed_or_refused():
    sim = Simulation(on_plane(box("part", "0 0 .1")), laws={"part": 0.5})
    sim.data.qvel[0] = 1.0
    sim.model.opt.timestep, sim.model.opt.gravity[2] = 0.001, -1.0
    sim.step(100)
    assert sim.data.qvel[0] == pytest.approx(1 - 0.5 * 1.0 * 0.1, rel=1e-9)
    sim.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(InputError, match="integrator was changed"):
        sim.step()


def test_lost_numbers_and_resets_are_raised():
    sim = Simulation(on_plane(box("part", "0 0 .1")), laws={"part": 0.5})
    sim.step(3)
    sim.data.qvel[1] = np.nan
    with pytest.raises(InputError, match="is not finite before step 3"):
        sim.step()
    sim.reset()
    sim.data.xfrc_applied[1, 0] = 1e300
    with pytest.raises(InputError, match="reset its data"):
        sim.step()


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ({}, "at least one body"),
        ({"nobody": 0.5}, "no body, geom, material or class 'nobody'"),
        ({"geom:nobody": 0.5}, "no geom 'nobody'. Its geoms are floor"),
        ({7: 0.5}, "There is no body 7: the model has bodies 0 to 1"),
        ({("a", "b", "c"): 0.5}, "A pair needs two names, got 3"),
        ({"part": -1}, "friction must not be negative"),
        ({("part", "floor"): "box"}, "its key must be that body, not a pair"),
    ],
)
def test_refuses(laws, message):
    with pytest.raises(InputError, match=message):
        Simulation(on_plane(box("part", "0 0 .1")), laws=laws)


@pytest.mark.parametrize("options", [{"softness": -1.0}, {"gap": 0.0}])
def test_a_model_that_is_refused_stays_as_it_was(options):
    model = on_plane(box("part", "0 0 .1"))
    with pytest.raises(InputError):
        Simulation(model, laws={"part": 0.5}, **options)
    assert not model.geom_gap.any()


def test_refuses_foreign_models_and_data():
    model, other = on_plane(box("part", "0 0 .1")), on_plane(box("part", "0 0 .1") + box("b", "1 0 .1"))
    with pytest.raises(InputError, match="data belongs to another model"):
        Simulation(model, mujoco.MjData(other), laws={"part": 0.5})
    larger = mujoco.MjModel.from_xml_string(
        '<mujoco><size nuserdata="9"/><worldbody><geom type="plane" size="5 5 .1"/><body name="part"><freejoint/>'
        '<geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(InputError, match=r"data belongs to another model.*differ in .*nuserdata"):
        Simulation(model, mujoco.MjData(larger), laws={"part": 0.5})
    with pytest.raises(InputError, match=r"got the path 'robot\.xml'"):
        Simulation("robot.xml", laws={"part": 0.5})
    data = mujoco.MjData(model)
    with pytest.raises(InputError, match="an MjData of its own"):
        rollout(model, [data, data], np.zeros(14), nstep=1, laws={"part": 0.5})
    with pytest.raises(InputError, match="nstep must be given"):
        rollout(model, data, np.zeros(14), laws={"part": 0.5})
