"""Replays and scenes as animations."""

from dataclasses import replace

import numpy as np
import pytest

import stiction
from stiction.viewer.pieces import Piece
from stiction_studies.page.motions_shown import Motion, Scene, scene_of_throws
from stiction_studies.page.section import Section

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("viser")

from stiction_studies.page import animation, raycast
from stiction_studies.page.animation import FPS, Film, shown_speed
from stiction_studies.page.camera import Camera
from stiction_studies.page.section import read_replay

BOX = stiction.Body.box(size=(0.2, 0.2, 0.2), mass=1.0)


def a_piece(body: int = 0) -> Piece:
    """A cube of 0.2 m."""
    return replace(a_replay().pieces[0], body=body)


def a_motion(*places: tuple[float, float, float], interval: float = 0.004) -> Motion:
    """One body at each of these places, not turned."""
    position = np.array(places, dtype=float)[:, np.newaxis]
    return Motion(position, np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1, 1)), interval)


def a_scene(**runs: Motion) -> Scene:
    return Scene("A cube", [a_piece()], runs, seen_from=(0.0, -1.0))


def a_replay() -> Scene:
    state = stiction.State([0, 0, 0.1], [1, 0, 0, 0], [1.0, 0, 0], [0, 0, 0])
    law = stiction.CoulombLaw(BOX, friction=0.5)
    run = stiction.rollout(law, state, steps=2)
    return scene_of_throws("A slide", BOX, {"truth": run, "other": run})


def panel(film: Film, run: int, number: int) -> np.ndarray:
    """What a picture shows of a run, without the words."""
    left, top = film.view.corner(run)
    wide, high = film.view.size
    return animation.picture(film, number)[top + 46 : top + high - 28, left : left + wide].astype(int)


def place(shown: np.ndarray) -> float:
    """Mean column of the pixels that are much more blue than red, as the second run is."""
    return float(np.nonzero(shown[..., 2] - shown[..., 0] > 60)[1].mean())


def test_what_moves_to_the_right_moves_to_the_right_on_the_pictures():
    film = Film(a_scene(still=a_motion((0, 0, 0.1)), moving=a_motion((0, 0, 0.1), (0.3, 0, 0.1))))
    first, last = (panel(film, 1, number) for number in (0, film.count - 1))
    assert place(last) > place(first) + 50
    assert np.array_equal(panel(film, 0, 0), panel(film, 0, film.count - 1))


def test_the_file_is_an_animation_with_all_pictures_and_the_same_bytes_each_time(tmp_path):
    scene = a_scene(run=a_motion((0, 0, 0.1), (0.3, 0, 0.1)))
    count = Film(scene).count
    path = animation.write(scene, tmp_path / "cube.webp")
    with Image.open(path) as image:
        assert image.is_animated and image.n_frames == count > 2
        assert image.width == 800 and image.info["loop"] == 0
    assert animation.write(scene, tmp_path / "again.webp").read_bytes() == path.read_bytes()


def test_other_files_are_refused(tmp_path):
    with pytest.raises(stiction.InputError, match=r"\.webp, got 'cube.mp4'"):
        animation.write(a_scene(run=a_motion((0, 0, 0.1))), tmp_path / "cube.mp4")


def test_the_outline_of_the_truth_is_drawn_where_it_is():
    scene = a_scene(truth=a_motion((0, 0, 0.1)), other=a_motion((0.3, 0, 0.1)))
    plain, outlined = Film(scene), Film(replace(scene, truth="truth"))
    assert np.array_equal(panel(plain, 0, 0), panel(outlined, 0, 0))
    before, after = panel(plain, 1, 0), panel(outlined, 1, 0)
    changed = np.nonzero((before != after).any(axis=-1))
    assert len(changed[0]) > 100 and after[changed].mean() < 110  # dark
    assert changed[1].mean() < place(before) - 50  # to the left of the other run's cube


def test_a_piece_covers_what_is_behind_it_and_shades_the_ground():
    hull = raycast.Hull.of(a_piece())
    axes = np.stack([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]], axis=1)  # from -y
    camera = Camera(np.array([0.0, -2.0, 0.5]), axes, 100.0, (100, 100))
    near, far = (hull.placed(np.array([0.0, y, 0.5]), np.eye(3)) for y in (-0.5, 0.5))
    for order, first in (([near, far], 0), ([far, near], 1)):
        layer = raycast.Layer(camera, order)
        assert layer.owner[50, 50] == first
        assert layer.depth[50, 50] == pytest.approx(1.4, abs=1e-5)  # to its face at y = -0.6
        assert layer.normal[50, 50] == pytest.approx([0, -1, 0], abs=1e-6)
    picture, points = raycast.ground(camera, 1.0, 100.0, drawn=True)
    assert points is not None
    before = picture.copy()
    raycast.shade_ground(picture, points, [hull.placed(np.array([0.0, 0.0, 0.1]), np.eye(3))], camera)
    dark = points[(picture < before - 20).any(axis=-1)]
    assert len(dark) and (np.abs(dark[:, 0]) < 0.4).all() and (np.abs(dark[:, 1]) < 0.4).all()


def test_short_motions_are_slowed_down_and_long_ones_sped_up():
    assert shown_speed(0.6) == 0.2 and shown_speed(5.0) == 1.0 and shown_speed(30.0) == 4.0
    film = Film(
        replace(a_scene(run=a_motion(*[(0, 0, 0.1)] * 101, interval=0.04)), speed=10.0)
    )  # 4 s, of 40 s that it lasted
    assert film.speed == 10.0 and film.count == 4 * FPS + 1 and film.time(film.count - 1) == pytest.approx(40.0)


def test_a_run_that_ends_before_the_others_is_reported():
    film = Film(
        a_scene(long=a_motion(*[(0, 0, 0.1)] * 101, interval=0.04), short=a_motion(*[(0, 0, 0.1)] * 51, interval=0.04))
    )
    assert film.ended(0, film.count - 1) is None and film.ended(1, 50) is None
    assert film.ended(1, film.count - 1) == pytest.approx(2.0)
    together = Film(a_scene(one=a_motion(*[(0, 0, 0.1)] * 8), other=a_motion(*[(0, 0, 0.1)] * 8)))
    assert together.ended(1, together.count - 1) is None


@pytest.mark.parametrize("shown", [a_replay(), a_scene(run=a_motion((0, 0, 0.1), (0.3, 0, 0.1)))])
def test_what_a_study_keeps_is_animated_without_it(tmp_path, shown):
    pytest.importorskip("jinja2")
    from stiction_studies.page.page import publish

    publish(tmp_path, Section("throws", "Throws", ["Text."], "a command", replays=[shown]))
    kept = read_replay(tmp_path / "throws" / "replay-1.npz")
    assert list(kept.runs) == list(shown.runs)
    for name, run in shown.runs.items():
        assert np.array_equal(kept.runs[name].position, run.position)
    [path] = animation.animate_kept(tmp_path / "throws")
    assert path.name == f"{shown.title.lower().replace(' ', '-')}.webp"
    assert path.read_bytes() == animation.write(shown, tmp_path / "direct.webp").read_bytes()


def test_a_file_without_a_replay_is_refused(tmp_path):
    path = tmp_path / "replay-1.npz"
    np.savez(path, numbers=np.zeros(3))
    with pytest.raises(stiction.InputError, match="is not a replay of this version"):
        read_replay(path)
