"""The README's examples run as they stand."""

import re
from pathlib import Path

import pytest

pytest.importorskip("dartpy", reason="DART is not installed")

README = Path(__file__).parents[1] / "README.md"


def test_python_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 2
    exec("\n".join(blocks), {})
    place, difference, ice, part, foot = capsys.readouterr().out.strip().splitlines()
    assert "(800, 6)" in place and float(difference) < 1e-4
    assert [float(mu) for mu in ice.strip("[]").split()] == pytest.approx([0.2, 0.05], rel=0.02)
    speeds, mode = part.strip("[").split("]")
    assert not any(float(speed) for speed in speeds.split()) and mode.strip() == "1"  # it stands
    assert foot.split()[0] == "3" and float(foot.split()[1]) == pytest.approx(0.5 * 9.81 * 0.002)  # at rest
