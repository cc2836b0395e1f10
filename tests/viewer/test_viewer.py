"""The viewer: what it throws, and that its controls work in a real browser."""

import socket
import sys
import threading

import numpy as np
import pytest

from browser import changed, errors, has_button, open_browser, picture, press, wait_for
from stiction import AugmentedLaw, InputError, State, load, rollout

pytest.importorskip("viser")
Viewer = pytest.importorskip("stiction.viewer.law_viewer").Viewer
from stiction.viewer import subject as contrasts
from stiction.viewer import subject as throwing
from stiction.viewer import window as serving

DROP = 0.3, (30, 20, 0), (1, 0.5, 0), (0, 3, 0)  # height, turn, velocity, spin


def test_a_throw_is_compared_with_its_ground_truth_and_its_baseline():
    pytest.importorskip("dartpy")
    subject = throwing.Subject.load("box")
    assert contrasts.offered(subject)[:2] == [contrasts.TRUTH, contrasts.BASELINE]
    start = subject.start(*DROP)
    run = subject.throw(start, 0.5)
    truth, baseline = (contrasts.contrast(subject, name, start, 0.5) for name in (contrasts.TRUTH, contrasts.BASELINE))
    assert run.steps == truth.runs[0].steps == 250
    assert np.linalg.norm(run.position[-1] - truth.runs[0].position[-1]) < 0.01
    assert not np.array_equal(baseline.runs[0].position, run.position)


def test_a_throw_is_compared_with_mujoco_at_the_same_friction():
    pytest.importorskip("mujoco")
    subject = throwing.Subject.load("box")
    start = subject.start(*DROP)
    [run] = contrasts.contrast(subject, contrasts.MUJOCO, start, 0.5).runs
    assert 1e-3 < np.linalg.norm(run.position[-1] - subject.throw(start, 0.5).position[-1]) < 0.2


def test_a_law_without_a_plan_is_thrown_alone(box, tmp_path):
    AugmentedLaw.untrained(box).save(tmp_path / "raw.safetensors")
    subject = throwing.Subject.load(str(tmp_path / "raw.safetensors"))
    assert contrasts.TRUTH not in contrasts.offered(subject)
    other = contrasts.contrast(subject, contrasts.MUJOCO, subject.start(*DROP), 0.1)
    assert not other.runs and "coefficient of friction" in other.remark
    assert subject.throw(subject.start(*DROP), 0.1).steps == 50


def test_a_law_from_recordings_says_that_they_do_not_ship():
    subject = throwing.Subject.load("cube")
    start = subject.start(0.1, (0, 0, 0), (0, 0, 0), (0, 0, 0))
    assert start.position[2] == pytest.approx(0.1 - subject.law.body.vertices[:, 2].min() + subject.law.body.rounding)
    other = contrasts.contrast(subject, contrasts.RECORDED, start, 0.1)
    assert not other.runs and "--data" in other.remark


def test_the_laws_own_samples_start_alike_and_diverge():
    subject = throwing.Subject.load("cube")
    other = contrasts.contrast(subject, contrasts.SAMPLES, subject.start(0.1, (0, 20, 10), (1, 0, 0), (0, 3, 1)), 0.7)
    assert np.ptp(other.poses(0.0)[0], axis=0).max() == 0.0
    assert np.ptp(other.poses(0.7)[0], axis=0).max() > 1e-3


def test_a_recorded_toss_is_shown_beside_its_forecast(tmp_path):
    law = load("cube")
    source = tmp_path / "tosses"
    with_flight = rollout(law, State((0, 0, 0.4), velocity=(0.6, 0.1, 0.0), angular_velocity=(1.0, 2.0, 0.5)), 90)
    write_tosses(source, with_flight)
    subject = throwing.Subject.load("cube", source)
    start = subject.recorded_start(0)
    other = contrasts.contrast(subject, contrasts.RECORDED, start, 0.6, toss=0)
    run = subject.throw(start, 90 * law.timestep)
    apart = np.linalg.norm(other.runs[0].position - run.position, axis=1)
    assert apart[:20].max() < 1e-3 and apart.max() < 0.05
    assert contrasts.contrast(subject, contrasts.RECORDED, start, 0.6).remark == "Nothing was recorded from this start."


def write_tosses(folder, run) -> None:
    """Two tosses as CSV files, each with the poses of the run."""
    folder.mkdir()
    rows = np.column_stack([run.time, run.position, run.quaternion])
    for name in ("a", "b"):
        np.savetxt(folder / f"{name}.csv", rows, delimiter=",", header="time,x,y,z,qw,qx,qy,qz", comments="")


def test_without_dart_there_is_a_word_in_place_of_the_ghost(monkeypatch):
    monkeypatch.setitem(sys.modules, "stiction.dart", None)
    monkeypatch.delattr("stiction.dart", raising=False)
    subject = throwing.Subject.load("box")
    other = contrasts.contrast(subject, contrasts.TRUTH, subject.start(*DROP), 0.1)
    assert not other.runs and "stiction[dart]" in other.remark


def test_a_planar_body_is_thrown_in_its_plane(rectangle):
    from stiction import CoulombLaw

    subject = throwing.Subject(CoulombLaw(rectangle, 0.5), None)
    start = subject.start(0.2, (40, 30, 20), (1, 1, 1), (1, 1, 1))
    run = subject.throw(start, 0.2)
    assert not run.position[:, 1].any() and run.position[-1, 0] != 0


def test_an_unknown_law_is_refused():
    with pytest.raises(InputError, match="There is no law"):
        Viewer("no-such-law", port=0)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"port": 65536}, "from 0 to 65535, got 65536"),
        ({"port": -1}, "from 0 to 65535, got -1"),
        ({"host": "203.0.113.7"}, "cannot listen on the host '203.0.113.7'"),  # a documentation address: nobody's own
        ({"host": "no..host"}, "cannot listen on the host 'no..host'"),
    ],
)
def test_an_address_that_cannot_be_had_is_refused_and_not_waited_for(where, sentence):
    with pytest.raises(InputError, match=sentence):
        Viewer("box", **{"port": 0, **where})


def test_a_port_that_is_taken_gives_way_to_the_next_and_the_last_one_to_a_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        assert serving.free_port("127.0.0.1", number) > number
    with socket.socket() as last:
        try:
            last.bind(("127.0.0.1", 65535))
        except OSError:
            pytest.skip("somebody else has the last port")
        last.listen()
        with pytest.raises(InputError, match="No port from 65535 to 65535 is free"):
            serving.free_port("127.0.0.1", 65535)


def test_the_world_moves_against_the_body_where_the_camera_follows(viewer):
    with viewer._lock:
        viewer.set_playing(False)
        viewer._following.value = True
        viewer._time = 0.8
        viewer._draw()
        assert (
            viewer._world.position[:2] == pytest.approx(-viewer._run.position[400, :2])
            and not viewer._world.position[2]
        )
        viewer._following.value = False
        viewer._draw()
        assert not viewer._world.position.any()


@pytest.fixture
def viewer():
    viewer = Viewer("box", port=0)
    thread = threading.Thread(target=viewer.run)
    thread.start()
    yield viewer
    viewer.close()
    thread.join()


@pytest.mark.slow
def test_in_a_browser_a_throw_moves_and_the_slider_seeks(viewer):
    with open_browser(720, 480) as browser:
        from selenium.webdriver import Keys

        browser.get(viewer.address)

        def moment() -> float:
            first = "return document.querySelector('[role=slider]')?.ariaValueNow ?? -1"
            return float(browser.execute_script(first))

        wait_for(lambda: has_button(browser, "Random throw"), "the controls are there")
        wait_for(lambda: "Contact:" in browser.find_element("css selector", "body").text, "the state is shown")
        wait_for(lambda: moment() > 0.1, "the first throw plays")
        area = 0, 0, 340, browser.execute_script("return innerHeight")  # beside the controls
        assert press(browser, "Pause")
        wait_for(lambda: has_button(browser, "Play"), "it pauses")

        assert press(browser, "Random throw")
        wait_for(lambda: has_button(browser, "Pause"), "a new throw plays")
        before = picture(browser, area)
        wait_for(lambda: changed(before, picture(browser, area)) > 1000, "the body moves")
        assert press(browser, "Pause")
        wait_for(lambda: has_button(browser, "Play"), "it pauses again")

        slider = browser.find_element("css selector", "[role=slider]")
        slider.send_keys(Keys.HOME)
        wait_for(lambda: moment() == 0.0, "the slider is at the start")
        wait_for(lambda: changed(picture(browser, area), picture(browser, area)) == 0, "the picture stands")
        before = picture(browser, area)
        slider.send_keys(Keys.END)
        wait_for(lambda: moment() > 1.5, "the slider is at the end")
        wait_for(lambda: changed(before, picture(browser, area)) > 1000, "the slider moves the body")
        assert not errors(browser)
