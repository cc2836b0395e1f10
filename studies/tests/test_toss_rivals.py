"""Which recorded toss is shown beside two forecasts."""

import numpy as np

from stiction import Body
from stiction.recordings import Tosses
from stiction_studies.recordings.cube_page import OURS, RIVAL, middle_toss, rivals


class _Toss:
    """Four frames of a cube that lies still on ground that is 2 mm high."""

    steps = 3
    frame = np.arange(4)
    position = np.tile([0.0, 0.0, 0.052], (4, 1))
    quaternion = np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))


def test_the_toss_in_the_middle_is_shown_whoever_is_nearer_there():
    ours, rival = np.array([1.0, 1.0, 5.0, 1.0, 3.0]), np.array([9.0, 2.0, 1.0, 8.0, 2.5])
    assert middle_toss(ours, rival) == 1  # nearer by 8, 1, -4, 7 and -0.5
    assert middle_toss(rival, ours) == 1
    assert middle_toss(ours[:4], rival[:4]) == 1  # of two in the middle the one that speaks less for us


def test_forecasts_end_with_the_toss_and_all_stand_on_the_ground():
    forecast = np.tile([0.0, 0.0, 0.052], (9, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (9, 1))  # longer than the toss
    tosses = Tosses([_Toss()], 0.01)  # type: ignore[list-item]
    errors = np.array([2.0]), np.array([4.0])
    shown = rivals(Body.box((0.1, 0.1, 0.1), 1.0), tosses, ([forecast], [forecast]), errors, ground=0.002)
    assert list(shown.runs) == ["recorded", OURS, RIVAL]
    for run in shown.runs.values():
        assert len(run.position) == 4 and np.allclose(run.position[:, 0, 2], 0.05)
    assert "2.0 % and 4.0 %" in shown.caption and "nearer in 1 of 1" in shown.caption
