"""Steps with materials in MuJoCo that fail: each is reported in one sentence and leaves no force behind."""

import copy
import signal
import warnings
from typing import Any, cast

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from test_point_contacts_hard import PLANE, box, model_of

from stiction import InputError
from stiction.mujoco import Simulation, pairs, rollout, rollouts


def test_an_error_in_a_callback_arrives_as_it_is():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    sim.data.xfrc_applied[1] = force = [0.1, 0.2, 0.3, 0, 0, 0]

    def fail(model, data):
        raise KeyError("mine")

    mujoco.set_mjcb_passive(fail)
    try:
        for _ in range(3):
            with pytest.raises(KeyError, match="mine"):
                sim.step()
            assert (sim.data.xfrc_applied[1] == force).all()
    finally:
        mujoco.set_mjcb_passive(None)
    sim.step(10)
    assert sim.steps == 10 and sim.contacts["part"].impulse[2] > 0


@pytest.mark.parametrize(("threads", "error"), [(1, KeyError), (2, (KeyError, RuntimeError))])
def test_an_error_in_a_callback_ends_a_rollout(threads, error):
    model = model_of(PLANE + box("part", "0 0 .1"))
    workers, start = [mujoco.MjData(model) for _ in range(threads)], np.empty((4, 14))
    mujoco.mj_getState(model, workers[0], start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start[:] = start[0]

    def fail(model, data):
        raise KeyError("mine")

    mujoco.set_mjcb_passive(fail)
    try:
        with pytest.raises(error):
            rollout(model, workers, start, nstep=5, laws={"part": 0.5})
    finally:
        mujoco.set_mjcb_passive(None)
    states, _ = rollout(model, workers, start, nstep=5, laws={"part": 0.5})
    assert np.abs(states[:, -1, 3] - 0.1).max() < 1e-9


def test_settings_that_no_step_can_be_taken_with_are_refused():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    sim.step()
    for wrong in (0.0, -0.002, np.nan):
        sim.model.opt.timestep = wrong
        with pytest.raises(ValueError, match="The time step must be above zero"):
            sim.step()
    sim.model.opt.timestep = 0.002
    sim.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    with pytest.raises(ValueError, match="Sleeping bodies"):
        sim.step()
    sim.model.opt.enableflags = 0
    sim.step()


def test_a_control_that_is_nan_is_reported():
    slider = '<body name="part" pos="0 0 .1"><joint name="x" type="slide"/><geom size=".1"/></body>'
    motor = '<actuator><motor joint="x"/></actuator>'
    sim = Simulation(model_of(PLANE + slider, more=motor), laws={"part": 0.5})
    sim.data.ctrl[0] = np.nan
    with pytest.raises(ValueError, match="a control that is not finite"):
        sim.step()
    assert np.isfinite(sim.data.qpos).all()


def test_forces_are_gone_after_mujoco_resets():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    sim.step(3)
    sim.data.xfrc_applied[1, 0] = 1e15
    with pytest.raises(ValueError, match="reset its data"):
        sim.step()
    assert not sim.data.xfrc_applied.any()


def test_each_reset_by_mujoco_is_reported():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    for _ in range(3):  # MuJoCo's count of bad numbers begins anew, too: it is 1 each time
        sim.step(5)
        sim.data.xfrc_applied[1, 0] = 1e15
        with pytest.raises(ValueError, match="reset its data"):
            sim.step()
        assert not len(sim.contacts["part"].impulses)


def test_the_users_forces_stay_without_autoreset():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    sim.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    sim.step(5)
    sim.data.xfrc_applied[1] = force = [1e15, 0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="autoreset is off"):
        sim.step()
    assert (sim.data.xfrc_applied[1] == force).all()


@pytest.mark.parametrize("wrong", [-1, 2.5, "3"])
def test_a_wrong_number_of_steps_is_refused(wrong):
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})
    with pytest.raises(ValueError, match="nstep"):
        sim.step(wrong)
    assert sim.steps == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_many_steps_can_be_interrupted():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})

    def stop(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            sim.step(100_000_000)
    finally:
        signal.signal(signal.SIGALRM, old)
    sim.step()


def test_rollout_takes_the_options_of_a_simulation_and_no_others():
    model = model_of(PLANE + box("part", "0 0 .1"))
    data, start = mujoco.MjData(model), np.zeros(14)
    start[3:5] = 0.1, 1.0
    plain = rollout(model, data, start, nstep=3, laws={"part": 0.5})[0]
    assert (rollout(model, data, start, nstep=3, laws={"part": 0.5}, gap=0.02)[0] == plain).all()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nthread'"):
        rollout(model, data, start, nstep=3, laws={"part": 0.5}, nthread=2)  # type: ignore[call-arg]


def test_wrong_laws_or_models_are_named_in_the_error():
    model = model_of(PLANE + box("part", "0 0 .1"))
    with pytest.raises(InputError, match=r"map each name to its law, such as \{.*\}, got \['part'\]"):
        Simulation(model, laws=cast(Any, ["part"]))
    with pytest.raises(InputError, match="got the text of one"):
        Simulation(" <mujoco/>", laws={"part": 0.5})


def test_contacts_name_their_keys():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={("part", "floor"): 0.5})
    with pytest.raises(KeyError) as caught:
        sim.contacts["floor", "lid"]
    assert str(caught.value) == "laws has no key ('floor', 'lid'): its keys are ('part', 'floor')."
    assert sim.contacts.get("part") is None


def test_a_pair_may_be_given_and_read_in_either_order():
    model = model_of(PLANE + box("part", "0 0 .1"))
    one, two = (Simulation(model, laws={key: 0.5}) for key in (("part", "floor"), ("floor", "part")))
    for sim in (one, two):
        sim.step(5)
    assert np.array_equal(one.data.qpos, two.data.qpos)
    upper, lower = one.contacts["part", "floor"], one.contacts["floor", "part"]
    assert upper.impulse[2] == pytest.approx(1 * 9.81 * 0.002) and lower.impulse[2] == -upper.impulse[2]
    assert np.array_equal(lower.impulses, -upper.impulses) and np.array_equal(lower.points, upper.points)
    assert np.allclose(two.contacts["floor", "part"].impulse, lower.impulse, atol=1e-12)
    with pytest.raises(InputError, match=r"has the pair \('part', 'floor'\) in both orders"):
        Simulation(model, laws={("part", "floor"): 0.5, ("floor", "part"): 0.6})


def test_a_shallow_copy_goes_on_by_itself():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .3")), laws={"part": 0.5})
    twin = copy.copy(sim)
    twin.step(10)
    assert sim.data.time == 0 and sim.steps == 0


GHOST = '<body name="ghost"><freejoint/><geom contype="0" conaffinity="0" size=".1"/></body>'
WELDED = '<body name="base"><geom name="one" size=".1"/><body name="link"><geom name="two" size=".1"/></body></body>'


@pytest.mark.parametrize("key", ["ghost", ("part", "ghost"), ("geom:one", "geom:two"), ("base", "floor")])
def test_a_law_that_never_acts_warns(key):
    model = model_of(PLANE + WELDED + GHOST + box("part", "0 0 1"))
    with pytest.warns(UserWarning, match="The law of .* never acts"):
        Simulation(model, laws={key: 0.5})


def test_a_law_that_acts_does_not_warn():
    named = '<contact><pair geom1="floor" geom2="ghost"/></contact>'
    model = model_of(PLANE + WELDED + GHOST.replace("<geom", '<geom name="ghost"') + box("part", "0 0 1"), more=named)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Simulation(model, laws={"ghost": 0.5, ("part", "base"): 0.5, "*": 0.5, ("part", "*"): 0.5})
    assert not caught


def test_many_unsolved_steps_warn_once():
    sim = Simulation(model_of(PLANE + box("part", "0 0 .1")), laws={"part": 0.5})

    def count(unsolved: int, contact_steps: int) -> None:
        counts = np.asarray(sim.core.counts)
        counts[2:4] = unsolved, contact_steps
        sim.core.counts = counts

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count(10, 98)  # too few to tell
        sim.step()
        count(30, 399)
        sim.step()
    count(41, 400)
    with pytest.warns(UserWarning, match=r"In 41 of 401 steps with contact until t = 0.006 s") as caught:
        sim.step()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.step(5)


def test_unsolved_steps_of_a_rollout_warn(monkeypatch):
    model, start = model_of(PLANE + box("part", "0 0 .1")), np.zeros((2, 14))
    start[:, 3:5] = 0.1, 1.0

    def warn(unsolved, steps, when, *, stacklevel):
        """As if no step were solved."""
        return pairs.warn_of_unsolved(steps, steps, when, stacklevel=stacklevel + 1)

    monkeypatch.setattr(rollouts, "warn_of_unsolved", warn)
    with pytest.warns(UserWarning, match="In 120 of 120 steps with contact of these motions") as caught:
        rollout(model, [mujoco.MjData(model) for _ in range(2)], start, nstep=60, laws={"part": 0.5})
    assert caught[0].filename == __file__
