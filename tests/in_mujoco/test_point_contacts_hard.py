"""Materials in MuJoCo models that are hard on them: what broke once, and must not again."""

import importlib.util

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from stiction.mujoco import Simulation

PLANE = '<geom name="floor" type="plane" size="5 5 .1"/>'


def box(name: str, place: str, more: str = 'size=".1 .1 .1" mass="1"') -> str:
    return f'<body name="{name}" pos="{place}"><freejoint/><geom type="box" {more}/></body>'


def model_of(bodies: str, *, option: str = "", more: str = ""):
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep=".002" {option}/><worldbody>{bodies}</worldbody>{more}</mujoco>'
    )


def steps_of_newton(sim: Simulation, steps: int) -> float:
    """Steps of Newton's method in each of so many steps with contact."""
    before = sim.core.newton_steps
    sim.step(steps)
    return (sim.core.newton_steps - before) / steps


def test_a_load_on_a_body_that_stands_by_mujocos_contact():
    table = box("table", "0 0 .1", 'size=".4 .4 .1" mass="5"')
    sim = Simulation(model_of(PLANE + table + box("load", "0 0 .25", 'size=".1 .08 .05" mass="1"')), laws={"load": 0.5})
    assert steps_of_newton(sim, 300) < 5
    assert sim.unsolved == 0
    assert sim.contacts["load"].impulse[2] == pytest.approx(9.81 * 0.002, rel=1e-6)


def test_another_form_of_the_jacobian_changes_nothing():
    leg = '<body name="leg" pos="0 0 .5"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0" range="-20 20"/><geom '
    leg += 'type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/></body>'
    sim = Simulation(model_of(PLANE + leg + box("part", "1 0 .1"), option='jacobian="dense"'), laws={"leg": 0.5})
    sim.step(200)
    state, ends = sim.save(), []
    for form in (mujoco.mjtJacobian.mjJAC_DENSE, mujoco.mjtJacobian.mjJAC_SPARSE):
        sim.restore(state)
        sim.model.opt.jacobian = form
        sim.step(200)
        ends.append(sim.data.qpos.copy())
    assert sim.data.nefc > 1
    assert np.abs(ends[0] - ends[1]).max() < 1e-9


def test_constraints_of_bodies_that_do_not_feel_a_law_are_not_solved_for():
    others = "".join(box(f"part{k}", f"{0.4 * (k % 5)} {1 + 0.4 * (k // 5)} .1") for k in range(15))
    sim = Simulation(model_of(PLANE + box("load", "0 0 .1") + others), laws={"load": 0.5})
    sim.step(20)
    assert sim.data.nefc == 15 * 16
    assert len(sim.core.problem()[1]) == 3 * 4  # pyright: ignore # rows of the load's four points
    assert sim.unsolved == 0


def test_touching_something_soft_is_counted():
    cloth = '<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" pos="0 0 .13" dim="2" radius=".01" '
    cloth += 'mass=".1"><edge equality="true"/></flexcomp>'
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1") + cloth), laws={"part": 0.5})
    with pytest.warns(UserWarning, match="touches something that its law does not cover"):
        sim.step(100)
    assert sim.uncovered["part"] > 10


@pytest.mark.parametrize("every", [1, 5])
def test_a_body_moved_by_hand_pushes(every):
    hand = '<body name="hand" mocap="true" pos="-.3 0 .1"><geom type="box" size=".05 .2 .05"/></body>'
    sim = Simulation(model_of(PLANE + hand + box("part", "0 0 .1")), laws={"part": 0.5})
    for k in range(500):
        if k % every == 0:
            sim.data.mocap_pos[0, 0] = -0.3 + 0.5 * sim.data.time
        sim.step()
        assert sim.contacts["part"].depths.max() < 0.001 * every  # how far the hand goes at once
    ahead = sim.data.qpos[0] - sim.data.mocap_pos[0, 0] - 0.15
    assert ahead == pytest.approx(0.001 * every, abs=2e-5)  # as far as the hand goes until it is moved again
    assert sim.data.qvel[0] == pytest.approx(0.5, rel=1e-3)
    sim.step(500)  # the hand rests
    assert np.abs(sim.data.qvel).max() < 1e-12


def test_a_body_moved_by_hand_carries_and_turns():
    table = '<body name="table" mocap="true"><geom type="cylinder" size=".5 .05"/></body>'
    sim = Simulation(model_of(table + box("part", ".2 0 .15")), laws={"part": 0.8})
    for _ in range(750):
        time = sim.data.time
        sim.data.mocap_pos[0] = [0.1 * time, 0, 0.1 * time]
        sim.data.mocap_quat[0] = [np.cos(0.5 * time), 0, 0, np.sin(0.5 * time)]
        sim.step()
    time = sim.data.time
    goal = [0.1 * time + 0.2 * np.cos(time), 0.2 * np.sin(time), 0.15 + 0.1 * time]
    assert np.abs(sim.data.qpos[:3] - goal).max() < 2e-3
    assert sim.data.qvel[5] == pytest.approx(1.0, rel=1e-3)


def test_a_hand_that_leaps_kicks_nothing():
    hand = '<body name="hand" mocap="true" pos="-1 0 .1"><geom type="box" size=".05 .2 .05"/></body>'
    sim = Simulation(model_of(PLANE + hand + box("part", "0 0 .1")), laws={"part": 0.5})
    sim.step(10)
    sim.data.mocap_pos[0, 0] = -0.145
    sim.step(50)
    assert np.abs(sim.data.qvel).max() < 1e-9


def test_hands_are_saved_too():
    hand = '<body name="hand" mocap="true" pos="-.16 0 .1"><geom type="box" size=".05 .2 .05"/></body>'
    sim = Simulation(model_of(PLANE + hand + box("part", "0 0 .1")), laws={"part": 0.5})

    def move(steps):
        for _ in range(steps):
            sim.data.mocap_pos[0, 0] += 0.001
            sim.step()
        return sim.save()

    move(30)
    state = sim.save()
    first = move(30)
    sim.restore(state)
    assert (move(30) == first).all()
    other = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    with pytest.raises(ValueError):
        sim.restore(other.save())


@pytest.mark.parametrize(("margin", "gap"), [(0.01, 0.0), (0.05, 0.02), (0.0, 0.05), (-0.005, 0.01)])
def test_a_margin_makes_surfaces_thicker_as_in_mujoco(margin, gap):
    thick = f'size=".1 .1 .1" mass="1" margin="{margin}" gap="{gap}"'
    sim = Simulation(model_of(PLANE + box("part", "0 0 .15", thick)), laws={"part": 0.5})
    sim.step(1000)
    assert sim.data.qpos[2] == pytest.approx(0.1 + margin, abs=1e-9)


@pytest.mark.parametrize(("between", "is_held"), [(0.0, True), (0.01, False)])
def test_adhesion_acts_where_it_would_without_a_law(between, is_held):
    pad = '<body name="pad" pos="0 0 1"><joint axis="0 0 1" type="slide" stiffness="1e4" damping="100"/>'
    pad += '<geom type="box" size=".2 .2 .1"/></body>'
    cup = '<actuator><adhesion body="pad" ctrlrange="0 1" gain="30"/></actuator>'
    model = model_of(PLANE + pad + box("part", f"0 0 {0.8 - between}"), option='gravity="0 0 -5"', more=cup)
    model.body_gravcomp[1] = 1
    for _ in range(2):  # the second simulation finds a model that was changed already
        sim = Simulation(model, laws={"part": 0.5})
        sim.data.ctrl[0] = 1
        sim.step(500)
        assert (sim.data.qpos[3] > 0.7) == is_held
        if is_held:
            assert sim.contacts["part"].impulse[2] == pytest.approx(-(30 - 5) * 0.002, rel=0.02)


def test_touch_sensors_feel_contacts_with_laws():
    zones = '<site name="all" type="box" size=".11 .11 .11"/>'
    zones += '<site name="left" type="box" size=".05 .11 .11" pos="-.06 0 0"/>'
    body = f'<body name="part" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/>{zones}</body>'
    bodies = PLANE + body
    bodies += box("load", "0 0 .3")
    sensors = '<sensor><touch site="all"/><touch site="left"/><touch site="all" cutoff="5"/></sensor>'
    sim = Simulation(model_of(bodies, more=sensors), laws={("part", "floor"): 0.5, ("part", "load"): 0.5})
    sim.step(100)
    weights = 3 * 9.81 + 9.81  # what it stands on with, and what lies on it
    assert sim.data.sensordata == pytest.approx([weights, weights / 2, 5], rel=1e-6)
    other = Simulation(model_of(bodies, more=sensors), laws={("part", "floor"): 0.5})
    with pytest.warns(UserWarning, match="its law does not cover"):
        other.step(1000)  # here MuJoCo carries the load
    assert other.data.sensordata == pytest.approx([weights, weights / 2, 5], rel=1e-3)


def test_contact_sensors_that_ignore_laws_warn():
    sensor = '<sensor><contact geom1="floor" num="4" data="found force"/></sensor>'
    with pytest.warns(UserWarning, match="contact sensors do not measure"):
        Simulation(model_of(PLANE + box("part", "0 0 .1"), more=sensor), laws={"part": 0.5})


@pytest.mark.parametrize("key", ["*", "part", ("part", "floor")])
def test_contact_is_predicted_whatever_the_key(key):
    sim = Simulation(model_of(PLANE + box("part", "0 0 .12")), laws={key: 0.5})
    sim.data.qvel[2] = -5  # 10 mm in a step
    for _ in range(10):
        sim.step()
        assert sim.data.qpos[2] > 0.1 - 1e-9


def test_overlapping_neighbours_on_a_joint_stay_where_they_are():
    hand = '<joint axis="0 1 0"/><geom type="box" size=".2 .05 .05" pos=".2 0 0"/><geom size=".05"/>'
    arm = '<body name="arm" pos="0 0 1"><joint axis="0 1 0"/><geom type="box" size=".2 .05 .05"/>'
    arm += f'<body name="hand" pos=".2 0 0">{hand}</body></body>'
    model = model_of(arm)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    sim = Simulation(model, laws={"*": 0.5})
    sim.step(300)
    assert np.abs(sim.data.qvel).max() < 30 and np.isfinite(sim.data.qpos).all()


def test_guards_keep_friction_within_its_limits():
    rod = '<geom type="capsule" fromto="0 0 0 {}" size=".03" mass=".3"/>'
    last = f'<body name="d" pos="0 0 -.2"><joint axis="0 1 0"/>{rod.format(".4 0 0")}</body>'
    first = f'<body name="c" pos="-.2 0 -.03"><joint name="jc" axis="0 1 0"/>{rod.format("0 0 -.2")}{last}</body>'
    second = f'<body name="b" pos=".2 0 -.03"><joint name="jb" axis="0 1 0"/>{rod.format("0 0 -.2")}</body>'
    loop = (
        f'<body name="a" pos="0 0 .3"><freejoint/><geom type="box" size=".2 .05 .03" mass="1"/>{first}{second}</body>'
    )
    more = '<equality><connect body1="b" body2="d" anchor="0 0 -.2"/></equality>'
    more += '<contact><exclude body1="b" body2="d"/></contact>'
    more += '<actuator><motor joint="jb" gear="8"/><motor joint="jc" gear="8"/></actuator>'
    sim, rng = Simulation(model_of(PLANE + loop, more=more), laws={"*": 0.6}), np.random.default_rng(2)
    for k in range(1000):
        if k % 20 == 0:
            sim.data.ctrl[:] = rng.uniform(-1, 1, 2)
        sim.step()
        normals, impulses = sim.contacts["*"].normals, sim.contacts["*"].impulses
        loads = (normals * impulses).sum(axis=1)
        friction = np.linalg.norm(impulses - loads[:, None] * normals, axis=1)
        assert (friction <= 0.6 * loads + 1e-8).all()
        assert sim.core.work <= 1e-12


def test_far_points_are_solved_for_only_where_others_bring_them_together():
    plank = '<body name="plank" pos="0 0 .1"><joint axis="0 1 0"/><geom type="box" size="1 .1 .02" mass="1"/></body>'
    stops = '<geom type="box" size=".1 .1 .05" pos=".9 0 .026"/><geom type="box" size=".1 .1 .05" pos="-.9 0 .026"/>'
    ball = '<body name="ball" pos=".95 0 .1702"><joint type="slide" axis="0 0 1"/><geom size=".05" mass="5"/></body>'
    sim = Simulation(model_of(plank + stops + ball, option='gravity="0 0 0"'), laws={"plank": 0.5})
    sim.step()
    assert sim.data.ncon == 9 and sim.core.contact_steps == 0  # all are listed, none is solved for
    sim.data.qvel[1] = -5
    sim.step()  # the ball drives the plank, which was still, onto the stop 4 mm below: 8 mm in a step
    assert len(sim.core.problem()[1]) == 3 * 5  # pyright: ignore
    mujoco.mj_forward(sim.model, sim.data)
    assert sim.data.contact.dist.min() > -1e-4
    assert abs(sim.data.qvel[1]) < 2.5


def folded_arm() -> str:
    """Five links that overlap, out of their joints' limits."""
    arm, rod = "", '<geom type="capsule" fromto="0 0 0 0 0 .2" size=".04" mass="1"/>'
    for k in reversed(range(5)):
        joint = f'<joint axis="{k % 2} {(k + 1) % 2} 0" range="40 90"/>'
        arm = f'<body name="link{k}" pos=".01 0 {0.02 * k}">{joint}{rod}{arm}</body>'
    return arm


def test_a_folded_arm_that_overlaps_with_itself_does_not_explode():
    sim = Simulation(model_of(PLANE + folded_arm()), laws={"*": 0.8})
    for _ in range(300):
        sim.step()
        assert np.abs(sim.data.qvel).max() < 200


def test_bodies_that_do_not_feel_each_other_are_solved_by_themselves():
    parts = "".join(box(f"part{k}", f"{0.4 * k} 1 .1") for k in range(10))
    sim = Simulation(model_of(PLANE + folded_arm() + parts), laws={"*": 0.8})
    start = sim.data.qpos.copy()
    sim.step(300)  # what the arm does is no concern of the others
    assert len(sim.core.problem()[1]) == 3 * 4  # rows of the last group  # pyright: ignore
    assert np.abs(sim.data.qpos - start)[5:].max() < 1e-12


THIRD_PARTY = [
    "dm_control/suite/quadruped.xml",
    "dm_control/suite/humanoid.xml",
    "robosuite/models/assets/grippers/panda_gripper.xml",
    "metaworld/assets/sawyer_xyz/sawyer_hammer.xml",
    "gym_hil/assets/scene.xml",
]


@pytest.mark.parametrize("file", THIRD_PARTY)
def test_models_of_other_packages(file):
    """One material on everything, random controls: what physics asks of every step."""
    package = importlib.util.find_spec(file.partition("/")[0])
    if package is None or not package.submodule_search_locations:
        pytest.skip(f"{file} is not installed")
    model = mujoco.MjModel.from_xml_path(f"{package.submodule_search_locations[0]}/{file.partition('/')[2]}")
    sim, rng = Simulation(model, laws={"*": 0.8}), np.random.default_rng(0)
    for k in range(200):
        if k % 10 == 0:
            sim.data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        sim.step()
        normals, impulses = sim.contacts["*"].normals, sim.contacts["*"].impulses
        loads = (normals * impulses).sum(axis=1)
        friction = np.linalg.norm(impulses - loads[:, None] * normals, axis=1)
        assert (loads > 0).all() and (friction <= 0.8 * loads * (1 + 1e-9)).all()
        assert sim.core.work <= 1e-12


@pytest.mark.filterwarnings("ignore:In .* steps with contact")
def test_a_pile_is_solved_in_few_steps_of_newtons_method():
    """Eighteen boxes fall into a bin and come to rest: no step may take long, and few are left to the guards."""
    rng, parts = np.random.default_rng(0), ""
    for k in range(18):
        (x, y), (a, b, c) = rng.uniform(-0.12, 0.12, 2), rng.uniform(0, 180, 3)
        turned = f'<geom type="box" size=".04 .03 .02" mass=".1" euler="{a} {b} {c}"/>'
        parts += f'<body pos="{x} {y} {0.1 + 0.035 * k}"><freejoint/>{turned}</body>'
    for x, y, size in ((0.2, 0, ".01 .2 .2"), (-0.2, 0, ".01 .2 .2"), (0, 0.2, ".2 .01 .2"), (0, -0.2, ".2 .01 .2")):
        parts += f'<geom type="box" size="{size}" pos="{x} {y} .2"/>'
    sim = Simulation(model_of(PLANE + parts), laws={"*": 0.6})
    core = sim.core
    for _ in range(800):
        sim.step()
        assert core.work <= 1e-12
    assert core.newton_steps < 60 * core.contact_steps
    assert sim.unsolved < 0.15 * core.contact_steps
    assert np.abs(sim.data.qvel).max() < 1e-3
