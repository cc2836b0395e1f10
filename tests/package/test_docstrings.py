"""Every example in the help of a public name runs as it stands, and every public name has words of its own."""

import inspect
import re
import shutil

import numpy as np
import pytest

import stiction

pytest.importorskip("pyarrow")
from toss_files import record, write_csv

SLOW = ("collect", "train", "train_material", "identify", "recordings")  # more than a few seconds
NEEDS = {"dart": "dartpy", "gym": "gymnasium", "mujoco": "mujoco", "train": "torch", "recordings": "pyarrow"}


def help_of(name: str) -> list[str]:
    """The docstrings of a public name: its own, and if it is a class, those of its methods."""
    value = getattr(stiction, name)
    members = inspect.getmembers(value) if inspect.isclass(value) else []
    own = [member for key, member in members if not key.startswith("_") and inspect.getmodule(member) is not np]
    return [text for text in map(inspect.getdoc, [value, *own]) if text]


def examples_in(text: str) -> list[str]:
    """Its indented blocks that follow an empty line."""
    blocks = re.findall(r"(?<=\n\n)((?: {4}.*\n|\n(?= {4}))+)", text + "\n")
    return [inspect.cleandoc("\n" + block) for block in blocks]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Read from tosses.csv in a folder of its own, which examples read as well."""
    folder = tmp_path_factory.mktemp("tosses")
    path = write_csv(folder / "tosses.csv", record(12))
    return folder, stiction.recordings.read(path, stiction.Body.box((0.1, 0.1, 0.1), 0.37))


@pytest.fixture
def world(tmp_path, monkeypatch, box, recordings) -> dict:
    """The names and files that examples take for granted."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(recordings[0] / "tosses.csv", tmp_path)
    state, law = stiction.State([0, 0, 0.5], velocity=[1, 0, 0]), stiction.CoulombLaw(box, 0.5)
    short = ("Body", "CoulombLaw", "Material", "State", "Stepper", "load", "rollout")
    known = {"stiction": stiction, "np": np, "body": box, "state": state, "law": law, "recordings": recordings[1]}
    return known | {name: getattr(stiction, name) for name in short}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in stiction.__all__]
)
def test_examples_in_help_run(name, world):
    needed = pytest.importorskip(NEEDS.get(name, "numpy"))
    texts = help_of(name)
    assert len(texts[0]) > 20
    if name == "mujoco":
        world["mujoco"] = needed
    if name == "train":
        world["data"] = stiction.collect(world["body"], world["law"], throws=4, steps=300, workers=1)
    for text in texts:
        for example in examples_in(text):
            exec(example, world)


def test_the_main_names_have_examples():
    main = ("Body", "Contacts", "CoulombLaw", "Material", "State", "Stepper", "collect", "evaluate", "identify", "load")
    for name in (*main, "instances", "mujoco", "recordings", "rollout", "train", "train_material"):
        assert examples_in(inspect.getdoc(getattr(stiction, name)) or ""), name


def test_the_first_example_of_all_runs(world, tmp_path):
    pytest.importorskip("matplotlib")
    exec(examples_in(inspect.getdoc(stiction) or "")[0], {})
    assert (tmp_path / "throw.png").read_bytes().startswith(b"\x89PNG")
