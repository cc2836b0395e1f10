"""A take of a part thrown in MuJoCo: written as a tracker exports it, read back, and shown on a page."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from stiction import Body
from stiction.cli import main
from stiction.recordings import read
from stiction_studies.recordings.example_take import PART, write_take


def test_a_take_is_read_as_its_tosses_and_is_the_same_for_the_same_seed(tmp_path):
    take, again = (write_take(tmp_path / name, tosses=5, seed=3) for name in ("one", "two"))
    assert take.path.read_bytes() == again.path.read_bytes()
    drawn = Body.mesh(take.part, PART.given.mass)
    np.testing.assert_allclose(drawn.com, PART.given.com, atol=1e-6)
    found = read(take.path, drawn, name="Part")
    assert len(found) == 5 and abs(found.timestep - 1 / 120) < 1e-9
    ends = [toss.position[-1, 2] for toss in found]
    assert 0 < min(ends) and max(ends) < drawn.diameter  # it rests on the ground, z up, in metres
    with pytest.raises(Exception, match="Gripper"):
        read(take.path, drawn)  # which of the two bodies?


@pytest.mark.slow
def test_the_story_ends_with_a_part_that_is_held(tmp_path, capsys):
    pytest.importorskip("viser")
    assert main(["reproduce", "take", "--quick", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Split into 24 tosses" in text and "stiction identify" in text and "usable." in text
    page = (tmp_path / "index.html").read_text()
    assert page.index('id="take"') < page.index('id="method"')
    assert (tmp_path / "take" / "part.safetensors").is_file()
