"""The page: sections of separate studies on one file, and what a reader does with it in a real browser."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from browser import changed, errors, open_browser, picture, set_width, wait_for
from conftest import random_states
from stiction import Body, CoulombLaw, InputError, State, Trajectory, rollout
from stiction.basics import colours
from stiction_studies.page.motions_shown import Scene, scene_of_throws
from stiction_studies.page.section import Picture, Plot, Section, Table

pytest.importorskip("jinja2")
pytest.importorskip("viser")
graph_objects = pytest.importorskip("plotly.graph_objects")
publish = pytest.importorskip("stiction_studies.page.page").publish


BODY = Body.box((0.2, 0.3, 0.4), 1.0)
START = State((0.0, 0.0, 0.4), velocity=(1.5, 0.3, 0.0), angular_velocity=(1.0, 6.0, 0.0))


@pytest.fixture(scope="module")
def rough() -> Trajectory:
    return rollout(CoulombLaw(BODY, 0.9), START, 300)


@pytest.fixture(scope="module")
def replay(rough) -> Scene:
    runs = {"rough": rough, "smooth": rollout(CoulombLaw(BODY, 0.2), START, 300)}
    return scene_of_throws("Two grounds", BODY, runs, "The same throw on a rough and on a smooth ground.")


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


def test_replays_come_first_then_figures_and_tables_are_folded(replay, tmp_path):
    section = a_section("events", tables=[a_table()], plots=[a_plot()], replays=[replay])
    text = publish(tmp_path, section).read_text()
    places = [text.index(part) for part in ('class="replay"', 'class="plot"', '<details class="table">')]
    assert places == sorted(places) and " open>" not in text


def test_strips_have_the_time_of_the_player_whatever_the_time_steps(rough, tmp_path):
    runs = {"fine": rough, "coarse": rollout(CoulombLaw(BODY, 0.9, timestep=0.004), START, 100)}
    publish(tmp_path, a_section("events", replays=[scene_of_throws("two time steps", BODY, runs)]))
    [shown] = json.loads((tmp_path / "events" / "section.json").read_text())["replays"]
    assert shown["duration"] == 0.6 and shown["steps"] == 600  # [s], [ms]
    fine, coarse = (strip["spans"] for strip in shown["strips"])
    assert fine[-1][1] == 600 and coarse[-1][1] == 400  # both rest until their end


def test_a_run_without_known_contacts_has_no_strip(rough, tmp_path):
    silent = replace(rough, mode=0 * rough.mode, kind=0 * rough.kind)
    shown = scene_of_throws("real", BODY, {"recorded": silent, "stiction": rough})
    publish(tmp_path, a_section("events", replays=[shown]))
    [shown] = json.loads((tmp_path / "events" / "section.json").read_text())["replays"]
    assert [strip["name"] for strip in shown["strips"]] == ["stiction"]


def test_each_run_has_its_own_colour_and_none_is_a_modes():
    names = ["MuJoCo, elliptic", "stiction, learned", "DART", "MuJoCo", "PDD", "mine"]
    found = colours.of_runs(names)
    assert len(set(found)) == len(names) and not set(found) & set(colours.MODES.values())
    assert colours.of_runs(["recorded", "stiction"]) == [colours.TRUTH, colours.STICTION]


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


def test_a_batch_cannot_be_replayed(box, tmp_path):
    run = rollout(CoulombLaw(box, 0.5), random_states(np.random.default_rng(0), 3), 10)
    with pytest.raises(InputError, match="one throw"):
        publish(tmp_path, a_section("slope", replays=[scene_of_throws("three", box, {"law": run})]))


def test_a_run_that_leaves_the_numbers_can_be_shown(rough, tmp_path):
    position = rough.position.copy()
    position[100:] = np.nan
    runs = {"kept": rough, "lost": replace(rough, position=position)}
    publish(tmp_path, a_section("slope", replays=[scene_of_throws("lost", BODY, runs)]))
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
            browser.execute_script("document.querySelector('details').open = true")
            box = "const b = document.querySelector('.scroll'); return b.scrollWidth > b.clientWidth"
            assert browser.execute_script(box) == (width == 390)  # the wide table scrolls in its own box
            assert not errors(browser)


@pytest.mark.slow
def test_in_a_browser_a_replay_plays_and_its_slider_moves_the_bodies(page):
    with open_browser(540, 700) as browser:
        from selenium.webdriver import Keys

        browser.get(page.as_uri())
        replay = browser.find_element("css selector", ".replay")
        browser.execute_script("arguments[0].scrollIntoView()", replay)
        replay.find_element("css selector", ".start").click()
        wait_for(lambda: replay.get_attribute("data-state") == "playing", "the replay plays")
        first = replay.get_attribute("data-time")
        wait_for(lambda: replay.get_attribute("data-time") != first, "time passes")

        in_player(browser, "window.mark = 'the same'")
        replay.find_element("css selector", ".toggle").send_keys(" ")
        wait_for(lambda: replay.get_attribute("data-state") == "paused", "it pauses")
        place = "const r = arguments[0].getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]"
        area = browser.execute_script(place, replay.find_element("css selector", ".stage"))
        seek, seen = replay.find_element("css selector", ".seek"), []
        for key, end in ((Keys.HOME, 0.0), (Keys.END, 0.6)):  # 300 steps of 2 ms
            seek.send_keys(key)
            assert float(replay.get_attribute("data-time")) == pytest.approx(end)
            assert abs(moment(browser) - end) < 0.06  # the player's own field, in tenths
            time.sleep(2)  # the canvas follows
            seen.append(picture(browser, area))
        assert changed(*seen) > 1000
        assert in_player(browser, "return window.mark") == "the same"  # all this in one and the same player
        browser.execute_script("arguments[0].click()", replay.find_element("css selector", ".close"))
        assert replay.get_attribute("data-state") == "poster"
        assert not errors(browser)


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
    """The time that the player itself shows [s]."""
    return float(in_player(browser, "return document.querySelector('input[inputmode=decimal]').value"))


@pytest.mark.slow
def test_in_a_browser_keys_move_replays_and_plots_and_nothing_is_shared(page):
    with open_browser(700, 700) as browser:
        from selenium.webdriver import ActionChains, Keys

        browser.get(page.as_uri())
        plot = browser.find_element("css selector", ".plot .canvas")
        browser.execute_script("arguments[0].scrollIntoView(); arguments[0].focus()", plot)
        wait_for(lambda: plot.get_attribute("data-state") == "drawn", "the plot is drawn")
        assert "Squares." in plot.get_attribute("aria-label")
        labels = [b.get_attribute("aria-label") for b in plot.find_elements("css selector", ".modebar-btn")]
        assert "Zoom in" in labels and not [
            label for label in labels if "hare" in label or "loud" in label or not label
        ]
        extent = "return document.querySelector('.plot .drawing').layout.xaxis.range"
        before = browser.execute_script(extent)
        ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
        wait_for(lambda: browser.execute_script(extent)[0] > before[0], "the plot moves to the right")

        replay = browser.find_element("css selector", ".replay")
        browser.execute_script("arguments[0].scrollIntoView()", replay)
        replay.find_element("css selector", ".start").send_keys(Keys.ENTER)
        wait_for(lambda: replay.get_attribute("data-state") == "playing", "the replay plays")
        button = replay.find_element("css selector", ".toggle")
        button.send_keys(" ")  # it has the focus
        wait_for(lambda: button.get_attribute("aria-label") == "Play", "it pauses")
        at = float(replay.get_attribute("data-time"))
        button.send_keys(Keys.ARROW_LEFT)
        assert float(replay.get_attribute("data-time")) == pytest.approx(max(0.0, at - 0.01), abs=0.0051)  # one frame
        assert not errors(browser)


@pytest.mark.slow
def test_on_paper_all_tables_are_unfolded_and_replays_are_posters(page):
    with open_browser(700, 700) as browser:
        browser.get(page.as_uri())
        drawn = "return !document.querySelector('.canvas[data-state=waiting]')"
        wait_for(lambda: browser.execute_script(drawn), "all plots are drawn, out of sight too")
        assert not browser.execute_script("return document.querySelector('details').open")
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert browser.find_element("css selector", "details td").is_displayed()
        assert browser.find_element("css selector", ".start svg").is_displayed()
        assert not browser.find_element("css selector", ".play").is_displayed()
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_script("dispatchEvent(new Event('afterprint'))")
        assert not browser.execute_script("return document.querySelector('details').open")
        assert not errors(browser)
