"""What a MuJoCo model must be for a law of a body: what fits is found, what does not is refused in one sentence."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from fuzz.counts import is_sentence
from fuzz.damage import odd_value
from stiction import Body, CoulombLaw, InputError, Mode
from stiction.mujoco import Simulation, body_fit, body_of, rollout, shipped_model, to_mjcf
from stiction_studies.robots.chain_model import CHAIN, LAST, LENGTH, LINK, MASS

LAW = CoulombLaw(LINK, 0.6, cone="round", softness=0.0)


def test_takes_a_spec_and_round_geoms():
    """An MjSpec is compiled; a cylinder is matched by the hull that `body_of` makes of it."""
    spec = mujoco.MjSpec.from_string(
        '<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1" pos="0 0 0.5"/><body name="can" '
        'pos="0 0 0.66"><freejoint/><geom type="cylinder" size="0.05 0.1" mass="0.5"/></body></worldbody></mujoco>'
    )
    can = body_of(spec.compile(), "can")
    sim = Simulation(spec, laws={"can": CoulombLaw(can, 0.5, softness=0.0)})
    for _ in range(400):
        sim.step()
    assert sim.contacts["can"].mode == Mode.STATIC
    assert sim.data.qpos[2] == pytest.approx(0.6, abs=1e-4)  # it stands on a plane that is not at zero


def test_mesh_geom(tmp_path):
    """A mesh file is matched in its own frame, which MuJoCo has moved."""
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.box((0.2, 0.1, 0.06))
    mesh.apply_translation((0.03, -0.01, 0.02))
    path = tmp_path / "block.stl"
    mesh.export(path)
    body = Body.mesh(path, 0.7)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.002"/><asset><mesh name="block" file="{path}"/></asset><worldbody>'
        '<geom type="plane" size="5 5 .1"/><body name="block" pos="0 0 0.2"><freejoint/>'
        '<geom type="mesh" mesh="block" mass="0.7"/></body></worldbody></mujoco>'
    )
    sim = Simulation(model, laws={"block": CoulombLaw(body, 0.5, softness=0.0)})
    for _ in range(400):
        sim.step()
    assert sim.contacts["block"].mode == Mode.STATIC
    assert sim.data.xipos[1, 2] == pytest.approx(0.03, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"laws": {}}, "at least one body"),
        ({"laws": {"leg": LAW}}, "no body 'leg'; it has link1, link2, link3"),
        ({"laws": {"link1": LAW}}, "no geom that can touch"),
        ({"laws": {LAST: CoulombLaw(Body.box((0.4, 0.1, 0.08), 1.0))}}, "do not have the shape"),
        ({"laws": {LAST: CoulombLaw(Body.box(LINK.size, 1.1))}}, "mass of 1 kg, its law one of 1.1"),
        ({"laws": {LAST: CoulombLaw(Body.box(LINK.size, 1.0, com=(0.02, 0, 0)))}}, "centre of mass"),
        ({"laws": {LAST: CoulombLaw(Body.box(LINK.size, 1.0, inertia=np.diag([0.002, 0.03, 0.03])))}}, "inertia"),
        ({"laws": {LAST: CoulombLaw(LINK, timestep=0.001)}}, "steps of 0.001 s, the model has 0.002"),
        ({"laws": {LAST: LAW}, "method": "magic"}, "method must be one of"),
        ({"laws": {LAST: LAW}, "xml": CHAIN.replace('cone="elliptic"', 'integrator="discrete"')}, "cannot be split"),
        ({"laws": {LAST: LAW}, "xml": CHAIN.replace('type="plane"', 'type="sphere"')}, "something to stand on"),
    ],
)  # fmt: skip
def test_refuses(change, message):
    model = mujoco.MjModel.from_xml_string(change.pop("xml", CHAIN))
    with pytest.raises(InputError, match=message) as caught:
        Simulation(model, **change)
    assert "\n" not in str(caught.value)


def test_euler_in_place_of_rk4():
    model = mujoco.MjModel.from_xml_string(CHAIN.replace('cone="elliptic"', 'integrator="RK4"'))
    with pytest.warns(UserWarning, match="RK4 evaluates contact four times"):
        Simulation(model, laws={LAST: LAW})
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER


def test_fit_knows_the_frame():
    """A law's body may be drawn about its own centre while the model's body has its origin at the joint."""
    model = mujoco.MjModel.from_xml_string(CHAIN)
    fit = body_fit.fit(model, LAST, LINK)
    assert np.allclose(fit.turn, np.eye(3))
    assert model.body_mass[fit.body] == MASS and LENGTH == 0.5


def test_round_feet_are_matched_by_the_body_that_is_made_of_them():
    foot = '<body name="foot" pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.075" mass="1"/></body>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{foot}</worldbody></mujoco>'
    )
    sim = Simulation(model, laws={"foot": CoulombLaw(body_of(model, "foot"), timestep=0.002)})
    for _ in range(200):
        sim.step()
    assert sim.contacts["foot"].steps > 0 and sim.data.qpos[2] == pytest.approx(0.075, rel=0.02)


def test_laws_by_name_and_invalid_models():
    with pytest.raises(InputError, match="There is no law 'nonsense'"):
        Simulation(mujoco.MjModel.from_xml_string(CHAIN), laws={LAST: "nonsense"})
    assert list(Simulation(mujoco.MjModel.from_xml_string(CHAIN), laws={LAST: "link"}).contacts) == [LAST]
    with pytest.raises(InputError, match="model must be an MjModel or an MjSpec, got the path"):
        Simulation("robot.xml", laws={LAST: "link"})


_BOX = (
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='b' pos='0 0 1'><freejoint/>"
    "<geom type='box' size='.1 .15 .2' mass='1'/></body></worldbody></mujoco>"
)
_MODEL = mujoco.MjModel.from_xml_string(_BOX)
_STATE = np.concatenate([[0.0], _MODEL.qpos0, np.zeros(6)])
_CALLS = {  # with arguments that are right; one of them is then replaced
    "body_of": (body_of, {"model": _MODEL, "name": "b", "points": 32}),
    "shipped_model": (shipped_model, {"name": "elbow"}),
    "to_mjcf": (to_mjcf, {"law": LAW, "name": "b"}),
    "Simulation": (Simulation, {"model": _MODEL, "data": mujoco.MjData(_MODEL), "laws": {"b": 0.5}}),
    "a law": (lambda value: Simulation(mujoco.MjModel.from_xml_string(_BOX), laws={"b": value}), {"value": 0.5}),
    "rollout": (
        rollout,
        {"model": _MODEL, "data": mujoco.MjData(_MODEL), "initial_state": _STATE, "laws": {"b": 0.5}, "nstep": 2},
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", _CALLS)
def test_calls_that_make_no_sense_are_refused_in_one_sentence(name):
    call, right = _CALLS[name]
    refused = 0
    for k in range(100):
        rng = np.random.default_rng([0, k])
        given = {**right, str(rng.choice(list(right))): odd_value(rng)}
        try:
            call(**given)
        except InputError as error:
            refused += 1
            assert is_sentence(str(error)), error
    assert refused > 50


def test_names_that_cannot_be_written_name_nothing():
    for laws in ({"\ud800": 0.5}, {("b", "\ud800"): 0.5}, {"body:\ud800": 0.5}):
        with pytest.raises(InputError):
            Simulation(mujoco.MjModel.from_xml_string(_BOX), laws=laws)
