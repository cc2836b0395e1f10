"""Sliding friction measured from recorded slides, against simulators whose friction is known."""

import numpy as np
import pytest

from stiction import Body
from stiction.fit.slides import measure_slides, sliding_friction
from stiction.recordings import Toss, Tosses

mujoco = pytest.importorskip("mujoco")

BOX = Body.box((0.1, 0.08, 0.06), 0.3)
RATE = 150.0
SCENE = """
<mujoco>
  <option timestep="{step}" cone="{cone}" impratio="10"/>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <body>
      <freejoint/>
      <geom type="box" size="0.05 0.04 0.03" mass="0.3" friction="{friction} 0 0" priority="1" solref="-4e5 -500"/>
    </body>
  </worldbody>
</mujoco>"""


def slid(angles, *, friction: float, cone: str = "elliptic", noise: float = 1e-4) -> Tosses:
    """Boxes dropped from 1 mm in MuJoCo that slide in these directions [rad], at 0.4 to 0.9 m/s."""
    model = mujoco.MjModel.from_xml_string(SCENE.format(step=1 / RATE / 20, friction=friction, cone=cone))
    data, rng, tosses = mujoco.MjData(model), np.random.default_rng(0), []
    for angle in angles:
        mujoco.mj_resetData(model, data)
        data.qpos[2] = 0.0301 + 9.81 / 2 * (6 / RATE) ** 2  # six frames of flight
        data.qvel[:2] = rng.uniform(0.4, 0.9) * np.array([np.cos(angle), np.sin(angle)])
        poses = []
        for _ in range(70):
            poses.append(data.qpos.copy())
            mujoco.mj_step(model, data, nstep=20)
        rows = np.array(poses)
        position = rows[:, :3] + rng.normal(0, noise, (len(rows), 3))
        tosses.append(Toss(np.arange(len(rows)), position, rows[:, 3:], 6))
    return Tosses(tosses, 1 / RATE)


def test_slides_measure_the_friction_of_another_simulator():
    found = sliding_friction(measure_slides(slid(np.linspace(0, 6, 8), friction=0.4), BOX, 9.81))
    assert found is not None and found.by_direction is None and found.n_tosses >= 5
    assert found.friction == pytest.approx(0.4, abs=0.01) and found.errors[0] < 0.02


def test_friction_that_depends_on_direction_is_found():
    """MuJoCo's pyramidal cone has the nominal friction along the axes only, and 0.71 of it on the diagonals."""
    tosses = slid(np.arange(16) * np.pi / 4, friction=0.4, cone="pyramidal")
    found = sliding_friction(measure_slides(tosses, BOX, 9.81))
    assert found is not None and found.by_direction is not None
    assert found.by_direction == pytest.approx((0.4, 0.4, 0.283), abs=0.02)


def test_two_slides_are_too_few_to_claim_friction():
    assert sliding_friction(measure_slides(slid([0.0, 1.0], friction=0.4), BOX, 9.81)) is None


def test_a_body_that_does_not_move_is_not_a_slide():
    still = Toss(np.arange(60), np.tile([0.0, 0.0, 0.03], (60, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (60, 1)), 6)
    assert measure_slides(Tosses([still] * 4, 1 / RATE), BOX, 9.81) == []
