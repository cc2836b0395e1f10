"""The page: sections of separate studies on one file, and what a reader does with it in a real browser."""

import json
import time

import numpy as np
import pytest

from browser import changed, errors, open_browser, picture, set_width, wait_for
from conftest import random_states
from stiction import Body, CoulombLaw, InputError, State, rollout
from stiction.studies.page.section import Picture, Plot, Replay, Section, Table

pytest.importorskip("jinja2")
pytest.importorskip("viser")
graph_objects = pytest.importorskip("plotly.graph_objects")
publish = pytest.importorskip("stiction.studies.page.page").publish


@pytest.fixture(scope="module")
def replay() -> Replay:
    body = Body.box((0.2, 0.3, 0.4), 1.0)
    start = State((0.0, 0.0, 0.4), velocity=(1.5, 0.3, 0.0), angular_velocity=(1.0, 6.0, 0.0))
    runs = {name: rollout(CoulombLaw(body, mu), start, 300) for name, mu in (("rough", 0.9), ("smooth", 0.2))}
    return Replay("Two grounds", body, runs, "The same throw on a rough and on a smooth ground.")


def a_section(name: str, **parts) -> Section:
    return Section(name, f"About {name}", ["A text with `code` in it."], f"stiction reproduce {name}", **parts)


def a_table(cell: str = "0.8 %") -> Table:
    return Table("Errors", ["law", *(f"column {i}" for i in range(6))], [["box", *[cell] * 6]], "A note.")


def a_plot() -> Plot:
    return Plot(graph_objects.Figure(graph_objects.Scatter(x=np.arange(5.0), y=np.arange(5.0) ** 2)), "Squares.")


@pytest.fixture(scope="module")
def page(replay, tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    publish(out, a_section("anisotropy", plots=[a_plot()]))
    return publish(out, a_section("trajectories", tables=[a_table()], plots=[a_plot()], replays=[replay, replay]))


def test_sections_add_up_in_the_order_of_the_story(tmp_path):
    for name in ("zebra", "slope", "agreement", "slope"):
        path = publish(tmp_path, a_section(name, tables=[a_table()]))
    text = path.read_text()
    places = [text.index(f'<section id="{name}"') for name in ("agreement", "slope", "zebra")]
    assert places == sorted(places) and text.count('<section id="slope"') == 1
    assert "stiction reproduce slope" in text


@pytest.mark.slow
def test_a_section_keeps_its_data_and_the_page_its_bytes(replay, tmp_path):
    section = a_section("trajectories", plots=[a_plot()], replays=[replay, replay])
    before = publish(tmp_path, section).read_bytes()
    assert publish(tmp_path, section).read_bytes() == before
    with np.load(tmp_path / "trajectories" / "replay-2.npz", allow_pickle=False) as kept:
        assert np.array_equal(kept["rough.position"], replay.runs["rough"].position)
        assert Body.from_dict(json.loads(str(kept["body"]))).same_as(replay.body)
    publish(tmp_path, a_section("trajectories", replays=[replay]))
    assert not (tmp_path / "trajectories" / "replay-2.npz").exists()


def test_a_picture_is_inside_the_page_with_words_for_those_who_cannot_see_it(tmp_path):
    picture = Picture(b"\x89PNG", 'A "map"', "Friction, `learned`.")
    text = publish(tmp_path, a_section("materials", pictures=[picture])).read_text()
    assert 'src="data:image/png;base64,iVBORw=="' in text and 'alt="A &#34;map&#34;"' in text
    assert "Friction, <code>learned</code>." in text


def test_a_section_from_before_there_were_pictures_is_still_shown(tmp_path):
    publish(tmp_path, a_section("slope"))
    path = tmp_path / "slope" / "section.json"
    old = {key: value for key, value in json.loads(path.read_text()).items() if key != "pictures"}
    path.write_text(json.dumps(old))
    assert 'id="slope"' in publish(tmp_path, a_section("events")).read_text()


def test_text_is_shown_and_never_run(tmp_path):
    publish(tmp_path, a_section("tosses", tables=[a_table("<script>alert(1)</script>")]))
    text = (tmp_path / "index.html").read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        (a_section("../up"), "name must be lower-case letters"),
        (a_section("slope", tables=[Table("T", ["a", "b"], [["1"]])]), "must have 2 cells, got 1"),
    ],
)
def test_bad_sections_are_refused_and_leave_nothing(section, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        publish(tmp_path, section)
    assert not list(tmp_path.iterdir())


def test_a_batch_is_no_replay(box, tmp_path):
    run = rollout(CoulombLaw(box, 0.5), random_states(np.random.default_rng(0), 3), 10)
    with pytest.raises(InputError, match="one throw"):
        publish(tmp_path, a_section("slope", replays=[Replay("three", box, {"law": run})]))


def test_a_run_that_leaves_the_numbers_can_be_shown(replay, tmp_path):
    run = replay.runs["rough"]
    position = run.position.copy()
    position[100:] = np.nan
    lost = type(run)(**{**vars(run), "position": position})
    publish(tmp_path, a_section("slope", replays=[Replay("lost", replay.body, {"kept": run, "lost": lost})]))
    assert "lost" in (tmp_path / "index.html").read_text()


@pytest.mark.slow
def test_in_a_browser_the_page_opens_and_fits(page):
    with open_browser() as browser:
        for width in (1400, 390):
            set_width(browser, width)
            began = time.perf_counter()
            browser.get(page.as_uri())
            print(f"{width} px: open in {time.perf_counter() - began:.2f} s, {page.stat().st_size / 1e6:.1f} MB")
            plots = browser.find_elements("css selector", ".plot .canvas")
            assert len(plots) == 2
            for plot in plots:
                browser.execute_script("arguments[0].scrollIntoView()", plot)
                wait_for(lambda plot=plot: plot.get_attribute("data-state") == "drawn", "the plot is drawn")
                assert plot.find_elements("css selector", ".scatterlayer .trace path.js-line")
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.execute_script(wide) <= 0
            box = "const b = document.querySelector('.scroll'); return b.scrollWidth > b.clientWidth"
            assert browser.execute_script(box) == (width == 390)  # the wide table scrolls in its own box
            assert not errors(browser)


@pytest.mark.slow
def test_in_a_browser_a_replay_plays_and_its_slider_moves_the_bodies(page):
    with open_browser(540, 700) as browser:
        browser.get(page.as_uri())
        replay = browser.find_element("css selector", ".replay")
        browser.execute_script("arguments[0].scrollIntoView()", replay)
        replay.find_element("css selector", ".start").click()
        wait_for(lambda: replay.get_attribute("data-state") == "playing", "the replay plays")
        first = replay.get_attribute("data-time")
        wait_for(lambda: replay.get_attribute("data-time") != first, "time passes")

        in_player(browser, "window.mark = 'the same'; " + PAUSE_BUTTON + ".click()")
        wait_for(lambda: not in_player(browser, f"return !!{PAUSE_BUTTON}"), "it pauses")
        place = "const r = arguments[0].getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom - 50]"
        area = browser.execute_script(place, replay.find_element("css selector", ".stage"))  # without the player's bar
        seen = []
        for share in (0.05, 0.45):
            drag_slider(browser, share)
            wait_for(lambda share=share: abs(moment(browser) - 1.2 * share) < 0.03, "the slider is where it was set")
            time.sleep(2)  # the canvas follows
            seen.append(picture(browser, area))
        assert changed(*seen) > 1000
        assert in_player(browser, "return window.mark") == "the same"  # all this in one and the same player
        browser.execute_script("arguments[0].click()", replay.find_element("css selector", ".close"))
        assert replay.get_attribute("data-state") == "poster"
        assert not errors(browser)


PAUSE_BUTTON = "document.querySelector('.tabler-icon-player-pause-filled')?.closest('button')"


def in_player(browser, script: str):
    """Run a script in the player. The frame is entered anew each time: after a slow picture, the driver is silently
    back in the page, although the player is still there."""
    browser.switch_to.default_content()
    browser.switch_to.frame(browser.find_element("css selector", ".replay iframe"))
    try:
        return browser.execute_script(script)
    finally:
        browser.switch_to.default_content()


def moment(browser) -> float:
    """The time that the player's slider shows [s]."""
    return float(in_player(browser, "return document.querySelector('[role=slider]').ariaValueNow"))


def drag_slider(browser, share: float) -> None:
    """Press on the player's slider at a share of its length, as a hand does."""
    from selenium.webdriver import ActionChains

    browser.switch_to.default_content()
    browser.switch_to.frame(browser.find_element("css selector", ".replay iframe"))
    track = browser.find_element("css selector", ".mantine-Slider-track")
    hand = ActionChains(browser).move_to_element_with_offset(track, (share - 0.5) * track.size["width"], 0)
    hand.click_and_hold().pause(1.0).release().perform()  # the player looks once a frame
    browser.switch_to.default_content()
