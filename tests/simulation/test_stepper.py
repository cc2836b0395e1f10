"""One time step a call: the steps of a rollout."""

import threading
import time
from typing import Any

import numpy as np
import pytest

from conftest import random_states
from core_bits import laws
from stiction import CoulombLaw, InputError, Law, Material, Mode, State, Stepper, load, rollout
from stiction.laws.modelfile import shipped_laws


@pytest.mark.parametrize("number", [None, 3])
def test_a_stepper_makes_the_steps_of_a_rollout(box, number):
    state = State([0.1, 0.0, 0.35], velocity=[1, 0, -1], angular_velocity=[1, 2, 3])
    if number is not None:
        state = State(*(np.tile(part, (number, 1)) for part in (state.position, state.quaternion, state.velocity)))
    law = CoulombLaw(box, 0.5)
    run, stepper = rollout(law, state, 120), Stepper(law, state)
    for t in range(120):
        stepper.step()
        assert np.array_equal(stepper.state.position, run.position[..., t + 1, :])
        assert np.array_equal(stepper.impulse, run.impulse[..., t, :]) and np.array_equal(
            stepper.mode, run.mode[..., t]
        )
    stepper.state = state
    assert np.array_equal(stepper.state.position, state.position)
    with pytest.raises(InputError, match="below the ground"):
        stepper.state = State(state.position - [0, 0, 1], state.quaternion)


def test_an_impact_law_comes_to_rest_in_a_stepper_as_in_a_rollout():
    """Its time steps are cut at impacts, and a body at rest repeats its last step."""
    state = State([0, 0, 0.1], velocity=[0.5, 0, 0], angular_velocity=[1, 2, 3])
    run, stepper = rollout("cube", state, 300), Stepper("cube", state)
    for t in range(300):
        stepper.step()
        assert np.array_equal(stepper.impulse, run.impulse[t]) and stepper.mode == run.mode[t]
    assert np.array_equal(run.position[-1], run.position[-20])
    assert stepper.state.position.tobytes() == run.position[-1].tobytes()


LAWS = {**laws(), **{name: load(name) for name in shipped_laws()}}


@pytest.mark.parametrize("name", LAWS)
def test_a_stepper_has_the_bits_of_a_rollout_with_every_law(box, name):
    """All of a state and of a step, signs of zeros too; one body as well as many."""
    law: Any = LAWS[name].on(box) if isinstance(LAWS[name], Material) else LAWS[name]
    many = random_states(np.random.default_rng(3), 4, planar=law.body.planar)
    many.velocity[:, 2] = -3.0  # soon in contact
    many.position[:, 2] += law.ground
    for start in (many, many[2]):
        run, stepper = rollout(law, start, 150, finite=False), Stepper(law, start)
        for t in range(150):
            stepper.step()
            now = stepper.state
            for part in ("position", "quaternion", "velocity", "angular_velocity"):
                assert getattr(now, part).tobytes() == getattr(run, part)[..., t + 1, :].tobytes(), (part, t)
            for part in ("impulse", "mode", "kind"):
                whole = getattr(run, part)
                assert getattr(stepper, part).tobytes() == np.take(whole, t, axis=start.position.ndim - 1).tobytes()
        assert (run.kind > 0).any()


class Slow(Law):
    """A law in Python that lets other threads run while it is asked."""

    def __init__(self, body) -> None:
        self.body, self.inside = body, lambda: time.sleep(0.001)

    def classify(self, contacts):
        self.inside()
        return np.full(len(contacts), Mode.DYNAMIC)

    def friction(self, contacts, dynamic):
        return np.zeros((len(dynamic), 3))


def test_a_stepper_belongs_to_one_thread_at_a_time(box):
    """Steps of several threads are whole or refused, so that as many steps are taken as were not refused."""
    law, start = Slow(box), State([0, 0, 0.2], velocity=[1, 0, 0])
    stepper, taken, refused = Stepper(law, start), [], []

    def run():
        for _ in range(40):
            try:
                stepper.step()
                taken.append(1)
            except InputError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused and all("in the middle of a step" in text for text in refused) and len(taken) > 10
    assert stepper.state.position.tobytes() == rollout(law, start, len(taken)).position[-1].tobytes()


def test_a_law_cannot_step_what_asks_it(box):
    law = Slow(box)
    stepper = Stepper(law, State([0, 0, 0.2], velocity=[1, 0, 0]))
    law.inside = stepper.step
    with pytest.raises(InputError, match="in the middle of a step"):
        stepper.step()
    law.inside = lambda: None
    stepper.step()


class Asked(Law):
    """The law `box`, asked by callback, so that no step is repeated without a question."""

    def __init__(self) -> None:
        self.inner = load("box")
        self.body = self.inner.body

    def classify(self, contacts):
        return self.inner.classify(contacts)

    def friction(self, contacts, dynamic):
        return self.inner.friction(contacts, dynamic)


@pytest.mark.parametrize("substeps", [0, 2])
def test_steps_that_a_settled_body_repeats_have_the_bits_of_those_that_are_taken(substeps):
    """One box that sank in a little is raised until it settles, one slides until then, and one falls."""
    state = State([[0, 0, 0.2 - 2e-9], [0.3, 0, 0.2], [0, 0, 0.5]], velocity=[[0, 0, 0], [0.2, 0, 0], [0, 0, 0]])
    run, asked = (rollout(law, state, 400, substeps=substeps) for law in ("box", Asked()))
    for name in ("position", "quaternion", "velocity", "angular_velocity", "impulse", "mode", "kind"):
        assert getattr(run, name).tobytes() == getattr(asked, name).tobytes(), name
    still = (run.position[:, 1:] == run.position[:, :-1]).all(axis=2)
    assert still[0, -50:].all() and not still[2].all()


def test_a_law_in_python_is_asked_in_every_step():
    """It may remember: this one lets go after fifty steps at rest."""

    class Tired(Law):
        body, asked = load("box").body, 0

        def classify(self, contacts):
            self.asked += 1
            return [Mode.STATIC if self.asked < 50 else Mode.DYNAMIC] * len(contacts.record)

        def friction(self, contacts, dynamic):
            return [[0.0, 0.0, 0.0]] * len(dynamic)

    run = rollout(Tired(), State([0, 0, 0.2]), 60, gravity=[1.0, 0, -9.81])
    assert (run.velocity[49] == 0).all() and run.velocity[-1, 0] > 0.01


def test_a_stepper_refuses_what_a_rollout_refuses(box):
    with pytest.raises(InputError, match=r"gravity must have shape \(3,\)"):
        Stepper(CoulombLaw(box), State([[0, 0, 1]] * 2), gravity=[[0, 0, -9.81]] * 2)
    with pytest.raises(InputError, match=r"holds only for these, got 0\.001 s"):
        Stepper(load("box"), State([0, 0, 1]), timestep=0.001)
    with pytest.raises(InputError, match=r"state must be a stiction\.State"):
        Stepper(CoulombLaw(box), [0, 0, 1])  # pyright: ignore[reportArgumentType]
