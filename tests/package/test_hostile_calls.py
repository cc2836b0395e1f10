"""Calls that make no sense: one sentence each, at once, and nothing left behind."""

import datetime
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import stiction
from stiction import Body, CoulombLaw, InputError, State, Stepper, load, rollout

HUGE = 10**400
DAY = datetime.date(2026, 1, 1)
BODY = Body.box((0.2, 0.3, 0.4), 1.0)
LAW = CoulombLaw(BODY, 0.5)
START = State([0.0, 0.0, 0.6])
MANY = State(np.tile([0.0, 0.0, 0.6], (4, 1)))

CALLS = {
    "load None": lambda: load(None),  # type: ignore[arg-type]
    "load 5": lambda: load(5),  # type: ignore[arg-type]
    "load a long name": lambda: load("a" * 5000),
    "load a long path": lambda: load("a" * 5000 + ".safetensors"),
    "load a zero byte": lambda: load("a\0b.safetensors"),
    "nonsense": lambda: rollout("nonsense", START),
    "a law of nothing": lambda: rollout(None, START),  # type: ignore[arg-type]
    "a long time step": lambda: rollout(LAW, START, 5, timestep=HUGE),
    "a time step in words": lambda: rollout(LAW, START, 5, timestep="0.002"),  # type: ignore[arg-type]
    "a complex time step": lambda: rollout(LAW, START, 5, timestep=np.complex128(0.002)),  # type: ignore[arg-type]
    "a day as time step": lambda: rollout(LAW, START, 5, timestep=DAY),  # type: ignore[arg-type]
    "gravity of 400 digits": lambda: rollout(LAW, START, 5, gravity=[0, 0, HUGE]),
    "gravity in words": lambda: rollout(LAW, START, 5, gravity=["0", "0", "-9.81"]),  # type: ignore[arg-type]
    "complex gravity": lambda: rollout(LAW, START, 5, gravity=np.array([0, 0, -9.81 + 0j])),
    "gravity of dates": lambda: rollout(LAW, START, 5, gravity=np.array(["2026"] * 3, dtype="M8[s]")),
    "gravity of each body": lambda: rollout(LAW, MANY, 5, gravity=np.zeros((4, 3))),
    "steps of 400 digits": lambda: rollout(LAW, START, HUGE),
    "steps of 5,000 digits": lambda: rollout(LAW, START, 10**5000),
    "more steps than memory": lambda: rollout(LAW, START, 2 * 10**9),
    "so too, with every": lambda: rollout(LAW, State(np.tile([0.0, 0.0, 0.6], (100, 1))), 2 * 10**9, every=2),
    "more samples than memory": lambda: rollout("cube", START, 5, samples=10**12),
    "samples of 400 digits": lambda: rollout("cube", START, 5, samples=HUGE),
    "a seed of -1": lambda: rollout("cube", START, 5, samples=2, seed=-1),
    "threads of 400 digits": lambda: rollout(LAW, MANY, 5, threads=HUGE),
    "a law of a word": lambda: CoulombLaw("box"),  # type: ignore[arg-type]
    "complex friction": lambda: CoulombLaw(BODY, 1j),  # type: ignore[arg-type]
    "friction in words": lambda: CoulombLaw(BODY, "0.5"),  # type: ignore[arg-type]
    "friction of 400 digits": lambda: CoulombLaw(BODY, HUGE),
    "a cone of numbers": lambda: CoulombLaw(BODY, cone=np.zeros(3)),  # type: ignore[arg-type]
    "sizes in words": lambda: Body.box(["1", "2", "3"], 1.0),  # type: ignore[arg-type]
    "sizes in seconds": lambda: Body.box(np.array([1, 1, 1], dtype="m8[s]"), 1.0),
    "sizes of 400 digits": lambda: Body.box([HUGE, 1, 1], 1.0),
    "a mass of bytes": lambda: Body.box([1, 1, 1], b"1"),  # type: ignore[arg-type]
    "a ragged inertia": lambda: Body.box([1, 1, 1], 1.0, inertia=[[1], [1, 2], 3]),  # type: ignore[list-item]
    "inertias of many": lambda: Body.box([1, 1, 1], 1.0, inertia=np.tile(np.eye(3), (4, 1, 1))),
    "centres of many": lambda: Body.box([1, 1, 1], 1.0, com=np.zeros((2, 3))),
    "centres of a rectangle": lambda: Body.rectangle([1, 1], 1.0, com=np.zeros((2, 3))),
    "a mesh of nothing": lambda: Body.mesh(None, 1.0),  # type: ignore[arg-type]
    "a mesh of a long name": lambda: Body.mesh("a" * 5000, 1.0),
    "a place of dates": lambda: State([DAY] * 3),  # type: ignore[list-item]
    "a place of 400 digits": lambda: State([0, 0, HUGE]),
    "raised by words": lambda: START.raised("1"),  # type: ignore[arg-type]
    "other leading axes": lambda: MANY.reshape(5),
    "as many draws as digits": lambda: State.random(BODY, HUGE),
    "a trillion draws": lambda: State.random(BODY, 10**12),
    "draws from everywhere": lambda: State.random(BODY, ranges={"spin": (-1e308, 1e308)}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nonsense_is_refused_in_one_sentence(call):
    began = time.process_time()
    with pytest.raises(InputError) as refusal:
        call()
    message = str(refusal.value)
    assert time.process_time() - began < 2
    assert len(message) < 600 and "\n" not in message and message.endswith((".", "?"))


def test_whole_numbers_fractions_and_decimals_are_numbers():
    body = Body.box([Fraction(1, 5), Decimal("0.3"), 1], mass=Fraction(1, 2))  # type: ignore[list-item, arg-type]
    assert body.size == (0.2, 0.3, 1.0) and body.mass == 0.5


def test_a_stepper_takes_states_of_its_own_batch_only():
    stepper = Stepper(LAW, MANY)
    for other in (START, State(np.tile([0.0, 0.0, 0.6], (3, 1))), MANY.reshape(2, 2)):
        with pytest.raises(InputError, match=r"leading axes \(4,\), got"):
            stepper.state = other
    stepper.state = MANY
    stepper.step()


@pytest.mark.parametrize("index", [0, (0, 1), (slice(None), 1)])
def test_one_state_has_no_parts(index):
    with pytest.raises(IndexError):
        START[index]


def test_a_model_file_is_not_put_onto_a_folder(tmp_path):
    law = load("dart")
    for path in (tmp_path, tmp_path / "a.safetensors"):
        path.mkdir(exist_ok=True)
        with pytest.raises(InputError, match="cannot be written: it is a folder"):
            law.save(path)
    with pytest.raises(InputError, match="cannot be written: a file is where its folder would be"):
        (tmp_path / "file").write_text("")
        law.save(tmp_path / "file" / "a.safetensors")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.safetensors", "file"]


def test_a_trajectory_of_words_is_refused(tmp_path):
    run = rollout(LAW, START, 3)
    run.save(tmp_path / "a.npz")
    whole = dict(np.load(tmp_path / "a.npz"))
    for name, wrong in (("position", whole["position"].astype(str)), ("mode", whole["mode"] + 100)):
        np.savez(tmp_path / "b.npz", **{**whole, name: wrong})
        with pytest.raises(InputError, match=f"b.npz, {name} must be"):
            stiction.Trajectory.load(tmp_path / "b.npz")


@pytest.mark.parametrize("law", [LAW, "box", "cube", "stribeck"])
def test_any_memory_order_gives_the_same_bits(law):
    law = load(law).on(BODY) if law == "stribeck" else law
    start = State.random(load(law).body if isinstance(law, str) else law.body, 64, seed=3)
    parts = [getattr(start, name) for name in ("position", "quaternion", "velocity", "angular_velocity")]
    wanted = rollout(law, start, 300)
    spread = [np.repeat(np.repeat(part, 2, axis=0), 3, axis=1)[::2, ::3] for part in parts]
    backwards = [part[::-1, ::-1].copy()[::-1, ::-1] for part in parts]
    for other in ([np.asfortranarray(part) for part in parts], spread, backwards):
        run = rollout(law, State(*other), 300)
        assert all(part.flags.c_contiguous for part in vars(State(*other)).values())
        for name in ("position", "quaternion", "impulse", "mode"):
            np.testing.assert_array_equal(getattr(run, name), getattr(wanted, name))


def test_a_diverging_motion_is_reported_with_its_cause():
    law = stiction.AugmentedLaw.untrained(BODY)
    with pytest.raises(InputError, match=r"its speed of 1.41e\+307 m/s is too high"):
        rollout(law, State([0, 0, 1.0], velocity=[1e307, 0, -1e307]), 400)
    for fast in ({"velocity": [1e6, 0, -1e6]}, {"angular_velocity": [1e6, 3e5, 0]}):  # their energy never rises
        assert np.isfinite(rollout(law, State([0, 0, 1.0], **fast), 400).angular_velocity).all()
