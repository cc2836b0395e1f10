"""Without a C++20 compiler, one sentence says what to install."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SENTENCE = (ROOT / "core/needs_compiler.txt").read_text().strip()
OLD = """#!/bin/sh
case "$*" in *c++20*|*c++2a*) echo "unrecognized command-line option '-std=c++20'" >&2; exit 1;; esac
exec "$REAL_CXX" "$@"
"""
COMPILER = shutil.which(os.environ.get("CXX", "c++"))

pytestmark = pytest.mark.skipif(os.name == "nt" or not COMPILER, reason="needs a compiler to hide, and make")


@pytest.fixture(params=["none", "old"])
def machine(request, tmp_path) -> dict[str, str]:
    """The environment of a machine without a compiler, or with one that does not know C++20."""
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "make", "cat", "find", "mktemp", "rm", "touch", "sed", "env", "ninja", "python3"):
        if found := shutil.which(tool):
            (tmp_path / "bin" / tool).symlink_to(found)
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "REAL_CXX": str(COMPILER)}
    if request.param == "old":
        old = tmp_path / "old-c++"
        old.write_text(OLD)
        old.chmod(0o755)
        environment |= {"CXX": str(old), "PATH": os.environ["PATH"]}
    return environment


def test_make_says_what_to_install(machine):
    done = subprocess.run(["make", "-s", "compiler"], cwd=ROOT, env=machine, capture_output=True, text=True)
    assert done.returncode and done.stderr.startswith(SENTENCE)
    assert len(done.stderr.splitlines()) <= 4


def test_cmake_says_what_to_install(machine, tmp_path):
    cmake = shutil.which("cmake", path=f"{ROOT / '.venv/bin'}:{os.environ['PATH']}")
    ninja = shutil.which("ninja", path=f"{ROOT / '.venv/bin'}:{os.environ['PATH']}")
    if not cmake or not ninja:
        pytest.skip("CMake or Ninja is not installed")
    command = [cmake, "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    done = subprocess.run(command, env=machine, capture_output=True, text=True)
    assert done.returncode and SENTENCE in done.stderr
    assert len(re.findall("CMake Error", done.stderr)) == 1
