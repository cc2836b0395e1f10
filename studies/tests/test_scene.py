"""Replays of whole robots on the page."""

import json
from dataclasses import replace

import numpy as np
import pytest

from stiction import InputError
from stiction.basics import colours
from stiction.viewer.pieces import Piece
from stiction_studies.page.motions_shown import Motion, Scene
from stiction_studies.page.section import Section

pytest.importorskip("jinja2")
pytest.importorskip("viser")
publish = pytest.importorskip("stiction_studies.page.page").publish

from stiction_studies.page.poster import GREY
from stiction_studies.page.replay import Stage

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def a_motion(frames: int = 20) -> Motion:
    """A fixed body, and one that moves along x."""
    position, quaternion = np.zeros((frames, 2, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (frames, 2, 1))
    position[:, 1, 0] = 0.1 * np.arange(frames)
    return Motion(position, quaternion, 0.02)


def a_scene(**runs: Motion) -> Scene:
    return Scene("Two robots", [Piece(body, TETRAHEDRON, FACES) for body in (0, 1)], runs, "A caption.")


def a_section(*scenes: Scene) -> Section:
    return Section("robots", "Robots", ["Text."], "stiction reproduce robots", replays=list(scenes))


def test_all_pieces_are_on_the_poster_and_the_motion_is_kept(tmp_path):
    section = a_section(a_scene(ours=a_motion(), theirs=a_motion(10)))
    before = publish(tmp_path, section).read_bytes()
    text = before.decode()
    poster = text[text.index("<svg xmlns", text.index("Two robots")) :].split("</svg>")[0]
    assert poster.count("<path") == 1 + 2 * 2 * 2  # the ground; of each run two bodies, in the end and as they began
    assert "static" not in text.split("Two robots")[1].split("<figure")[0].split("<script")[0]
    with np.load(tmp_path / "robots" / "replay-1.npz", allow_pickle=False) as kept:
        assert np.array_equal(kept["ours.position"], a_motion().position)
    assert publish(tmp_path, section).read_bytes() == before


def test_runs_stand_in_a_row_across_the_view_and_plain_pieces_are_grey(tmp_path):
    pieces = [Piece(0, TETRAHEDRON, FACES, plain=True), Piece(1, TETRAHEDRON, FACES)]
    scene = Scene("Row", pieces, {"first": a_motion(), "second": a_motion()}, seen_from=(0.0, -1.0), ground=False)
    text = publish(tmp_path, a_section(scene)).read_text()
    poster = text[text.index("<svg xmlns", text.index("Row")) :].split("</svg>")[0]
    assert poster.count("<path") == 2 * 2 * 2 == 2 * poster.count(colours.as_hex(GREY))
    stage = Stage.of(scene)
    assert (
        stage.offset[0, 0] < stage.offset[1, 0] and not stage.offset[:, 1:].any()
    )  # seen from -y, x runs to the right
    across = Stage.of(a_scene(first=a_motion(), second=a_motion())).offset
    assert across[0, 1] < across[1, 1] and not across[:, [0, 2]].any()  # seen from x, y does


def test_modes_of_a_robots_contacts_are_shown_in_the_time_of_the_player(tmp_path):
    motion = a_motion(21)
    mode = np.zeros((21, 2), np.int8)
    mode[10:, 1] = 1
    known = replace(motion, mode=mode)
    scene = replace(a_scene(stiction=known, MuJoCo=motion), names={1: "foot"}, speed=10.0)
    text = publish(tmp_path, a_section(scene)).read_text()
    [shown] = json.loads((tmp_path / "robots" / "section.json").read_text())["replays"]
    assert shown["strips"] == [{"name": "foot", "spans": [[200.0, 400.0, "static"]]}]  # [ms], as shown
    assert shown["duration"] == 0.4 and "4.0 s" in text and "10 times as fast" in text


def test_robots_that_leave_the_numbers_are_shown_until_then(tmp_path):
    lost = a_motion()
    lost.position[5:, 1] = np.nan
    assert "lost" in publish(tmp_path, a_section(a_scene(kept=a_motion(), lost=lost))).read_text()


def test_a_scene_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs runs and pieces"):
        publish(tmp_path, a_section(a_scene()))
