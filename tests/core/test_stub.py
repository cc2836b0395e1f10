"""The core's type stub lists what the core has; `make stub` writes it again."""

import ast
from pathlib import Path

import pytest

from stiction import _core

STUB = Path(__file__).parents[2] / "src/stiction/_core/__init__.pyi"


def names(body: list[ast.stmt]) -> set[str]:
    found = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found |= {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    found |= {
        target.id
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {name for name in found if not name.startswith("_")}


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


TREE = ast.parse(STUB.read_text()).body
CLASSES = {node.name: node for node in TREE if isinstance(node, ast.ClassDef)}


def test_the_stub_lists_the_names_of_the_core():
    assert names(TREE) - {"LEVEL", "baseline", "v3"} == public(_core.baseline), "make stub"


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_stub_lists_the_members_of_each_class(name):
    assert names(CLASSES[name].body) == public(getattr(_core.baseline, name)), "make stub"
