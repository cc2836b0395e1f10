"""Model files: exact round trip, atomic writing, and refusal of everything that is not a whole law."""

import json
from typing import get_args, get_overloads

import numpy as np
import pytest
from safetensors.numpy import save_file

from conftest import random_states, same_parts
from stiction import AugmentedLaw, InputError, load, rollout
from stiction.laws.approximators import Network
from stiction.laws.learned import StatisticalLaw
from stiction.laws.modelfile import shipped_laws


@pytest.fixture
def path(box, tmp_path):
    path = tmp_path / "law.safetensors"
    AugmentedLaw.untrained(box, seed=1).save(path)
    return path


@pytest.mark.parametrize("kind", [AugmentedLaw, StatisticalLaw])
def test_round_trip_is_exact(prism, tmp_path, kind):
    law = kind.untrained(prism, seed=2)
    law.info["command"] = "stiction train"
    law.save(tmp_path / "law.safetensors")
    again = load(tmp_path / "law.safetensors")
    assert type(again) is kind and again.info == law.info and again.body.to_dict() == prism.to_dict()
    assert same_parts(again, law)
    start = random_states(np.random.default_rng(3), 2)
    assert np.array_equal(rollout(law, start, 150).position, rollout(again, start, 150).position)
    assert [entry.name for entry in tmp_path.iterdir()] == ["law.safetensors"], "nothing half-written is left behind"


def test_writing_twice_gives_the_same_bytes(path, box, tmp_path):
    AugmentedLaw.untrained(box, seed=1).save(tmp_path / "again.safetensors")
    assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()


@pytest.mark.slow
def test_damaged_files_are_refused_in_one_sentence(path, tmp_path):
    """Hundreds of truncations and byte flips: only ever our error, and never a law with other weights."""
    whole = path.read_bytes()
    rng = np.random.default_rng(4)
    damaged = tmp_path / "damaged.safetensors"
    known, refused = load(path), 0
    head = 8 + int.from_bytes(whole[:8], "little")
    for k in range(400):
        data = bytearray(whole[: rng.integers(len(whole))] if k % 2 else whole)
        if k % 2 == 0:
            place = rng.integers(head) if k % 4 else rng.integers(len(data))
            data[place] ^= int(rng.integers(1, 256))
        damaged.write_bytes(bytes(data))
        try:
            law = load(damaged)
        except InputError as error:
            refused += 1
            assert len(str(error)) < 400 and "\n" not in str(error)
        else:  # a flip in the padding of the header says nothing
            assert same_parts(law, known)
    assert refused >= 390


def test_foreign_and_newer_files_are_named(path, tmp_path):
    other = tmp_path / "other.safetensors"
    save_file({"a": np.zeros(3, np.float32)}, other)
    with pytest.raises(InputError, match="is a safetensors file, but not a stiction law"):
        load(other)
    save_file({"a": np.zeros(3, np.float32)}, other, metadata={"format": "stiction-law", "version": "99"})
    with pytest.raises(InputError, match="has format version '99'; this stiction reads version 1"):
        load(other)
    (tmp_path / "text.safetensors").write_text(json.dumps({"law": "box"}))
    with pytest.raises(InputError, match="is not a whole safetensors file"):
        load(tmp_path / "text.safetensors")


def test_numbers_that_are_not_finite_are_refused(box, tmp_path):
    law = AugmentedLaw.untrained(box)
    network = next(iter(law.parts.values()))[0]
    assert isinstance(network, Network)
    network.weights[0][0, 0] = np.nan
    law.save(tmp_path / "nan.safetensors")
    with pytest.raises(InputError, match=r"not finite, in point.classifier.weight0"):
        load(tmp_path / "nan.safetensors")


def test_absent_files_and_unknown_names_are_named(tmp_path):
    with pytest.raises(InputError, match="There is no model file"):
        load(tmp_path / "absent.safetensors")
    with pytest.raises(InputError, match="There is no law 'nothing-like-it'; shipped are"):
        load("nothing-like-it")


@pytest.mark.parametrize("name", [3, None, ["box"]])
def test_an_invalid_name_is_refused(name):
    with pytest.raises(InputError, match="loaded by name or path"):
        load(name)


def test_the_types_of_shipped_laws_are_those_that_load_states():
    stated = {
        name: str(getattr(overload.__annotations__["return"], "__name__", overload.__annotations__["return"]))
        for overload in get_overloads(load)[:-1]
        for name in get_args(overload.__annotations__["name"])
    }
    assert stated == {name: type(load(name)).__name__ for name in shipped_laws()}
