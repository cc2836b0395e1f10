"""The frame of the fuzz sees what it is there for: crashes, hangs, errors that are not ours, breaches of physics."""

from collections import defaultdict

import numpy as np
import pytest

from fuzz import printed
from fuzz.child import rng_of
from fuzz.counts import is_sentence
from fuzz.watch import watched


def test_every_way_to_fail_is_seen_and_the_rest_goes_on():
    counts = watched("fuzz_that_fails", seed=0, cases=9, hung=3.0)
    assert counts.done == 9 and counts.refused == 2 and counts.accepted == 3
    assert counts.failed == 5 and counts.violation == 1e-6
    for failure, word in zip(counts.failures, ("one sentence", "KeyError", "died with -11", "hung", "energy")):
        assert word in failure and "way" in failure


def test_a_case_is_the_same_whatever_came_before():
    drawn = [rng_of("fuzz.any", 0, case).uniform() for case in (7, 8, 7)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert not np.isclose(rng_of("fuzz.other", 0, 7).uniform(), drawn[0])


def test_a_refusal_is_one_line_that_ends():
    assert is_sentence("It must be positive, got -1.")
    assert not any(map(is_sentence, ("", "no end", "two\nlines.", "x" * 1000 + ".")))


def test_the_table_goes_to_its_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- table fuzz: What was tried -->\n<!-- end -->\n")
    printed.write({}, page)
    text = page.read_text()
    assert "| tried |" in text and text.startswith("Before.") and text.endswith("<!-- end -->\n")


@pytest.mark.slow
def test_a_soak_goes_on_where_it_was_stopped(tmp_path):
    pytest.importorskip("mujoco")
    from fuzz.soak import soak

    whole = soak(4e6, 0, None)
    kept = tmp_path / "soak.json"
    soak(2e6, 0, kept)
    parted = soak(4e6, 0, kept)
    assert parted.bits == whole.bits and parted.rounds == whole.rounds == 2 and not whole.failures


def test_contact_adds_no_energy_to_throws_with_any_law():
    """Random networks, laws that push, materials and impact laws; then free bodies and chains in MuJoCo."""
    pytest.importorskip("mujoco")
    from fuzz.passivity import BOUND, LAWS, MUJOCO, Gains, scene, throw

    found = defaultdict(Gains)
    for seed, name in enumerate(LAWS):
        throw(np.random.default_rng(seed), found, name, seconds=(0.5, 1.0))
    for seed, name in enumerate(MUJOCO):
        scene(np.random.default_rng(seed), found, name, seconds=(1.5, 1.6))  # it falls for half a second
    assert set(LAWS) < set(found) and len(found) == len(LAWS) + len(MUJOCO)
    for name, gains in found.items():
        assert not gains.energy > BOUND and not gains.contact > BOUND, name
