"""What may stand for a law: names, files, any Python object that answers; what is refused, and what goes through."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stiction
from conftest import random_states
from stiction import CoulombLaw, InputError, Law, Material, Mode, State, Stepper, load, rollout
from stiction.mujoco.links import Links

LOW = State([0, 0, 0.2], velocity=[0.5, 0, -1])  # a box in contact


@pytest.mark.parametrize("softness", [np.nan, -1.0, np.inf, 1e300, "soft"])
def test_a_softness_that_cannot_be_is_refused(box, softness):
    with pytest.raises(InputError, match="softness of a law must"):
        CoulombLaw(box, 0.5, softness=softness)
    with pytest.raises(InputError, match="softness of a law must"):
        Material.coulomb(0.5).on(box, softness=softness)


@pytest.mark.parametrize("timestep", [10.0, 1.0, 0.3, 1e-12, np.nan])
def test_a_time_step_that_cannot_be_is_refused(box, timestep):
    for law in (CoulombLaw(box), load("box"), load("cube")):
        with pytest.raises(InputError, match="timestep"):
            rollout(law, State([0, 0, 1]), 5, timestep=timestep)


def test_a_law_in_use_cannot_be_changed_unseen(box):
    """What is written into its friction is refused, before its first use too; so is another softness after it."""
    law = CoulombLaw(box, 0.5)
    with pytest.raises(ValueError, match="read-only"):
        law.friction_coefficients[0] = np.nan
    rollout(law, State([0, 0, 1]), 5)
    with pytest.raises(InputError, match="is in use: its softness cannot be changed"):
        law.softness = 0.1
    with pytest.raises(InputError, match="is in use: its material cannot be changed"):
        law.material = Material.coulomb(np.pi)


def test_any_python_law_can_be_simulated(box):
    """Glue: everything sticks. The core's own law and one by callback are the same algorithm."""

    class Glue:
        body, timestep, softness = box, 0.002, 0.0

        def classify(self, contacts):
            return np.full(len(contacts), Mode.STATIC)

        def friction(self, contacts, dynamic):
            return np.zeros((len(dynamic), 3))

    run = rollout(Glue(), State([0, 0, 0.21], velocity=[0.05, 0, 0]), 200)
    assert run.velocity[-1] == pytest.approx(0, abs=1e-12)
    assert run.position[-1, 0] < 0.01

    class ByCallback:
        """The Coulomb law with its form in the core hidden."""

        def __init__(self, law):
            self.body, self.timestep, self.softness = law.body, law.timestep, law.softness
            self.classify, self.friction = law.classify, law.friction

    law = CoulombLaw(box, 0.6, cone="dart")
    start = random_states(np.random.default_rng(5), 3)
    fast, slow = rollout(law, start, 250), rollout(ByCallback(law), start, 250)
    assert np.array_equal(fast.position, slow.position) and np.array_equal(fast.mode, slow.mode)


def test_a_law_may_be_named():
    start = random_states(np.random.default_rng(1), 2)
    path = Path(stiction.__file__).parent / "models" / "box.safetensors"
    wanted = rollout(load("box"), start, 300)
    assert (wanted.kind > 0).any()
    for name in ("box", path, str(path)):
        assert np.array_equal(rollout(name, start, 300).position, wanted.position)
    stepper = Stepper("box", start)
    stepper.step()
    assert np.array_equal(stepper.state.position, wanted.position[:, 1])
    with pytest.raises(InputError, match="There is no law 'bax'; shipped are"):
        rollout("bax", start)


def test_a_learned_law_holds_for_its_own_time_step_only(box):
    for name in ("box", "box-pdd"):
        with pytest.raises(InputError) as refusal:
            rollout(name, LOW, 5, timestep=0.001)
        sentence = "This law was learned for time steps of 0.002 s and holds only for these, got 0.001 s."
        assert str(refusal.value) == sentence
        assert rollout(name, LOW, 5, timestep=0.002).steps == 5
    coarse, fine = (rollout(CoulombLaw(box, 0.5), LOW, int(0.4 / h), timestep=h) for h in (0.002, 0.0005))
    assert coarse.time[-1] == fine.time[-1] == pytest.approx(0.4)
    assert coarse.position[-1] == pytest.approx(fine.position[-1], abs=5e-3)
    assert rollout("cube", State([0, 0, 0.2]), 5, timestep=0.001).timestep == 0.001


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({}, "A law needs body, classify and friction; Thing has no body and no classify and no friction."),
        ({"body": None, "classify": len}, "A law needs body, classify and friction; Thing has no friction."),
        ({"body": "box", "classify": len, "friction": len}, "The body of a law must be a stiction.Body, got str."),
        (
            {"body": None, "classify": 3, "friction": len},
            "A law needs body, classify and friction; Thing has no classify.",
        ),
    ],
)
def test_an_invalid_law_is_refused(parts, sentence):
    thing: Any = type("Thing", (), parts)()
    for use in (lambda: rollout(thing, LOW), lambda: Stepper(thing, LOW)):
        with pytest.raises(InputError) as refusal:
            use()
        assert str(refusal.value) == sentence


class Answers(Law):
    """A law with the given answers, each a function of the number of contacts."""

    def __init__(self, body, **answers: Callable[[int], Any]) -> None:
        self.body, self.whole, self.answers = body, "respond" in answers, answers

    def classify(self, contacts):
        return self.answers.get("classify", lambda n: np.full(n, Mode.DYNAMIC))(len(contacts))

    def friction(self, contacts, dynamic):
        return self.answers["friction"](len(dynamic))

    def respond(self, contacts):
        return self.answers["respond"](len(contacts))


WRONG = [
    ({"classify": lambda n: np.zeros(n)}, "classify must return 1 modes of STATIC, DYNAMIC, DETACH"),
    ({"classify": lambda n: np.full(n + 1, Mode.STATIC)}, "classify must return 1 modes"),
    ({"classify": lambda n: Mode.STATIC}, "classify must return 1 modes"),
    ({"classify": lambda n: ["STATIC"] * n}, "classify must return 1 modes"),
    ({"classify": lambda n: [1.5] * n}, "classify must return 1 modes"),
    ({"classify": lambda n: None}, "classify must return 1 modes"),
    ({"friction": lambda k: np.zeros((k, 2))}, r"friction must return shape \(1, 3\) or \(1, 5\), got \(1, 2\)"),
    ({"friction": lambda k: np.zeros((k + 1, 3))}, r"friction must return shape \(1, 3\) or \(1, 5\), got \(2, 3\)"),
    ({"friction": lambda k: np.zeros(3)}, r"friction must return shape .*, got \(3,\)"),
    ({"friction": lambda k: "none"}, "friction must be numbers of shape .*, got 'none'"),
    ({"respond": lambda n: None}, "respond must return impulses and modes, got None"),
    ({"respond": lambda n: (np.zeros(6), np.zeros(n))}, r"respond must return shape \(1, 6\), got \(6,\)"),
    ({"respond": lambda n: (np.zeros((n, 6)), np.full(n, 9))}, "respond must return 1 modes of NONE, STATIC"),
    ({"respond": lambda n: (np.zeros((n, 6)), 0)}, "respond must return 1 modes of NONE, STATIC"),
]


@pytest.mark.parametrize(("answers", "sentence"), WRONG)
def test_wrong_answers_are_named(box, answers, sentence):
    law = Answers(box, **answers)
    for use in (lambda: rollout(law, LOW, 5), lambda: Stepper(law, LOW).step()):
        with pytest.raises(InputError, match=f"A law's {sentence}"):
            use()


def test_right_answers_of_whole_impulses_are_taken(box):
    lift = np.array([0.0, 0.0, 1.5, 0.0, 0.0, 0.0])
    law = Answers(box, respond=lambda n: (np.tile(lift, (n, 1)), np.full(n, Mode.NONE)))
    run = rollout(law, LOW, 1)
    assert np.array_equal(run.impulse[0], lift) and run.mode[0] == Mode.DYNAMIC  # seen in the motion
    assert run.velocity[1, 2] == pytest.approx(-1 - 0.002 * 9.81 + 1.5)


class Careful:
    """Any object that knows what it was trained on, and its uncertainty."""

    def __init__(self, body) -> None:
        self.body, self.draws = body, []

    def classify(self, contacts):
        return np.full(len(contacts), Mode.STATIC)

    def friction(self, contacts, dynamic):
        return np.zeros((len(dynamic), 3))

    def outside(self, contacts):
        return contacts.record["velocity"][:, 2] < -0.5

    def drawn(self, number, seed):
        self.draws.append((number, seed))
        return self


def test_any_object_may_say_what_lies_outside_of_its_training(box):
    def solved(law, speed):
        links = Links([law])
        links.touch(np.array([[0, 0, 0.19]]), np.eye(3)[None])
        return links.solve(np.array([0.1, 0, -speed, 0, 0, 0]), links.contacts.inverse_inertia[0])

    assert solved(Careful(box), 0.1).outside.tolist() == [False]
    assert solved(Careful(box), 1.0).outside.tolist() == [True]
    careless = Careful(box)
    careless.outside = lambda contacts: True
    with pytest.raises(InputError, match="A law's outside must return 1 truth values, one per contact, got array"):
        solved(careless, 1.0)


def test_any_object_may_draw_from_its_uncertainty(box):
    law = Careful(box)
    assert rollout(law, LOW, 3, samples=4, seed=7).position.shape == (4, 4, 3)
    assert law.draws == [(4, 7)]


class OwnError(Exception):
    """Of a law's author."""


@pytest.mark.parametrize("question", ["classify", "friction", "respond"])
def test_what_a_law_raises_goes_through(box, question):
    """The author's own exception with its own trace, in a batch too, and nothing is broken afterwards."""

    def fail(count):
        raise OwnError(f"{question} failed")

    law = Answers(box, **{question: fail})
    start = State(np.tile(LOW.position, (300, 1)), velocity=LOW.velocity)
    for use in (lambda: rollout(law, LOW, 5), lambda: rollout(law, start, 5), lambda: Stepper(law, LOW).step()):
        with pytest.raises(OwnError, match=f"{question} failed") as raised:
            use()
        assert any(entry.name == "fail" for entry in raised.traceback)
    assert rollout(CoulombLaw(box), LOW, 5).steps == 5


def test_a_law_that_answers_nothing_is_named(box):
    class Silent(Law):
        body = box

    with pytest.raises(NotImplementedError, match="Silent must define classify"):
        rollout(Silent(), LOW, 5)


def test_a_law_sees_only_the_contacts_that_there_are(box):
    """Of five bodies, two touch; their numbers say which."""
    seen = []

    def classify(contacts):
        seen.append((contacts.record["index"].tolist(), len(contacts)))
        return [Mode.STATIC] * len(contacts)

    questions = {"classify": staticmethod(classify), "friction": lambda self, contacts, dynamic: np.zeros((0, 3))}
    law: Any = type("Watching", (), {"body": box, **questions})()
    heights = [1.0, 0.2, 1.0, 0.2, 1.0]
    rollout(law, State([[0, 0, z] for z in heights]), 3, gravity=[0.1, 0, -9.81])
    assert seen == [([1, 3], 2)] * 3


def test_a_law_cannot_write_into_what_it_is_shown(box):
    """Contacts are there to be read, so that no law can slip past the guards by changing them."""

    class Meddling(Answers):
        def classify(self, contacts):
            assert not contacts.record.flags.writeable
            for name in contacts.record.dtype.names:
                with pytest.raises(ValueError, match="read-only"):
                    contacts.record[name] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                contacts.record.flags.writeable = True
            return super().classify(contacts)

    law = Meddling(box, friction=lambda k: np.zeros((k, 3)))
    assert rollout(law, LOW, 3).mode.tolist() == [Mode.DYNAMIC] * 3


def test_a_class_a_law_without_body_and_a_wrong_softness_are_refused(box):
    class NoBody(Law):
        pass

    refused = {
        "A law must be an object, got the class NoBody": NoBody,
        "The body of a law must be a stiction.Body, got NoneType": NoBody(),
    }
    for sentence, law in refused.items():
        with pytest.raises(InputError, match=sentence):
            rollout(law, State([0, 0, 1]), 1)
    soft = NoBody()
    soft.body, soft.softness = box, "soft"  # type: ignore[assignment]
    with pytest.raises(InputError, match="The softness of a law must be a number"):
        rollout(soft, State([0, 0, 1]), 1)


def test_the_time_step_of_a_learned_law_cannot_be_set():
    with pytest.raises(AttributeError):
        load("box").timestep = 0.001  # type: ignore[misc]


def test_a_user_defined_law_may_call_another_law(box):
    """Half the friction of Coulomb's law is Coulomb's law with half the coefficient."""

    class Half(Law):
        def __init__(self) -> None:
            self.body, self.known = box, CoulombLaw(box, 0.4, softness=0.0)

        def classify(self, contacts):
            return np.where(self.known.classify(contacts) == Mode.DETACH, Mode.DETACH, Mode.DYNAMIC)

        def friction(self, contacts, dynamic):
            return 0.5 * self.known.friction(contacts, dynamic)[:, :3]

    sliding = State([0, 0, 0.2], velocity=[2, 0, 0])
    ways = [rollout(law, sliding, 200).velocity[-1, 0] for law in (Half(), CoulombLaw(box, 0.2, softness=0.0))]
    assert ways[0] == pytest.approx(ways[1], rel=1e-9) and ways[0] == pytest.approx(2 - 0.4 * 0.2 * 9.81, rel=1e-6)
    assert repr(Half()) == "Half(box)"
