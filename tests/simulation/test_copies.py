"""Copies, pickles, processes and threads: what comes of them has the same bits."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conftest import convex_stone, random_states
from core_bits import FIELDS, InPython, laws
from stiction import Body, CoulombLaw, State, Stepper, load, rollout

WAYS = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    **{f"pickle {n}": lambda x, n=n: pickle.loads(pickle.dumps(x, n)) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}
LAWS = ("friction box", "friction cone", "learned", "baseline", "kernel machines", "trees", "impact", "in Python")


@pytest.fixture(scope="module")
def known():
    return laws()


def start_for(body: Body, count: int = 3) -> State:
    start = random_states(np.random.default_rng(1), count, planar=body.planar)
    start.velocity[:, 2] = -3.0
    return start


def assert_same(a, b) -> None:
    for name in FIELDS:
        assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True), name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LAWS)
def test_a_copied_law_gives_the_same_bits(known, name, way):
    law = known[name]
    start = start_for(law.body)
    before = rollout(law, start, 200, finite=False)
    assert (before.kind > 0).any(axis=1).all()
    again = WAYS[way](law)
    assert again is not law and type(again) is type(law)
    assert_same(rollout(again, start, 200, finite=False), before)
    assert_same(rollout(law, start, 200, finite=False), before)  # the copied one is as it was
    assert repr(again) == repr(law) or name == "in Python"


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_body_is_the_same_body(way):
    lopsided = Body.box((0.1, 0.2, 0.3), 0.4, com=(0.01, 0.0, -0.02), rounding=0.004)
    for body in (lopsided, convex_stone(60), Body.rectangle((0.2, 0.4), 1.0)):
        start = start_for(body)
        before = rollout(CoulombLaw(body, 0.5), start, 200)
        again = WAYS[way](body)
        assert again is not body and again.to_dict() == body.to_dict() and again.diameter == body.diameter
        assert_same(rollout(CoulombLaw(again, 0.5), start, 200), before)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("law", ["box", "box-pdd", "cube", "cube, drawn"])
def test_a_copied_stepper_goes_on_where_the_other_was(way, law):
    """In contact, at any moment; both go on for themselves, and the last step is known to both."""
    # Drawn from its uncertainty, a law of impacts turns friction another way in each of them.
    law = load("cube").with_spread((0.1, 0.1, 0.5)).drawn(3, seed=1) if law == "cube, drawn" else load(law)
    start = start_for(law.body)
    stepper = Stepper(law, start)
    for _ in range(120):
        stepper.step()
    again = WAYS[way](stepper)
    assert (stepper.kind > 0).any()
    for name in ("impulse", "mode", "kind"):
        assert np.array_equal(getattr(again, name), getattr(stepper, name))
    held = [part.copy() for part in stepper._native.state()]
    steps = []
    for one in (again, stepper):
        assert all(np.array_equal(a, b) for a, b in zip(one._native.state(), held)), "one moves the other"
        for _ in range(80):
            one.step()
        steps.append((*one._native.state(), one.impulse, one.mode, one.kind))
    assert all(np.array_equal(a, b) for a, b in zip(*steps))
    assert not np.array_equal(steps[0][0], held[0])


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_trajectory_holds_the_same_numbers(box, way):
    run = rollout(CoulombLaw(box), start_for(box), 50)
    again = WAYS[way](run)
    assert_same(again, run)
    assert again.timestep == run.timestep and again.steps == 50
    assert np.array_equal(again.state().position, run.state().position)
    if way != "copy":
        again.position[:] = 0.0
        assert run.position.any()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_get_the_same_bits(known, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    wanted, asked = [], []
    for name in LAWS:
        if name == "in Python" and method == "spawn":
            continue  # its class is the tests' own, and not known there
        law = known[name]
        start = start_for(law.body)
        wanted.append(rollout(law, start, 200, finite=False))  # what the core has made is there when it forks
        asked.append((law, start, 200))
    with multiprocessing.get_context(method).Pool(2) as pool:
        got = [pool.apply_async(rollout, arguments, {"finite": False}) for arguments in asked]
        for result, run in zip(got, wanted):
            assert_same(result.get(timeout=120), run)


@pytest.mark.parametrize("name", LAWS)
def test_threads_of_python_may_share_a_law(known, name):
    """The core works without the interpreter's lock: eight threads at once, with one law and one body."""
    law = known[name]
    start = start_for(law.body, 16)
    wanted = rollout(law, start, 200, finite=False)
    with ThreadPoolExecutor(8) as pool:
        runs = pool.map(lambda i: rollout(law, start[i], 200, finite=False, threads=1 + i % 2), range(16))
        for i, run in enumerate(runs):
            assert_same(run, wanted[i])


def test_threads_may_fail_and_work_side_by_side(box):
    """A law that raises in one thread does no harm to another."""
    start = start_for(box)
    wanted = rollout(InPython(box), start, 150)

    class Failing(InPython):
        def classify(self, contacts):
            raise ArithmeticError("as it must")

    def use(k: int):
        return rollout((Failing if k % 2 else InPython)(box), start, 150)

    with ThreadPoolExecutor(4) as pool:
        for k, done in enumerate([pool.submit(use, k) for k in range(12)]):
            if k % 2:
                with pytest.raises(ArithmeticError, match="as it must"):
                    done.result()
            else:
                assert_same(done.result(), wanted)
