"""Training: a law learned from a few throws of a known law predicts that law."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conftest import random_states, same_parts
from contact_states import SETTING, contacts_of

pytest.importorskip("torch", reason="torch is not installed")

from stiction import AugmentedLaw, CoulombLaw, InputError, Material, Mode, State, load, rollout
from stiction.laws.inputs import Inputs
from stiction.training.choose_inputs import find_inputs, fit_guess
from stiction.training.examples import Instances, TrainingData, usable
from stiction.training.settings import Switches, TrainSettings
from stiction.training.training import train_law


def instances_of(run) -> Instances:
    """The contact instances of a batch of throws."""
    throw, step = np.nonzero(run.kind)
    before = run.states()[throw, step]
    twist = np.hstack([before.velocity, before.angular_velocity])
    mode, impulse = run.mode[throw, step], run.impulse[throw, step]
    return Instances(before.position, before.quaternion, twist, impulse, mode, throw.astype(np.int64))


def impulse_error(law, instances: Instances) -> float:
    """Mean size of the error of a law's impulses, relative to the mean size of the true ones, where nothing rests."""
    contacts = _contacts(law.body, instances)
    assert len(contacts) == len(instances)
    error = np.linalg.norm(law.respond(contacts)[0] - instances.impulse, axis=1)
    moves = instances.mode == Mode.DYNAMIC
    return float(error[moves].mean() / np.linalg.norm(instances.impulse[moves], axis=1).mean())


@pytest.fixture(scope="module")
def thrown(box):
    return instances_of(rollout(CoulombLaw(box, 0.7, cone="dart"), random_states(np.random.default_rng(1), 60), 500))


def some_of(instances: Instances) -> Instances:
    return instances[np.random.default_rng(0).permutation(len(instances))[:3000]]


@pytest.fixture(scope="module")
def fresh(box):
    """Contacts that no training has seen."""
    return instances_of(rollout(CoulombLaw(box, 0.7, cone="dart"), random_states(np.random.default_rng(77), 20), 300))


@pytest.mark.parametrize(
    ("friction", "cone", "fold"),
    [((0.7, 0.7), "dart", "mirror-swap"), ((0.5, 1.0), "dart", "mirror"), ((0.6, 0.6), "round", "heading")],
)
def test_the_guess_finds_the_law_behind_the_data(box, friction, cone, fold):
    law = CoulombLaw(box, friction, cone=cone)
    instances = instances_of(rollout(law, random_states(np.random.default_rng(2), 20), 400, substeps=0))
    inputs, error = fit_guess(TrainingData(box, instances, SETTING))
    assert inputs.friction == pytest.approx(friction, rel=0.05)
    assert inputs.cone == law.material.cone and error < 0.1
    assert inputs.fold == fold


def test_too_little_data_is_refused(box, thrown):
    with pytest.raises(InputError, match="needs at least 200 contact instances, got 20"):
        train_law(TrainingData(box, thrown[:20], SETTING))
    with pytest.raises(InputError, match="law must be one of 'augmented', 'statistical', got 'psychic'"):
        train_law(TrainingData(box, thrown, SETTING), TrainSettings("psychic"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "switches",
    [Switches(guess=False, fold="none"), Switches(scaled=False, fold="mirror"), Switches(inputs="state", slip=False)],
    ids=["no guess", "not scaled", "state"],
)
def test_every_way_to_look_at_contacts_gives_a_law(box, thrown, switches, tmp_path):
    law = train_law(TrainingData(box, some_of(thrown), SETTING), TrainSettings(steps=20, switches=switches))
    assert law.inputs.guess == (switches.guess and switches.inputs == "contact")
    law.save(tmp_path / "law.safetensors")
    again = load(tmp_path / "law.safetensors")
    start = random_states(np.random.default_rng(5), 3)
    assert again.inputs == law.inputs
    assert np.array_equal(rollout(again, start, 200).position, rollout(law, start, 200).position)


@pytest.mark.slow
@pytest.mark.parametrize("approximator", ["trees", "gp", "svm"])
def test_other_approximators_give_laws_too(box, thrown, fresh, approximator, tmp_path):
    """From 3,000 contacts and without a guess, which would hide what was learned; nothing learned would be 56 %."""
    known = Inputs(friction=(0.7, 0.7), guess=False)
    law = train_law(TrainingData(box, some_of(thrown), SETTING), TrainSettings(approximator=approximator), inputs=known)
    law.save(tmp_path / "law.safetensors")
    again = load(tmp_path / "law.safetensors")
    assert same_parts(again, law)
    error = impulse_error(again, fresh)
    print(f"{approximator}: error of fresh impulses {error:.2%}")
    assert error < 0.22
    start = random_states(np.random.default_rng(6), 4)
    wanted, got = rollout(CoulombLaw(box, 0.7, cone="dart"), start, 300), rollout(again, start, 300)
    assert np.abs(got.position - wanted.position).max() < 0.2


@pytest.mark.slow
def test_the_symmetry_is_the_one_that_helps(box, thrown):
    """Without any guess to tell it, the fold of a box cone is found: mirrors and the swap of x and y."""
    inputs, found = find_inputs(TrainingData(box, thrown, SETTING), Switches(guess=False))
    assert set(found["fold_losses"]) == {"none", "mirror", "mirror-swap", "heading"}
    assert inputs.fold in ("mirror", "mirror-swap")
    assert found["fold_losses"]["mirror-swap"] < found["fold_losses"]["none"]


@pytest.fixture(scope="module")
def stribeck(box):
    """Contacts on ground whose friction falls with speed, in two sets of throws."""
    law = Material.stribeck(0.8, 0.3, speed=0.3).on(box)
    seeds = {1: 40, 77: 15}
    return law, [
        instances_of(rollout(law, random_states(np.random.default_rng(s), n), 400, substeps=0))
        for s, n in seeds.items()
    ]


@pytest.mark.slow
def test_networks_that_a_material_does_not_need_are_dropped(box, stribeck, tmp_path):
    law, (seen, unseen) = stribeck
    quick = TrainSettings(hidden=(16,), steps=100)
    inputs = Inputs(fold="none", absolute=True)
    learned = train_law(TrainingData(box, seen, SETTING, law.material), quick, inputs=inputs)
    assert isinstance(learned, AugmentedLaw) and len(learned.dropped) == 6, (
        "the material is the truth, and nothing improves on it"
    )
    assert impulse_error(learned, unseen) < 1e-8
    learned.save(tmp_path / "law.safetensors")
    again = load(tmp_path / "law.safetensors")
    assert again.dropped == learned.dropped and again.material.friction(0.0, 0.2) == law.material.friction(0.0, 0.2)
    assert np.array_equal(again.respond(_contacts(box, unseen))[0], learned.respond(_contacts(box, unseen))[0])


@pytest.mark.slow
def test_networks_correct_a_material_that_is_not_the_truth(box, stribeck):
    _, (seen, unseen) = stribeck
    material, inputs = Material.coulomb(0.5), Inputs(fold="heading", absolute=True)
    settings = TrainSettings(hidden=(32, 32), steps=1500)
    learned = train_law(TrainingData(box, seen, SETTING, material), settings, inputs=inputs)
    assert isinstance(learned, AugmentedLaw) and len(learned.dropped) < 6
    assert impulse_error(learned, unseen) < 0.6 * impulse_error(material.on(box), unseen)


@pytest.mark.slow
def test_loads_and_speeds_are_reported_where_friction_depends_on_them(box, stribeck, thrown):
    _, (seen, _) = stribeck
    switches = Switches(fold="heading")
    assert find_inputs(TrainingData(box, seen, SETTING), switches)[0].absolute
    assert not find_inputs(TrainingData(box, thrown, SETTING), Switches(fold="mirror-swap"))[0].absolute


def _contacts(box, instances: Instances):
    return contacts_of(box, instances.position, instances.quaternion, instances.twist)


def test_contacts_that_cannot_be_are_counted_and_left_out(box):
    """A third-party data set may be invalid although its digests are right."""
    run = rollout(CoulombLaw(box, 0.5, cone="dart"), State.random(box, 4, seed=1), 300)
    touching = run.kind > 0
    twist = np.concatenate([run.velocity, run.angular_velocity], axis=-1)[:, :-1]
    parts: list[Any] = [
        part[touching] for part in (run.position[:, :-1], run.quaternion[:, :-1], twist, run.impulse, run.mode)
    ]
    number = int(touching.sum())
    right = Instances(*parts, throw=np.arange(number))
    assert usable(box, right, SETTING) is right
    position, impulse = right.position.copy(), right.impulse.copy()
    position[:3, 2] += 1.0
    impulse[10:14] = [0, 0, -1, 0, 0, 0]
    impulse[20:25] = [50, 0, 50, 0, 0, 0]
    wrong = replace(right, position=position, impulse=impulse)
    with pytest.warns(UserWarning, match=rf"12 of {number:,} contacts are left out: 3 in the air, 4 pulled"):
        assert len(usable(box, wrong, SETTING)) == number - 12
