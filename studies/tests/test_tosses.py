"""The study of tosses: errors from the first frame are separated from those of the law; tables show the figures."""

import numpy as np
import pytest

from stiction import State
from stiction.recordings import read
from stiction_studies.page.section import Table
from stiction_studies.recordings import cube_page, first_frames
from stiction_studies.study import markdown
from toss_files import BODY, LAW, record, starts, write_npz


@pytest.fixture(scope="module")
def tosses(tmp_path_factory):
    path = write_npz(tmp_path_factory.mktemp("tosses") / "a.npz", record(6, seed=2, frames=60))
    return read(path, BODY).tosses


def rows_of(tosses, raw: State, fit: State) -> dict[str, dict]:
    rows = first_frames.first_frame(LAW, 0.1, 0, some=(tosses, raw, fit))
    return {row["start"]: row for row in rows}


def test_a_true_first_frame_costs_nothing(tosses):
    true = starts(6, 2)
    rows = rows_of(tosses, true, true)
    assert rows["law as recorded against law from flight"]["rotation"]["mean"] < 1e-9
    assert rows["as recorded"]["position"] == rows["flight"]["position"]
    assert rows["flight"]["position"]["mean"] < 1.0
    floor = rows[first_frames.FLOOR]["position"]["mean"]
    assert 0.0 < floor < 1.0  # what the noise of the flight leaves open
    assert rows["flight, as fitted here"]["position"]["mean"] < 3 * floor


def test_a_held_cube_is_distinguished_from_a_free_one(tosses):
    true = starts(6, 2)
    spin = true.angular_velocity.copy()
    spin[:2] += [0.6, 0.0, 0.0]
    raw = State(true.position, true.quaternion, true.velocity, spin)
    rows = rows_of(tosses, raw, true)
    assert first_frames.still_held(raw, true).tolist() == [True] * 2 + [False] * 4
    assert rows["as recorded, tosses that are free"]["number"] == 4
    assert rows["as recorded, tosses that are free"]["rotation"]["mean"] < 1.0
    assert rows["law as recorded against law from flight"]["rotation"]["mean"] > 1.0
    assert rows["flight, but velocity as recorded"]["rotation"]["mean"] < 1.0


def test_noise_looks_the_same_in_all_frames(tosses):
    """A first frame with a wrong spin is no sign of fingers as long as the poses turn as in flight."""
    true = starts(6, 2)
    raw = State(true.position, true.quaternion, true.velocity, true.angular_velocity + np.array([0.6, 0.0, 0.0]))
    (held,) = first_frames.spins_off(tosses, raw, true)
    assert held["tosses"] == "still held" and held["number"] == 6 and max(held["off"]) < 0.3


def test_intervals_hold_the_mean_and_are_seeded(tosses):
    true = starts(6, 2)
    moved = State(true.position, true.quaternion, true.velocity + np.array([0.05, 0.0, 0.0]), true.angular_velocity)
    one, two = rows_of(tosses, moved, true), rows_of(tosses, moved, true)
    figures = one["as recorded"]["position"]
    assert one == two and figures["low"] < figures["mean"] < figures["high"]


def test_tables_as_markdown():
    text = markdown([Table("Errors", ["", "raw"], [["ours", "1 %"]], "A note.")])
    assert text == "**Errors**\n\n|  | raw |\n|---|---:|\n| ours | 1 % |\n\nA note.\n"


def test_few_tosses_are_set_against_the_best_simulator_in_each_figure():
    def errors(position: float, rotation: float) -> dict[str, float]:
        return {"position": position, "rotation": rotation}

    def row(model: str, *figures: float) -> dict:
        return {"model": model, "fitted_tosses": 320, "raw": errors(*figures), "fit": errors(*figures)}

    models = [row("stiction", 1, 1), row("stiction, shipped", 1, 1), row("A", 9, 5), row("B", 7, 6)]
    few = {"tosses": 16, "draws": 3, "raw": errors(3, 3), "fit": errors(2, 2)}
    few |= {"raw_worst": errors(4, 4), "fit_worst": errors(3, 3)}
    tables = cube_page._efficiency([few], models)
    assert [line[1] for line in tables[1].rows] == ["3.0 % / 3.0°", "4.0 % / 4.0°", "7.0 % / 5.0°"]
