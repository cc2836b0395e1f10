"""What a newcomer meets first: a quick import that needs no engine, clear names."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stiction

_PINNED = "constraints.txt", "requirements.lock"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_is_light():
    loaded = run("import sys, stiction; print(sorted(m for m in sys.modules if '.' not in m))")
    assert not {"numpy", "scipy", "dartpy", "mujoco", "torch", "trimesh"} & set(eval(loaded))


def test_every_public_name_is_there():
    for name in stiction.__all__:
        assert getattr(stiction, name) is not None
    assert stiction.__version__


@pytest.mark.parametrize(
    ("module", "name", "needs"),
    [
        ("mujoco", "Simulation", "mujoco"),
        ("dart", "throw", "dartpy"),
        ("gym", "LearnedFeet", "gymnasium"),
        ("recordings", "read", "pyarrow"),
    ],
)
def test_modules_of_extras_are_imported_by_their_short_names(module, name, needs):
    pytest.importorskip(needs)
    found = importlib.import_module(f"stiction.{module}")
    assert found is getattr(stiction, module) and name in found.__all__
    for public in found.__all__:
        assert getattr(found, public) is not None


def test_physics_works_without_engines_and_learning():
    """With DART, MuJoCo, torch, scikit-learn and pyarrow hidden, a body can still be thrown."""
    hidden = "dartpy mujoco torch sklearn pyarrow joblib matplotlib plotly viser jinja2".split()
    code = f"""
import sys
for name in {hidden!r}:
    sys.modules[name] = None
import stiction
law = stiction.CoulombLaw(stiction.Body.box((.2, .3, .4), 1.0), 0.5)
print(stiction.rollout(law, stiction.State([0, 0, 1]), 5).steps)
for name in ("dart", "mujoco", "recordings"):
    try:
        getattr(stiction, name)
    except ImportError as error:
        print(error)
"""
    assert run(code).splitlines() == [
        "5",
        "stiction.dart needs DART: pip install 'stiction[dart]'.",
        "stiction.mujoco needs MuJoCo: pip install 'stiction[mujoco]'.",
        "stiction.recordings needs pyarrow: pip install 'stiction[data]'.",
    ]


def test_help_shows_what_is_public_also_without_extras():
    """All that can be imported, and a line on everything else."""
    hidden = "dartpy mujoco torch sklearn pyarrow joblib matplotlib plotly viser jinja2 gymnasium".split()
    for names in ([], hidden):
        code = f"""
import pydoc, sys
for name in {names!r}:
    sys.modules[name] = None
import stiction
print(pydoc.render_doc(stiction, renderer=pydoc.plaintext))
"""
        text = run(code)
        overview, details = text.split("PACKAGE CONTENTS")
        for name in stiction.__all__:
            assert re.search(rf"\b{name}\b", overview), name
        for name in (
            "class Body",
            "class Contacts",
            "class Trajectory",
            "rollout(law",
            "train_material(data",
            "evaluate(",
        ):
            assert name in details
        assert ("class DataSet" in details) == (names == [])


def test_unknown_names_list_what_there_is():
    with pytest.raises(
        AttributeError, match="stiction has no 'Boddy'; it has AugmentedLaw, Body, Contacts, CoulombLaw"
    ):
        _ = stiction.Boddy


def test_the_lock_file_pins_the_tested_versions():
    root = Path(__file__).parents[2]
    pins = [re.findall(r"(?m)^([\w.-]+)==([^\s\\]+)", (root / name).read_text()) for name in _PINNED]
    tested, locked = ({re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found} for found in pins)
    assert locked["torch"] == tested["torch"] + "+cpu"
    assert {name: version for name, version in locked.items() if tested.get(name, version) != version} == {
        "torch": locked["torch"]
    }
    assert len(locked) > 100 and (root / "requirements.lock").read_text().count("--hash=sha256:") > len(locked)
