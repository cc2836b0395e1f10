"""The README's examples run as they stand."""

import re
from pathlib import Path

import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

README = Path(__file__).parents[2] / "README.md"


def test_python_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 2
    exec("\n".join(blocks), {})
    place, part = capsys.readouterr().out.strip().splitlines()
    assert f"# at rest: {place}\n" in README.read_text()  # to all digits that it prints
    speeds, mode = part.strip("[").split("]")
    assert not any(float(speed) for speed in speeds.split()) and mode.strip() == "STATIC"  # it stands


def test_it_is_short():
    assert len(README.read_text().splitlines()) <= 120
