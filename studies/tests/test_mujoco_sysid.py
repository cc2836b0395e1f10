"""`mujoco.sysid` as a rival: it finds what a recording was made with, so that a poor figure of it is its own."""

import numpy as np
import pytest

from stiction import Body, State

pytest.importorskip("tabulate")
pytest.importorskip("mujoco")
from stiction.recordings import Toss, Tosses
from stiction.simulation.motion import Setting
from stiction_studies.engines.mujoco_engine import MujocoEngine
from stiction_studies.recordings.fitted_simulators import SysidRival


def test_it_finds_the_friction_and_the_bounce_of_its_own_simulator():
    body, n, h = Body.box((0.1, 0.1, 0.1), mass=0.4), 6, 1 / 150
    rng = np.random.default_rng(0)
    velocity = np.column_stack([rng.uniform(0.6, 1.2, n), rng.uniform(-0.3, 0.3, n), np.zeros(n)])
    start = State(
        np.column_stack([np.zeros((n, 2)), np.full(n, 0.2)]),
        np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
        velocity,
        rng.uniform(-4, 4, (n, 3)),
    )
    contact = {"friction": 0.35, "torsion": 0.005, "time_constant": 0.015, "damping_ratio": 0.8}
    setting = Setting(h, np.array([0, 0, -9.81]))
    position, quaternion = MujocoEngine().toss(body, start, 60, setting, contact)
    tosses = Tosses([Toss(np.arange(61), p, q, 10) for p, q in zip(position, quaternion)], h)
    rival = SysidRival(body, np.zeros(3), setting, 0.1)
    rival.fit(tosses)
    assert rival.found.values["friction"] == pytest.approx(0.35, abs=0.02)
    assert rival.found.values["time_constant"] == pytest.approx(0.015, abs=0.003)
