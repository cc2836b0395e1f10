"""The native core, in the form that suits this processor best.

It is built once for every level of x86-64 that matters: `baseline` runs anywhere, `v3` needs AVX2 and fused
multiply-add, `v4` AVX-512; on other processors there is `baseline` alone. The environment variable STICTION_CORE names
one of them, to compare. Their results may differ in the last bits.
"""

import os
from importlib import import_module

from stiction._core import baseline


def _suitable() -> str:
    """The name of the fastest form that is built and that this processor can run."""
    wanted = os.environ.get("STICTION_CORE", "")
    if wanted not in ("", "baseline", "v3", "v4"):
        raise ImportError(f"STICTION_CORE must be baseline, v3 or v4, got {wanted!r}.")
    if wanted:
        return wanted
    return {4: "v4", 3: "v3"}.get(baseline.processor_level(), "baseline")


def _load(name: str):
    try:
        return import_module(f"stiction._core.{name}")
    except ModuleNotFoundError:  # not built for this kind of processor
        if os.environ.get("STICTION_CORE"):
            raise
        return baseline


_module = _load(_suitable())
LEVEL = _module.__name__.rpartition(".")[2]
globals().update({name: getattr(_module, name) for name in dir(_module) if not name.startswith("_")})
