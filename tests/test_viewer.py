"""The viewer: what it throws, and that its controls work in a real browser."""

import sys
import threading

import numpy as np
import pytest

from browser import changed, errors, has_button, open_browser, picture, press, wait_for
from stiction import AugmentedLaw, InputError

pytest.importorskip("viser")
Viewer = pytest.importorskip("stiction.studies.page.viewer").Viewer
throwing = pytest.importorskip("stiction.studies.page.throwing")


def test_a_throw_comes_with_its_ground_truth():
    pytest.importorskip("dartpy")
    subject = throwing.Subject.load("box")
    start = subject.start(0.3, (30, 20, 0), (1, 0.5, 0), (0, 3, 0))
    thrown = subject.throw(start, 0.5)
    assert thrown.run.steps == thrown.truth.steps == 250
    assert np.linalg.norm(thrown.run.position[-1] - thrown.truth.position[-1]) < 0.01


def test_a_law_without_a_plan_is_thrown_alone(box, tmp_path):
    AugmentedLaw.untrained(box).save(tmp_path / "raw.safetensors")
    subject = throwing.Subject.load(str(tmp_path / "raw.safetensors"))
    thrown = subject.throw(subject.start(0.3, (0, 0, 0), (0, 0, 0), (0, 0, 0)), 0.1)
    assert thrown.truth is None and "does not say" in thrown.remark and thrown.run.steps == 50


def test_a_law_from_recordings_says_so():
    subject = throwing.Subject.load("cube")
    start = subject.start(0.1, (0, 0, 0), (0, 0, 0), (0, 0, 0))
    assert start.position[2] == pytest.approx(0.1 - subject.law.body.vertices[:, 2].min() + subject.law.body.rounding)
    thrown = subject.throw(start, 0.1)
    assert thrown.truth is None and thrown.remark == "This law was learned from recordings."


def test_without_dart_there_is_a_word_in_place_of_the_ghost(monkeypatch):
    monkeypatch.setitem(sys.modules, "stiction.simulators.dart", None)
    monkeypatch.delattr("stiction.simulators.dart", raising=False)
    subject = throwing.Subject.load("box")
    thrown = subject.throw(subject.start(0.3, (0, 0, 0), (0, 0, 0), (0, 0, 0)), 0.1)
    assert thrown.truth is None and "stiction[dart]" in thrown.remark


def test_a_planar_body_is_thrown_in_its_plane(rectangle):
    from stiction import CoulombLaw

    subject = throwing.Subject(CoulombLaw(rectangle, 0.5), None)
    start = subject.start(0.2, (40, 30, 20), (1, 1, 1), (1, 1, 1))
    thrown = subject.throw(start, 0.2)
    assert not thrown.run.position[:, 1].any() and thrown.run.position[-1, 0] != 0


def test_an_unknown_law_is_refused():
    with pytest.raises(InputError, match="There is no law"):
        Viewer("no-such-law", port=0)


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
        wait_for(lambda: "Contact:" in browser.find_element("css selector", "body").text, "the state is told")
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
        wait_for(lambda: moment() == 0.0, "the slider is at the begin")
        wait_for(lambda: changed(picture(browser, area), picture(browser, area)) == 0, "the picture stands")
        before = picture(browser, area)
        slider.send_keys(Keys.END)
        wait_for(lambda: moment() > 1.5, "the slider is at the end")
        wait_for(lambda: changed(before, picture(browser, area)) > 1000, "the slider moves the body")
        assert not errors(browser)
