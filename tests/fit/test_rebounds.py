"""Restitution measured from recorded rebounds, against a simulator whose restitution is measured in drops."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiction import Body
from stiction.fit.direct_measurements import measure
from stiction.fit.rebounds import measure_rebounds, rebound_restitution
from stiction.recordings import Toss, Tosses

mujoco = pytest.importorskip("mujoco")

BOX = Body.box((0.1, 0.08, 0.06), 0.3)
RATE, SUBSTEPS = 150.0, 60
SCENE = """
<mujoco>
  <option timestep="{step}" cone="elliptic" impratio="10"/>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <body><freejoint/><geom {geom} mass="0.3" friction="0.3 0 0" priority="1" solref="-4e5 -{damping}"/></body>
  </worldbody>
</mujoco>"""


def simulation(geom: str, damping: float):
    model = mujoco.MjModel.from_xml_string(SCENE.format(step=1 / RATE / SUBSTEPS, geom=geom, damping=damping))
    return model, mujoco.MjData(model)


def restitution_of_a_drop(damping: float) -> float:
    """Rebound over arrival of a ball that falls at 1.5 m/s."""
    model, data = simulation('type="sphere" size="0.03"', damping)
    data.qpos[2], data.qvel[2] = 0.031, -1.5
    fastest = 0.0
    for _ in range(2000):
        mujoco.mj_step(model, data)
        fastest = max(fastest, data.qvel[2])
    return fastest / 1.5


def tossed(number: int, damping: float, *, flat: bool = False) -> Tosses:
    """Boxes that tumble, or land flat, after ten frames of flight."""
    (model, data), rng, tosses = simulation('type="box" size="0.05 0.04 0.03"', damping), np.random.default_rng(0), []
    for _ in range(number):
        mujoco.mj_resetData(model, data)
        turn = rng.normal(0, 0.005 if flat else 1.0, 3)
        data.qpos[3:] = Rotation.from_rotvec(turn).as_quat(scalar_first=True)
        data.qvel[:] = np.r_[rng.uniform(-0.5, 0.5, 2), -1.0, np.zeros(3) if flat else rng.normal(0, 3, 3)]
        data.qpos[2] = 0.2
        poses = []
        for _ in range(60):
            poses.append(data.qpos.copy())
            mujoco.mj_step(model, data, nstep=SUBSTEPS)
        rows = np.array(poses)
        up = Rotation.from_quat(rows[:, 3:], scalar_first=True).as_matrix()[:, 2]
        flight = int(np.argmax((rows[:, 2:3] + up @ BOX.vertices.T).min(axis=1) < 1e-3))
        position = rows[:, :3] + rng.normal(0, 1e-4, (len(rows), 3))
        tosses.append(Toss(np.arange(len(rows)), position, rows[:, 3:], flight))
    return Tosses(tosses, 1 / RATE)


@pytest.mark.parametrize("damping", [250, 500])
def test_rebounds_measure_the_restitution_of_another_simulator(damping):
    found = rebound_restitution(measure_rebounds(tossed(30, damping), BOX, 9.81))
    assert found is not None and found.n_rebounds >= 5 and found.error < 0.03
    assert found.restitution == pytest.approx(restitution_of_a_drop(damping), abs=0.04)
    assert 0 < found.duration < 0.01


def test_slaps_show_no_restitution():
    direct = measure(tossed(8, 500, flat=True), BOX, 9.81)
    assert direct.rebounds is None and not direct.shows_impacts
    assert measure(tossed(8, 500), BOX, 9.81).shows_impacts
