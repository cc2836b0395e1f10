"""Extras: each module is in the extra that the sentences name, and what needs little asks for little."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from stiction.basics.checks import InputError
from stiction.basics.environment import EXTRAS, needs, require

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def brought(extra: str) -> set[str]:
    """Names of the packages that an extra brings, also by another extra of ours."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        if inner := re.fullmatch(r"stiction\[(\w+)\]", requirement):
            found |= brought(inner[1])
        else:
            found.add(re.split(r"[\[<>=;~ ]", requirement)[0].lower())
    return found


def test_each_module_is_in_its_extra():
    packages = packages_distributions()  # of a wheel that does not tell what it holds, the name of the module
    installed = [name for name in EXTRAS if find_spec(name) is not None]
    wrong = [name for name in installed if not {p.lower() for p in packages.get(name, [name])} & brought(EXTRAS[name])]
    assert installed and not wrong


def test_what_only_reads_data_does_not_bring_torch():
    assert "torch" not in brought("data") | brought("record") and {"torch", "pyarrow"} <= brought("train")


def test_the_sentence_names_each_extra_once():
    assert needs("`x`", "pyarrow", "joblib", "sklearn") == (
        "`x` needs pyarrow, joblib and scikit-learn: pip install 'stiction[data,train]'."
    )


def test_no_other_sentence_names_an_extra():
    source = Path(__file__).parents[1] / "src/stiction"
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
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "surface" in said.stdout
