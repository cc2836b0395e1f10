"""The C++ unit tests in core/tests/: built apart from the package, and run."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ["geometry/hull", "geometry/patch", "contact/algorithm1", "contact/frictionless_lcp", "contact/normal_impulse"]
FILES += [
    "friction/dantzig",
    "friction/point_equations",
    "friction/point_friction",
    "math/block_matrix",
    "mujoco/condensed_solver",
    "mujoco/condensed_system",
    "mujoco/interior_point",
    "stepping/step",
    "stepping/cut_step",
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_units_of_the_core(tmp_path):
    sources = [ROOT / "core/tests/core_units.cpp", *(ROOT / f"core/{name}.cpp" for name in FILES)]
    command = ["c++", "-std=c++20", "-O0", "-I", ROOT / "core", "-o", tmp_path / "units"]
    subprocess.run([*map(str, command), *map(str, sources)], check=True)
    result = subprocess.run([tmp_path / "units"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
