"""The core called wrongly: in a wrong order, with a wrong number. It raises, whatever it is asked."""

import numpy as np
import pytest

from contact_states import random_contacts
from stiction import CoulombLaw, _core

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="2 2 1"/>
    <body name="a" pos="0 0 0.0195"><freejoint/><geom type="box" size="0.1 0.05 0.02" mass="0.5"/></body>
    <body name="b" pos="1 0 0.0195"><freejoint/><geom type="box" size="0.1 0.05 0.02" mass="0.5"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("number", [-1, 5, 2**31 - 1, -(2**31)])
def test_a_contact_that_is_not_there(box, number):
    contacts = random_contacts(box, 5, np.random.default_rng(1))
    calls = [
        lambda: _core.friction_from(contacts, number, np.zeros(3)),
        lambda: _core.impulse_from(contacts, number, np.zeros(6)),
        lambda: contacts.points(number),
        lambda: contacts.normal_impulse(number, np.zeros(6)),
    ]
    for call in calls:
        with pytest.raises(IndexError, match="There is no contact of that number"):
            call()


@pytest.fixture
def step():
    """The core's part of a step of two bodies in MuJoCo, before it begins."""
    from stiction.mujoco import Simulation, body_of

    model = mujoco.MjModel.from_xml_string(MODEL)
    sim = Simulation(model, laws={name: CoulombLaw(body_of(model, name), 0.5) for name in "ab"})
    mujoco.mj_forward(sim.model, sim.data)
    return sim.contact_part._step


PARTS = {
    "contact_part": lambda core: core.contact_part(0.002, True, 0),
    "a later round": lambda core: core.contact_part(0.002, True, 1),
    "find_linear": lambda core: core.find_linear(0.002, True),
    "set_linear": lambda core: core.set_linear(np.zeros(12), np.zeros((12, 12)), np.eye(12)),
    "set_constraints": lambda core: core.set_constraints(np.zeros(0), np.zeros(0), np.zeros(0, np.int32), []),
    "came_true": lambda core: core.came_true(0),
    "came_true later": lambda core: core.came_true(1),
    "solve": lambda core: core.solve(),
    "apply": lambda core: core.apply(0.002, 0),
    "plan_rise": lambda core: core.plan_rise(0.002),
    "finish": lambda core: core.finish(0.002),
}
# What may follow on what; a round that has applied its forces may be the last one.
AFTER = {
    (): set(),
    ("touch",): {"contact_part", "find_linear", "set_linear", "set_constraints"},
    ("touch", "find_linear"): {"came_true", "set_constraints"},
    ("touch", "find_linear", "came_true"): {"solve", "set_constraints"},
    ("touch", "find_linear", "came_true", "solve"): {"solve", "apply", "set_constraints", "plan_rise"},
    ("touch", "find_linear", "came_true", "solve", "apply"): {
        "a later round", "find_linear", "set_linear", "set_constraints", "plan_rise",
    },
    ("touch", "contact_part"): {"finish"},
    ("touch", "contact_part", "finish"): set(),
}  # fmt: skip


@pytest.mark.parametrize("before", AFTER, ids=" ".join)
def test_parts_of_a_step_in_a_wrong_order(step, before):
    core = step.core
    for name in PARTS:
        for done in before:
            core.touch(0.002) if done == "touch" else PARTS[done](core)
        if name in AFTER[before]:
            PARTS[name](core)
            continue
        with pytest.raises(ValueError, match=r"The parts of a step|Rounds of a step|no solution"):
            PARTS[name](core)


def test_links_that_were_moved_in_the_middle_of_a_step(step):
    """Somebody else asks the same links where they touch: then what the step knows is of other contacts."""
    core, links = step.core, step.links
    core.touch(0.002)
    core.find_linear(0.002, True)
    links.touch(np.array([[0, 0, 1.0], [0, 0, 1.0]]), np.tile(np.eye(3), (2, 1, 1)))
    for name in PARTS:
        with pytest.raises(ValueError, match="The parts of a step"):
            PARTS[name](core)


@pytest.mark.parametrize(
    "wrong", [{"length": 13}, {"start": 12}, {"start": -1}, {"length": -1}, {"column": 12}, {"column": -1}]
)
def test_constraints_that_name_what_is_not_there(step, wrong):
    right = {"length": 12, "start": 0, "column": 0}
    length, start, column = ({**right, **wrong}[name] for name in ("length", "start", "column"))
    columns = np.arange(12, dtype=np.int32)
    columns[5] = column
    layout = [np.array([length], np.int32), np.array([start], np.int32), columns]
    step.core.touch(0.002)
    with pytest.raises(ValueError, match="A row of the constraints"):
        step.core.set_constraints(np.zeros(12), np.ones(1), np.zeros(1, np.int32), layout)
    step.core.contact_part(0.002, True, 0)  # without them
