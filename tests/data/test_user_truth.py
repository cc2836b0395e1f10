"""Ground truth of one's own: laws, materials and objects that throw, on any number of workers, and refusals."""

import json
import re
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import stiction
from stiction import Body, CoulombLaw, DataSet, InputError, State, rollout
from stiction.cli import main
from stiction.data.collection_plan import Plan
from stiction.data.ground_truth import imported
from stiction.data.store import Manifest, write_manifest

STATES = ("position", "quaternion", "velocity", "angular_velocity")
FEW: dict[str, Any] = dict(
    throws=6, steps=150, ranges={"height": (0.01, 0.1), "vertical": (-2.0, 0.0)}, shard_throws=2, requeries=5,
    progress=False, workers=1,
)  # fmt: skip


class Motions:
    """Throws with a Coulomb law, and tells the motion only."""

    def __init__(self, friction=0.6, **changes):
        self.friction, self.changes = friction, changes

    def throw(self, body, state, steps, *, timestep, gravity):
        run = rollout(CoulombLaw(body, self.friction, timestep=timestep, cone="dart"), state, steps, gravity=gravity)
        return SimpleNamespace(**{name: getattr(run, name) for name in STATES} | self.changes)


class Drunk(Motions):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)

    def throw(self, body, state, steps, **how):
        self.friction = self.rng.uniform()
        return super().throw(body, state, steps, **how)


class Stated(Motions):
    """States impulses, too, `share` of the real ones."""

    def __init__(self, share):
        super().__init__()
        self.share = share

    def throw(self, body, state, steps, *, timestep, gravity):
        run = rollout(CoulombLaw(body, self.friction, timestep=timestep, cone="dart"), state, steps, gravity=gravity)
        return replace(run, impulse=self.share * run.impulse)


class Plain:
    """A material: a law once it is put on a body."""

    def on(self, body, *, timestep):
        return CoulombLaw(body, 0.6, timestep=timestep, cone="dart")


@pytest.fixture(scope="module")
def lopsided() -> Body:
    return Body.box((0.2, 0.3, 0.4), 1.0, com=(0.03, -0.05, 0.08), inertia=np.diag([0.02, 0.018, 0.012]))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["lopsided", "rectangle"])
def test_the_contacts_of_a_motion_are_those_of_the_law_that_made_it(name, request):
    body = request.getfixturevalue(name)
    named = stiction.collect(body, "coulomb-box", friction=0.6, **FEW).read()
    assert len(named["kind"]) > 200
    for truth in (Motions(), CoulombLaw(body, 0.6, cone="dart"), Plain()):
        own = stiction.collect(body, truth, **FEW).read()
        for column, values in named.items():
            assert np.abs(own[column] - values.astype(float)).max() < 1e-11, column


def test_workers_and_a_second_call_give_the_same_bytes(box, tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    one = stiction.collect(box, Motions(), out=tmp_path / "one", **FEW)
    two = stiction.collect(box, Motions(), out=tmp_path / "two", **{**FEW, "workers": 2})
    assert contents(one.folder) == contents(two.folder)
    (tmp_path / "two/shard-00001.parquet").unlink()
    unfinished(tmp_path / "two")
    again = stiction.collect(box, Motions(), out=tmp_path / "two", **FEW)
    assert contents(one.folder) == contents(again.folder)


@pytest.mark.slow
def test_ray_gives_the_same_bytes(box, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    one = stiction.collect(box, Motions(), out=tmp_path / "one", **FEW)
    two = stiction.collect(box, Motions(), out=tmp_path / "two", **{**FEW, "workers": 2, "executor": "ray"})
    assert contents(one.folder) == contents(two.folder)


def unfinished(folder: Path) -> None:
    """Take the manifest back to what it was before the last shard."""
    content = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, Manifest(Plan.from_dict(content["plan"]), content["packages"]))


def test_another_truth_does_not_go_on(box, tmp_path):
    stiction.collect(box, Motions(0.6), out=tmp_path, **FEW)
    unfinished(tmp_path)
    with pytest.raises(InputError, match="holds a data set with throws of a ground truth that answers differently"):
        stiction.collect(box, Motions(0.6 + 1e-9), out=tmp_path, **FEW)


def test_without_a_folder_nothing_is_left(box, tmp_path):
    data = stiction.collect(box, Motions(), **FEW)
    folder, rows = data.folder, data.read()
    kept = data.save(tmp_path / "kept")
    del data
    assert not folder.exists() and kept.folder == tmp_path / "kept"
    assert np.array_equal(DataSet(tmp_path / "kept").read()["impulse"], rows["impulse"])
    with pytest.raises(InputError, match="is not empty"):
        kept.save(tmp_path / "kept")


def test_a_data_set_does_not_hold_its_truth(box, tmp_path):
    plan = DataSet(stiction.collect(box, Motions(), out=tmp_path, **FEW).folder).plan
    assert plan.truth.to_dict()["label"] == "Motions"
    with pytest.raises(InputError, match="The ground truth Motions was an object in Python"):
        plan.truth.throw(box, State([0, 0, 1.0]), 1)


class Bursting(Motions):
    """Runs out of numbers after 100 steps."""

    def throw(self, body, state, steps, **how):
        run = super().throw(body, state, steps, **how)
        run.velocity[:, 100:] = np.nan
        return run


def test_contacts_after_the_last_number_are_left_out(box):
    whole, cut = (stiction.collect(box, truth, **{**FEW, "requeries": 0}).read() for truth in (Motions(), Bursting()))
    early = whole["step"] < 99
    assert 0 < early.sum() < len(early) and np.array_equal(cut["impulse"], whole["impulse"][early])


def test_stated_impulses_are_taken_unless_they_contradict_the_motion(box):
    plain, scaled = (stiction.collect(box, truth, **FEW).read() for truth in (Stated(1.0), Stated(1.04)))
    assert np.abs(scaled["impulse"] - 1.04 * plain["impulse"]).max() < 1e-12
    with pytest.raises(InputError, match="do not fit its motion"):
        stiction.collect(box, Stated(-1.0), **FEW)


@pytest.mark.parametrize(
    ("truth", "sentence"),
    [
        (3, "A ground truth is a stiction.Law, a material, or an object with a method throw.* got int"),
        (Motions, "got the class Motions: make one of it"),
        (Drunk(), "answers the same throws differently when asked again"),
        (Motions(velocity=None), "must have position, quaternion, .* SimpleNamespace has no velocity"),
        (Motions(velocity=np.zeros((2, 3))), r"The velocity .* must have shape \(8, 61, 3\), got \(2, 3\)"),
        (Motions(quaternion=np.ones((8, 61, 4))), "quaternions .* must have length 1"),
        (Motions(position=np.zeros((8, 61, 3))), "The first position .* must be that of the state it was given"),
        (Motions(mode=np.full((8, 60), 7)), "must be values of Mode"),
        (CoulombLaw(Body.box((1, 1, 1), 1.0), cone="dart"), "is for another body than the box that is to be thrown"),
        ("boxx", "truth must be one of dantzig, .*There is no law 'boxx'"),
    ],
)
def test_an_invalid_ground_truth_is_refused(box, truth, sentence):
    with pytest.raises(InputError, match=sentence):
        stiction.collect(box, truth, **FEW)


def test_other_wrong_arguments_are_refused(box):
    with pytest.raises(InputError, match="friction is for the ground truths dantzig"):
        stiction.collect(box, Motions(), friction=0.5)
    with pytest.raises(InputError, match="A range of throws must be one of 'height'"):
        stiction.collect(box, Motions(), ranges={"hight": (0, 1)})
    with pytest.raises(InputError, match=r"body must be a stiction\.Body, got str"):
        stiction.collect("box", Motions())  # type: ignore[arg-type]


def test_what_cannot_be_pickled_needs_one_worker(box):
    pytest.importorskip("joblib", reason="joblib is not installed")
    truth = Motions(lock=threading.Lock())
    with pytest.raises(InputError, match=r"Motions cannot be sent to other processes .*: give one worker"):
        stiction.collect(box, truth, **{**FEW, "workers": 2})
    assert len(stiction.collect(box, truth, **FEW)) > 0


MODULE = """
import stiction

class Icy:
    def throw(self, body, state, steps, *, timestep, gravity):
        law = stiction.CoulombLaw(body, 0.1, cone="dart")
        return stiction.rollout(law, state, steps, timestep=timestep, gravity=gravity)

def make():
    return Icy()

def with_argument(friction):
    return Icy()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "icy_truth.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_command_imports_a_truth_from_the_current_folder(folder, capsys):
    how = ["--throws", "4", "--steps", "150", "--shard-throws", "2", "--height", "0.01", "0.1"]
    for number, (name, workers) in enumerate((("Icy", "1"), ("make", "2"))):
        out = ["--out", f"data{number}", "--workers", workers]
        assert main(["collect", "box", "--truth", f"icy_truth:{name}", *how, *out]) == 0
    assert contents(folder / "data0") == contents(folder / "data1")
    assert main(["collect", "box", "--truth", "coulomb-box", *how, "--workers", "1", "--out", "data0"]) == 2
    assert "holds a data set with truth" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("icy_truth:", "is named MODULE:OBJECT, got 'icy_truth:'"),
        ("icy_lies:Icy", "There is no module icy_lies, neither in .* nor installed"),
        ("icy_truth:Hot", "icy_truth has no Hot; it has Icy, make, stiction, with_argument"),
        ("icy_truth:with_argument", "make one without arguments: missing a required argument: 'friction'"),
    ],
)
def test_objects_that_cannot_be_imported_are_named(folder, text, sentence):
    with pytest.raises(InputError, match=sentence):
        imported(text)


@pytest.mark.slow
def test_networks_learn_from_an_own_truth_and_are_judged_by_it(folder, capsys):
    pytest.importorskip("torch", reason="torch is not installed")
    from stiction.training.settings import Switches

    data = stiction.collect(Body.box((0.2, 0.3, 0.4), 1.0), "icy_truth:Icy", throws=20, steps=300, progress=False)
    law = stiction.train([data], steps=200, progress=False, switches=Switches(fold="mirror"))
    assert law.info["plan"]["truth"]["label"] == "Icy" and law.inputs.friction[0] == pytest.approx(0.1, rel=0.02)
    law.save("icy.safetensors")
    assert main(["evaluate", "icy.safetensors", "--contacts", "200"]) == 2
    assert "asks it with --truth MODULE:OBJECT" in " ".join(capsys.readouterr().err.split())
    assert (
        main(["evaluate", "icy.safetensors", "--contacts", "200", "--truth", "icy_truth:Icy", "--json", "f.json"]) == 0
    )
    assert json.loads(Path("f.json").read_text())["kinds"]["point"]["friction_error"] < 0.2  # briefly trained


def test_networks_take_one_data_set(box):
    pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(InputError, match="Networks are trained on one data set, got 2"):
        stiction.train(["a", "b"])


def test_the_example_of_the_documents_runs(capsys):
    page = (Path(__file__).parents[2] / "docs/ground_truth.md").read_text()
    example = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class Falling" in block)
    exec(example, {"__name__": "example"})
    assert int(capsys.readouterr().out.split()[0]) > 500


def test_a_law_is_thrown_with_its_own_time_step(box):
    law = stiction.CoulombLaw(box, 0.5, timestep=0.004, cone="dart")
    assert stiction.collect(box, law, throws=2, steps=50, progress=False).setting.timestep == 0.004
