"""The two forms of the core: in each, company changes no bit, and both agree but for rounding."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stiction import _core

LEVELS = ("baseline", "v3") if _core.has_avx2() else ("baseline",)
# Networks answer in single precision. Where they answer all of the impulse, its last figures follow; else little.
LIMITS = {"learned, planar": 1e-8, "baseline": 2e-6, "untrained, of many vertices": 2e-6}
SCRIPT = Path(__file__).parents[1] / "core_bits.py"


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, dict[str, np.ndarray]]:
    """Impulses and modes of laws of all sorts, for each form. Making them asserts that company changes no bit."""
    folder = tmp_path_factory.mktemp("core")
    for level in LEVELS:
        command = [sys.executable, str(SCRIPT), str(folder / f"{level}.npz")]
        environment = {**os.environ, "STICTION_CORE": level}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return {level: dict(np.load(folder / f"{level}.npz")) for level in LEVELS}


@pytest.mark.slow
def test_a_batch_has_the_bits_of_its_bodies_in_each_form(found):
    """Batches, single bodies, any number of threads and a stepper: see core_bits.py."""
    for level in LEVELS:
        assert found[level]["level"] == level and len(found[level]) == 2 * 11 + 1


@pytest.mark.slow
@pytest.mark.skipif(len(LEVELS) < 2, reason="this processor has one form only")
def test_both_forms_agree_but_for_rounding(found):
    baseline, v3 = (found[level] for level in LEVELS)
    for name in (key.removesuffix("/impulse") for key in baseline if key.endswith("/impulse")):
        assert np.array_equal(baseline[f"{name}/mode"], v3[f"{name}/mode"]), name
        a, b = baseline[f"{name}/impulse"], v3[f"{name}/impulse"]
        assert np.abs(a).max() > 0.01
        assert (np.abs(a - b).max(axis=1) <= LIMITS.get(name, 1e-9) * np.abs(a).max(axis=1)).all(), name


def test_an_unknown_form_is_named():
    environment = {**os.environ, "STICTION_CORE": "v9"}
    command = [sys.executable, "-c", "import stiction; stiction.Body"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "STICTION_CORE must be baseline or v3, got 'v9'" in done.stderr
