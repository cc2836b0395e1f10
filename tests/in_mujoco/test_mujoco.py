"""stiction.mujoco with laws of bodies: a step is MuJoCo's own plus what Algorithm 2 says."""

import copy
import gc
import pickle

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import stiction
from standing_robot import FEET, joint_targets, standing
from stiction import Body, CoulombLaw, InputError, Law, Mode, State
from stiction.mujoco import Simulation
from stiction_studies.robots.chain_model import CHAIN, LAST, LINK, TIMESTEP

LAW = CoulombLaw(LINK, 0.6, cone="round", softness=0.0)
FOOT = Body.box((0.16, 0.08, 0.03), 0.4)
LOOSE = CoulombLaw(FOOT, 0.3, cone="dart", softness=0.0)
BOX = 'type="box" size="0.25 0.05 0.04" mass="1"'


def model_of(inside: str, rest: str = "", option: str = ""):
    """A model with a ground and `inside` the world."""
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.002" {option}/><worldbody><geom name="ground" type="plane" size="5 5 .1"/>'
        f"{inside}</worldbody>{rest}</mujoco>"
    )


def chain_of(joint: str = "") -> str:
    """Two links on hinges, the second one touches."""
    return (
        f'<body name="a" pos="0 0 0.3"><joint name="ja" axis="0 1 0" {joint}/><geom {BOX} pos="0.25 0 0" contype="0" '
        f'conaffinity="0"/><body name="foot" pos="0.5 0 0"><joint name="jf" axis="0 1 0" {joint}/>'
        f'<geom {BOX} pos="0.25 0 0"/></body></body>'
    )


FREE = f'<body name="foot" pos="0 0 0.3" euler="10 30 20"><freejoint/><geom {BOX}/></body>'
TIED = '<equality><joint joint1="ja" joint2="jf" polycoef="0 -0.5 0 0 0"/></equality>'
TIGHT = 'tolerance="0" ls_tolerance="1e-10"'  # MuJoCo's own solver stops at 1e-8 by default
LIMIT = 'range="-20 20" limited="true"'
OTHER = chain_of() + '<body pos="0.9 0 0.1"><freejoint/><geom type="sphere" size="0.06" mass="0.2"/></body>'


@pytest.mark.parametrize(
    ("inside", "rest", "option", "limit"),
    [
        (FREE, "", "", 1e-10),
        (chain_of(), "", "", 1e-10),
        (chain_of('damping="0.3" armature="0.05"'), "", "", 1e-10),
        (chain_of('damping="0.3"'), TIED, TIGHT, 1e-10),
        (chain_of(), TIED, TIGHT, 1e-10),
        (chain_of('damping="0.3"'), "", 'integrator="implicitfast"', 1e-10),
        (chain_of(LIMIT), "", "", 1e-4),
        (OTHER, "", "", 1e-4),
        (OTHER, "", 'cone="elliptic"', 1e-4),
    ],
    ids=["free", "chain", "damping", "damped equality", "equality", "implicitfast", "limits", "contacts", "cone"],
)
def test_velocity_is_predicted(inside, rest, option, limit):
    """V+ = V_free + L p, with V_free the step without contact."""
    model = model_of(inside, rest, option)
    sim = Simulation(model, laws={"foot": LAW})
    body = model.body("foot").id
    J, copy = np.zeros((6, model.nv)), mujoco.MjData(model)
    worst = touched = 0.0
    for _ in range(500):
        mujoco.mj_copyData(copy, model, sim.data)
        sim.step()
        if not sim.contacts["foot"].kind:
            continue
        predicted = sim.core.predicted[:6]
        touched += 1
        if inside == FREE:  # its spin is kept in body axes, which the correction of its pose may turn: look at the end
            copy.qpos[:] = sim.data.qpos
        mujoco.mj_step1(model, copy)
        mujoco.mj_jacBodyCom(model, copy, J[:3], J[3:], body)
        size = np.abs(predicted).max() + 0.02
        worst = max(worst, np.abs(J @ sim.data.qvel - predicted).max() / size)
    print(f"{touched:.0f} contact steps, error at most {worst:.1e}")
    assert touched > 50
    assert worst < limit


def test_free_link_is_the_rollout():
    """A chain of one free link, with MuJoCo doing the rest, is the single-body rollout."""
    model = model_of(f'<body name="foot"><freejoint/><geom {BOX}/></body>')
    sim = Simulation(model, laws={"foot": LAW}, tolerance=1e-12)
    start = State((0, 0, 0.4), (0.8, 0.36, 0.48, 0), (1.0, -0.5, 0.0), (1.0, 3.0, -2.0))
    R = mujoco_rotation(start.quaternion)
    sim.reset(
        qpos=np.concatenate([start.position, start.quaternion]),
        qvel=np.concatenate([start.velocity, R.T @ start.angular_velocity]),
    )
    run = stiction.rollout(LAW, start, steps=400, substeps=0)  # whole steps, as in MuJoCo
    for k in range(400):
        sim.step()
        assert np.abs(sim.data.qpos[:3] - run.position[k + 1]).max() < 1e-9
        assert np.abs(sim.data.qpos[3:] - run.quaternion[k + 1]).max() < 1e-9
        assert sim.contacts["foot"].mode == run.mode[k]
    assert (run.kind > 0).sum() > 100


def mujoco_rotation(quaternion):
    """Rotation matrix of a quaternion."""
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.asarray(quaternion))
    return out.reshape(3, 3)


def test_joint_force_is_mujocos():
    """The study's joint force by Newton's law is the one that MuJoCo reports."""
    from stiction_studies.robots.chain_model import Swing

    model = mujoco.MjModel.from_xml_string(CHAIN)
    sim = Simulation(model, laws={LAST: LAW})
    sim.reset(qpos=np.array([0.9, 0.1, 0.2]))
    copy, body = mujoco.MjData(model), model.body(LAST).id
    angle, rate, impulse, wanted = [sim.data.qpos.copy()], [sim.data.qvel.copy()], [], []
    for _ in range(150):
        mujoco.mj_copyData(copy, model, sim.data)
        sim.step()
        mujoco.mj_forward(model, copy)
        copy.qacc[:] = (sim.data.qvel - copy.qvel) / TIMESTEP
        copy.xfrc_applied[body] = sim.contacts[LAST].impulse / TIMESTEP
        mujoco.mj_rnePostConstraint(model, copy)
        wanted.append(copy.cfrc_int[body, [3, 5]].copy())
        angle.append(sim.data.qpos.copy())
        rate.append(sim.data.qvel.copy())
        impulse.append(sim.contacts[LAST].impulse)
    none = np.zeros(150, int)
    swing = Swing(
        np.array(angle), np.array(rate), np.array(impulse), none, none, none, none > 0, none > 0, np.zeros((0, 6))
    )
    assert sim.contacts[LAST].steps > 20
    assert np.allclose(swing.joint_force, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["modes", "powell"])
@pytest.mark.parametrize("softness", [0.0, 1e-5, 1e-3])
def test_what_rests_is_static_and_what_slides_is_not(softness, method):
    """Also with a soft law, which never stops a patch exactly."""
    model = model_of(f'<body name="foot" pos="0 0 0.041"><freejoint/><geom {BOX}/></body>')
    sim = Simulation(model, laws={"foot": CoulombLaw(LINK, 0.6, softness=softness)}, method=method)
    sim.data.qvel[0] = 0.5
    modes = []
    for _ in range(120):
        sim.step()
        modes.append(sim.contacts["foot"].mode)
    assert modes[20:30] == [Mode.DYNAMIC] * 10 and sim.data.qvel[0] == pytest.approx(0, abs=1e-6)
    assert modes[-20:] == [Mode.STATIC] * 20


def test_standing_robot_does_not_creep():
    """Four feet at once, each static: after settling nothing moves along the ground, and no step is unsolved."""
    sim = standing(dict.fromkeys(FEET, foot_law()))
    model = sim.model
    for _ in range(1500):  # until the correction of what has sunk in has done its work
        sim.step()
    before = sim.data.xpos[[model.body(foot).id for foot in FEET]].copy()
    for _ in range(200):
        sim.step()
    assert all(contact.mode == Mode.STATIC for contact in sim.contacts.values())
    assert np.abs(sim.data.xpos[[model.body(foot).id for foot in FEET]] - before).max() < 1e-9
    assert len(sim.contacts[FEET[0]].points) == 4
    assert np.abs(sim.contacts[FEET[0]].points[:, 2]).max() < 1e-4
    weight = sum(contact.impulse[2] for contact in sim.contacts.values()) / 0.002
    assert weight == pytest.approx(9.81 * model.body_mass.sum(), rel=1e-3)


def test_save_and_restore_to_the_same_bytes():
    model = mujoco.MjModel.from_xml_string(CHAIN)
    sim = Simulation(model, laws={LAST: LAW})
    sim.reset(qpos=np.array([0.9, 0.1, 0.2]))
    for _ in range(120):
        sim.step()
    kept = sim.save()
    for _ in range(100):
        sim.step()
    wanted = sim.save()
    sim.restore(kept)
    for _ in range(100):
        sim.step()
    assert sim.contacts[LAST].steps > 100
    assert sim.save().tobytes() == wanted.tobytes()
    other = Simulation(mujoco.MjModel.from_xml_string(CHAIN), laws={LAST: LAW})
    other.restore(kept)
    for _ in range(100):
        other.step()
    assert other.save().tobytes() == wanted.tobytes()


def test_other_contacts_stay():
    """Only the pairs of foot and ground leave MuJoCo's contacts, by filter or by name."""
    inside = (
        '<body name="foot" pos="0 0 0.04"><freejoint/><geom name="f" type="box" size="0.25 0.05 0.04" mass="1"/></body>'
        '<body name="ball" pos="0 0 0.11"><freejoint/><geom name="b" type="sphere" size="0.04" mass="0.1"/></body>'
        '<body name="far" pos="1 0 0.03"><freejoint/><geom name="c" type="sphere" size="0.04" mass="0.1"/></body>'
    )
    pairs = '<contact><pair geom1="ground" geom2="f"/></contact>'
    for rest in ("", pairs):
        model = model_of(inside, rest)
        sim = Simulation(model, laws={"foot": LAW})
        mujoco.mj_forward(model, sim.data)
        names = {
            frozenset((model.geom(int(a)).name, model.geom(int(b)).name))
            for a, b in zip(sim.data.contact.geom1, sim.data.contact.geom2)
            if sim.data.contact.dist[0] < 1
        }
        assert names == {frozenset(("f", "b")), frozenset(("ground", "c"))}
        for _ in range(300):
            sim.step()
        assert sim.contacts["foot"].mode == Mode.STATIC
        assert sim.data.qpos[9] > 0.1  # the ball lies on the box


def foot_law(friction=0.8) -> CoulombLaw:
    """Coulomb's law for the quadruped's feet."""
    return CoulombLaw(FOOT, friction, cone="round", softness=0.0)


def test_a_law_for_each_foot_is_a_shared_law():
    """To the same bytes, if the laws are equal."""
    shared = foot_law()
    one, four = standing(dict.fromkeys(FEET, shared)), standing({foot: foot_law() for foot in FEET})
    for k in range(150):
        for sim in (one, four):
            sim.data.ctrl[:] = joint_targets(0.002 * k, 1.0)
            sim.step()
    assert all(contact.steps > 10 for contact in four.contacts.values())
    assert one.save().tobytes() == four.save().tobytes()


def test_two_different_laws():
    """Feet of one robot on different grounds: those without friction slide, the others hold it."""
    rough, icy = foot_law(0.8), foot_law(0.0)
    sim = standing({foot: icy if "rear" in foot else rough for foot in FEET})
    for _ in range(300):
        sim.step()
    impulse = {foot: sim.contacts[foot].impulse for foot in FEET}
    assert all(np.abs(impulse[foot][:2]).max() == 0.0 for foot in FEET if "rear" in foot)
    assert max(np.abs(impulse[foot][:2]).max() for foot in FEET if "front" in foot) > 1e-6
    assert sum(p[2] for p in impulse.values()) / 0.002 == pytest.approx(9.81 * sim.model.body_mass.sum(), rel=0.05)


@pytest.mark.parametrize("inside", [chain_of(LIMIT), OTHER], ids=["limits", "contacts"])
def test_sparse_constraints_are_the_dense_ones(inside):
    """The motion does not depend on how MuJoCo keeps the Jacobians of its own constraints."""
    ends = []
    for jacobian in ("dense", "sparse"):
        model = model_of(inside, option=f'jacobian="{jacobian}" {TIGHT}')
        assert bool(mujoco.mj_isSparse(model)) == (jacobian == "sparse")
        sim = Simulation(model, laws={"foot": LAW})
        constrained = 0
        for _ in range(300):
            sim.step()
            constrained += sim.data.nefc > 0 and sim.contacts["foot"].kind > 0
        assert constrained > 5
        ends.append(sim.data.qpos.copy())
    assert np.abs(ends[0] - ends[1]).max() < 1e-8


def test_sensors_are_those_of_mujoco():
    """A model with sensors moves as one without, and they tell of the step that was made."""
    plain = model_of(chain_of())
    sensors = '<sensor><jointvel joint="jf"/><framelinacc objtype="body" objname="foot"/></sensor>'
    seen = model_of(chain_of(), sensors)
    a, b = Simulation(plain, laws={"foot": LAW}), Simulation(seen, laws={"foot": LAW})
    for _ in range(300):
        speed = b.data.qvel[1]
        a.step()
        b.step()
        assert b.data.sensordata[0] == speed  # MuJoCo measures at the start of a step
        assert a.data.qpos.tobytes() == b.data.qpos.tobytes()
    assert b.contacts["foot"].steps > 50
    assert np.abs(b.data.sensordata[1:]).max() > 0.0


@pytest.mark.parametrize("option", ["", 'integrator="implicitfast"'])
def test_powell_inside_mujoco(option):
    """The paper's method swings the chain as the search by modes does, with more questions."""
    ends, asked = [], []
    for method in ("modes", "powell"):
        sim = Simulation(model_of(chain_of(), option=option), laws={"foot": stiction.load("link")}, method=method)
        sim.reset(qpos=np.array([0.5, 0.0]))
        for _ in range(100):
            sim.step()
        assert sim.contacts["foot"].steps > 40
        ends.append(sim.data.qpos.copy())
        asked.append(sim.contacts["foot"].total_evaluations)
    assert np.abs(ends[0] - ends[1]).max() < 0.02
    assert asked[1] > 2 * asked[0]


def copied(sim):
    """A copy by way of a pickle."""
    return pickle.loads(pickle.dumps(sim))


@pytest.mark.parametrize("twin", [copy.deepcopy, copied], ids=["deepcopy", "pickle"])
def test_copies_go_on_by_themselves(twin):
    """A copy makes the steps that the original would have made, and neither moves the other."""
    sim = standing({foot: foot_law() if "rear" in foot else LOOSE for foot in FEET}, tolerance=1e-4)
    for _ in range(120):
        sim.step()
    other = twin(sim)
    assert other.steps == sim.steps and other.data is not sim.data
    assert {name: repr(c) for name, c in other.contacts.items()} == {name: repr(c) for name, c in sim.contacts.items()}
    start = sim.save()
    for _ in range(80):
        other.step()
    assert sim.save().tobytes() == start.tobytes()
    for _ in range(80):
        sim.step()
    assert sim.save().tobytes() == other.save().tobytes()
    assert sim.contacts[FEET[0]].steps == other.contacts[FEET[0]].steps
    del sim
    gc.collect()
    other.step()


def test_error_of_a_law_leaves_no_force():
    """A law that fails in the middle of a step leaves MuJoCo's applied forces as they were."""

    class Failing(Law):
        body = LINK
        asked = 0

        def classify(self, contacts):
            return np.full(len(contacts), Mode.DYNAMIC)

        def friction(self, contacts, dynamic):
            self.asked += 1
            if self.asked > 40:
                raise KeyError("lost")
            return np.zeros((len(dynamic), 3))

    sim = Simulation(model_of(chain_of(), TIED), laws={"foot": Failing()})
    sim.data.xfrc_applied[2, 0] = 0.5
    with pytest.raises(KeyError, match="lost"):
        for _ in range(500):
            sim.step()
    assert sim.data.xfrc_applied[2].tolist() == [0.5, 0, 0, 0, 0, 0]


def test_stops_at_nan():
    """Lost numbers are named with step, body and state, before MuJoCo begins anew by itself."""
    sim = Simulation(mujoco.MjModel.from_xml_string(CHAIN), laws={LAST: LAW})
    for _ in range(7):
        sim.step()
    sim.data.qvel[1] = np.nan
    with pytest.raises(InputError, match=r"before step 7 \(t = 0.014 s\), at body 'link2'.*qvel = .*nan"):
        sim.step()
    sim.reset()
    sim.data.qpos[0] = np.inf
    with pytest.raises(InputError, match=r"before step 0 .*qpos = \[inf"):
        sim.step()
    with pytest.raises(InputError, match="qpos must be finite"):
        sim.reset(qpos=[np.nan, 0, 0])


class Push(Law):
    """Never static, and pushes along x."""

    body = LINK

    def classify(self, contacts):
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        return np.tile([0.01, 0.0, 0.0], (len(dynamic), 1))


def test_a_body_at_rest_stays_at_rest_whatever_its_law_says():
    model = model_of(f'<body name="foot" pos="0 0 0.04"><freejoint/><geom {BOX}/></body>')
    sim = Simulation(model, laws={"foot": Push()})
    start = sim.data.qpos.copy()
    sim.step(500)
    assert np.abs(sim.data.qpos - start).max() < 1e-12 and np.abs(sim.data.qvel).max() < 1e-12
    assert sim.contacts["foot"].mode == Mode.STATIC and sim.contacts["foot"].total_evaluations == 0
