"""Extras: each module is in the extra that the sentences name, and what needs little asks for little."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from stiction import InputError
from stiction.basics.environment import EXTRAS, needs, require

ROOT = Path(__file__).parents[2]
FOLDERS = {"stiction": ROOT, "stiction-studies": ROOT / "studies"}


def brought(extra: str, distribution: str = "stiction") -> set[str]:
    """Names of the packages that an extra installs, directly or through other extras of `stiction`."""
    project = tomllib.loads((FOLDERS[distribution] / "pyproject.toml").read_text())["project"]
    found = set()
    for requirement in project["optional-dependencies"][extra]:
        if inner := re.fullmatch(r"stiction\[([\w,]+)\]", requirement):
            found |= set().union(*map(brought, inner[1].split(",")))
        else:
            found.add(re.split(r"[\[<>=;~ ]", requirement)[0].lower())
    return found


@pytest.mark.parametrize("distribution", EXTRAS)
def test_each_module_is_in_its_extra(distribution):
    packages = packages_distributions()  # a wheel may not list its modules: then the name of the module counts
    extras = {name: extra for name, extra in EXTRAS[distribution].items() if find_spec(name) is not None}
    names = {module: {name.lower() for name in packages.get(module, [module])} for module in extras}
    wrong = [module for module, extra in extras.items() if not names[module] & brought(extra, distribution)]
    assert extras and not wrong


def test_what_only_reads_data_does_not_bring_torch():
    assert "torch" not in brought("data") | brought("record") and {"torch", "pyarrow"} <= brought("train")


def test_the_sentence_names_each_extra_once():
    assert needs("`x`", "pyarrow", "joblib", "sklearn") == (
        "`x` needs pyarrow, joblib and scikit-learn: pip install 'stiction[data,train]'."
    )
    assert needs("The study slope", "pybullet", "mujoco") == (
        "The study slope needs Bullet and MuJoCo: pip install 'stiction[mujoco]' 'stiction-studies[engines]'."
    )


def test_no_other_sentence_names_an_extra():
    source = Path(__file__).parents[2] / "src/stiction"
    own = [file.name for file in source.rglob("*.py") if re.search(r"needs? [^\n]*pip install", file.read_text())]
    assert sorted(own) == ["cli.py", "environment.py", "trajectory.py"]  # pandas is in none of ours


def test_require_names_only_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"^`collect` needs pyarrow: pip install 'stiction\[data\]'\.$"):
        require("`collect`", "pyarrow", "importlib")


def test_a_law_is_measured_without_torch():
    pytest.importorskip("pyarrow")
    code = """
import sys
class Hidden:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("torch", "sklearn", "dartpy", "mujoco", "joblib", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
from stiction.cli import main
sys.exit(main(["evaluate", "foot", "--contacts", "20"]))
"""
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "surface" in output.stdout
