"""NamedTuples by reference in compiled code: what is read and written through them."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
from stiction.compiled import lean
from stiction.packed import Packed, kept
from stiction.reference import by_reference


class Inner(NamedTuple):
    weights: np.ndarray
    flag: bool


class Outer(NamedTuple):
    values: np.ndarray
    inner: Inner
    scale: float


@lean
def _raise_all(outer):
    inner = outer.inner
    for k in range(len(outer.values)):
        outer.values[k] += outer.scale * inner.weights[k] if inner.flag else 0.0


@lean
def _twice(outer):
    reference = by_reference(outer)
    _raise_all(reference)
    _raise_all(by_reference(reference))


@lean
def _at(address, kind):
    outer, times = kept(address, kind)
    for _ in range(times):
        _raise_all(outer)


def _outer(flag: bool = True) -> Outer:
    return Outer(np.arange(3.0), Inner(np.array([1.0, 10.0, 100.0]), flag), 0.5)


def test_a_reference_reads_and_writes_the_same_arrays():
    outer = _outer()
    _twice(outer)
    assert outer.values.tolist() == [1.0, 11.0, 102.0]
    _twice(outer._replace(inner=outer.inner._replace(flag=False)))
    assert outer.values.tolist() == [1.0, 11.0, 102.0]


def test_what_is_kept_at_an_address_is_found_there_and_may_be_changed():
    outer = _outer()
    packed = Packed((outer, np.int64(2)))
    step = packed.entry(_at)
    step(packed.address, packed.kind)
    assert outer.values.tolist() == [1.0, 11.0, 102.0]
    other = _outer()
    packed.keep((other, np.int64(1)))
    step(packed.address, packed.kind)
    assert outer.values.tolist() == [1.0, 11.0, 102.0] and other.values.tolist() == [0.5, 6.0, 52.0]


def test_the_interpreter_takes_the_tuple_itself():
    outer = _outer()
    assert by_reference(outer) is outer


_FOREIGN = """
import numpy as np
from typing import NamedTuple
from stiction.packed import Packed

class Mine(NamedTuple):
    values: np.ndarray

Packed((Mine(np.zeros(2)),))
"""
_OWN = """
import numpy as np
from stiction.packed import Packed, _write

Packed((np.zeros(2), 1.0))
print(sum(_write.stats.cache_hits.values()), sum(_write.stats.cache_misses.values()))
"""


def test_what_a_user_has_compiled_for_own_types_does_not_stop_other_processes(tmp_path):
    def run(code: str, **more: str) -> str:
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), **more}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    (tmp_path / "mine.py").write_text(_FOREIGN)
    run("import mine", PYTHONPATH=str(tmp_path))
    assert run(_OWN) == "0 1"
    run("import mine", PYTHONPATH=str(tmp_path))
    assert run(_OWN) == "1 0"  # and what is our own is kept
