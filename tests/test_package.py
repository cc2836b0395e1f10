"""What a newcomer meets first: a quick import that needs no engine, clear names, a cache that cannot go stale."""

import subprocess
import sys

import pytest

import stiction


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_is_light():
    loaded = run("import sys, stiction; print(sorted(m for m in sys.modules if '.' not in m))")
    assert not {"numpy", "numba", "scipy", "dartpy", "trimesh"} & set(eval(loaded))


def test_every_public_name_is_there():
    for name in stiction.__all__:
        assert getattr(stiction, name) is not None
    assert stiction.__version__


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
try:
    stiction.dart
except ImportError as error:
    print(error)
"""
    assert run(code).splitlines() == ["5", "stiction.dart needs DART: pip install 'stiction[dart]'."]


def test_unknown_names_list_what_there_is():
    with pytest.raises(AttributeError, match="stiction has no 'Boddy'; it has AugmentedLaw, Body, CoulombLaw"):
        _ = stiction.Boddy
