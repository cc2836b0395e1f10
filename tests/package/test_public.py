"""What the commands do, from Python: evaluate, identify; short words for every object."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stiction
from stiction import Body, CoulombLaw, InputError, Law, Material, Mode, State, Stepper, evaluate, identify
from stiction.cli import main
from toss_files import record, write_csv

THREE: Any = 3
SIZE = Body.box((0.1, 0.1, 0.1), 0.37)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    pytest.importorskip("pyarrow")
    return stiction.recordings.read(write_csv(tmp_path_factory.mktemp("csv") / "a.csv", record(12)), SIZE)


def test_evaluate_has_the_figures_of_the_command(tmp_path, capsys):
    pytest.importorskip("dartpy")
    assert main(["evaluate", "box", "--contacts", "60", "--seed", "3", "--json", str(tmp_path / "a.json")]) in (0, None)
    capsys.readouterr()
    figures = evaluate("box", contacts=60, seed=3)
    assert capsys.readouterr().out == ""  # it says nothing by itself
    assert figures == json.loads((tmp_path / "a.json").read_text())
    assert evaluate(stiction.load("box"), contacts=60, seed=3)["kinds"] == figures["kinds"]
    assert evaluate("box", contacts=60, seed=4)["kinds"] != figures["kinds"]


def test_evaluate_measures_any_law_against_any_truth(box):
    class Glue(Law):
        body = box

        def classify(self, contacts):
            return np.full(len(contacts), Mode.STATIC)

        def friction(self, contacts, dynamic):
            return np.zeros((len(dynamic), 3))

    truth = CoulombLaw(box, 0.2, softness=0.0)
    right, wrong = (evaluate(law, contacts=80, truth=truth)["kinds"]["point"] for law in (truth, Glue()))
    assert right["accuracy"] == 1 and right["impulse_error"] < 1e-9
    assert wrong["accuracy"] < 0.9 and wrong["impulse_error"] > 0.1
    assert (
        np.array(wrong["confusion_true_rows_static_dynamic_detach"])[:, 1:] == 0
    ).all()  # all that it says is static


def test_evaluate_forecasts_recordings(tmp_path, recordings):
    figures = evaluate("cube", data=recordings)
    stiction.recordings.save(recordings, tmp_path / "set")
    assert evaluate("cube", data=tmp_path / "set") == figures
    assert figures["parameters"]["tosses"] == 12 and set(figures["coverage"]) == {"0.5", "0.9"}
    assert 0 < figures["errors"]["position"] < 30


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: evaluate("bax"), "There is no law 'bax'; shipped are"),
        (lambda: evaluate(3), "A law needs body, classify and friction; int has no body"),
        (lambda: evaluate("cube"), "cube was identified from recordings: give some to evaluate it on"),
        (lambda: evaluate("box", data="set"), "data is for laws that were identified from recordings, and box is none"),
        (lambda: evaluate("box", contacts=0), "contacts must be a whole number from 1 to 10000000, got 0"),
        (lambda: evaluate(CoulombLaw(SIZE)), "does not say what it was trained on: give a ground truth"),
        (lambda: evaluate(Material.coulomb(0.3)), "is a material without a body: put it on one"),
        (
            lambda: evaluate("cube", data=THREE),
            "Recordings are read by stiction.recordings.read, or given by their path",
        ),
        (lambda: identify("none.csv", SIZE), "none.csv"),
        (lambda: identify("none.csv"), "none.csv does not say what was tossed: give the body"),
        (lambda: identify(THREE), "Recordings are read by stiction.recordings.read"),
        (lambda: identify("none.csv", THREE), "body must be a stiction.Body, got int"),
    ],
)
def test_wrong_calls_are_refused_in_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def test_identify_refuses_recordings_without_a_body_and_too_few_tosses(recordings):
    with pytest.raises(InputError, match="do not say of which body they are"):
        identify(replace(recordings, body=None))
    with pytest.raises(InputError, match="tosses must be a whole number of at least 2, got 1"):
        identify(recordings, tosses=1)


def test_objects_are_shown_in_one_short_line(tmp_path, box):
    law = CoulombLaw(box, 0.5)
    state = State([0, 0, 1])
    data = stiction.collect(box, law, throws=2, steps=200, workers=1, progress=False, out=tmp_path / "data")
    shown = {
        "Body(box 0.2 x 0.3 x 0.4 m, 1 kg)": box,
        "Body(prism with 5 sides, radius 0.2 m, height 0.1 m, 2 kg)": Body.prism(5, 0.2, 0.1, 2.0),
        "Body(box 0.1 x 0.1 x 0.1 m, 0.3 kg, rounded by 0.01 m)": Body.box((0.1, 0.1, 0.1), 0.3, rounding=0.01),
        "Body(hull of 4 vertices, 1 kg)": Body.hull_of(np.vstack([np.zeros(3), np.eye(3)]), 1.0),
        "State(batch (3, 2))": State(np.ones((3, 2, 3))),
        "CoulombLaw(box, friction=0.5, cone='round', softness=0)": law,
        "Stepper(CoulombLaw(box, friction=0.5, cone='round', softness=0), steps of 0.002 s)": Stepper(law, state),
        "Material(friction about 0.3, round cone)": Material.coulomb(0.3),
        f"DataSet('{data.folder}', {len(data):,} contacts from 2 throws of Body(box 0.2 x 0.3 x 0.4 m, 1 kg))": data,
    }
    for words, thing in shown.items():
        assert repr(thing) == words
    assert repr(state).startswith("State(position=[0, 0, 1] m, velocity=[0, 0, 0] m/s, ")
    assert "batch (4,)" in repr(Stepper(law, State(np.ones((4, 3)))))
    for name in ("box", "box-pdd", "cube", "dart", "prism"):
        assert len(repr(stiction.load(name))) < 120 and "\n" not in repr(stiction.load(name))


def test_a_simulation_is_shown_in_one_short_line():
    mujoco = pytest.importorskip("mujoco")
    ball = '<body name="ball" pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>"
    )
    sim = stiction.mujoco.Simulation(model, laws={"ball": 0.5})
    sim.step(3)
    assert repr(sim) == "Simulation(laws for 'ball'; 3 steps of 0.002 s)"


def test_the_package_is_typed():
    assert (Path(stiction.__file__).parent / "py.typed").is_file()
