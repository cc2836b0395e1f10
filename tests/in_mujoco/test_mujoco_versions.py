"""Access to MuJoCo's structs: a version that was not tested is reported, and a layout that is not known is refused."""

import warnings
from typing import Any

import pytest

mujoco = pytest.importorskip("mujoco")

from stiction import InputError
from stiction.mujoco import Simulation, engine

MODEL = "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"


@pytest.mark.parametrize("version", ["3.3.2", "4.0.0", "5.0.0"])
def test_other_versions_are_refused(version):
    with pytest.raises(InputError, match=rf"needs MuJoCo 4.0.1 or a newer 4.x, this is MuJoCo {version}"):
        engine.check_version(version)


def test_newer_versions_are_used_with_a_warning():
    with pytest.warns(UserWarning, match=r"was tested with MuJoCo 4.0.1, this is MuJoCo 4.1.0"):
        engine.check_version("4.1.0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.check_version("4.0.1")


@pytest.mark.parametrize("struct", ["mjModel", "mjData"])
def test_fields_at_other_places_are_refused(struct, monkeypatch):
    """As if MuJoCo had put another field before those that the core reads."""
    real = engine._struct
    nodes: Any = engine.structs.STRUCTS[struct].fields
    first = next(k for k, field in enumerate(nodes) if isinstance(field.type, engine.ast_nodes.PointerType))
    extra = nodes[first]
    moved = engine._fields(struct, [*nodes[:first], type(extra)("more", extra.type, ""), *nodes[first:]])
    monkeypatch.setattr(engine, "_struct", lambda name: moved if name == struct else real(name))
    with pytest.raises(InputError, match=r"keeps its data in a way that stiction does not know .*: use MuJoCo 4.0.1"):
        Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"a": 0.5})


def test_a_struct_that_is_gone_is_refused(monkeypatch):
    engine._struct.cache_clear()
    monkeypatch.delitem(engine.structs.STRUCTS, "mjOption")
    try:
        with pytest.raises(InputError, match="its struct mjOption cannot be read"):
            Simulation(mujoco.MjModel.from_xml_string(MODEL), laws={"a": 0.5})
    finally:
        engine._struct.cache_clear()
