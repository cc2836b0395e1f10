"""The numba decorator of the package, with a cache that cannot go stale.

numba's own cache looks at one source file at a time, so an edited callee is missed by a caller's cached code.
Here the cache folder is named after all sources of the package: any edit or upgrade compiles anew, everything
else starts from the cache.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import extending
from numba.core import config as numba_config
from numba.core import types
from numba.core.caching import FunctionCache

config = cast(Any, numba_config)  # numba sets its options as attributes at run time
intrinsic = cast(Any, extending.intrinsic)  # what it returns is called without the first argument, which it adds

# Sources without compiled code.
_PLAIN = (
    "cli.py", "dart.py", "gym.py", "mujoco.py", "recordings.py", "rollouts.py", "stepper.py",
    "basics", "learning", "robots", "simulators", "studies",
)  # fmt: skip
_KEEP = 4  # cache folders of earlier source states that stay for other checkouts and versions


def _fingerprint() -> str:
    root = Path(__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in _PLAIN):
        status = path.stat()
        digest.update(f"{path.relative_to(root)}:{status.st_size}:{status.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


def _cache_folder() -> str | None:
    """The folder for compiled code, or None where none can be written."""
    home = config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(home) / "stiction"
    folder = base / _fingerprint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        others = sorted((p for p in base.iterdir() if p != folder), key=lambda p: p.stat().st_mtime)
        for stale in others[:-_KEEP]:
            shutil.rmtree(stale, ignore_errors=True)
    except OSError:
        return None
    return str(folder)


_FOLDER = _cache_folder()
_announced = False
F = TypeVar("F", bound=Callable)


class _Cache(FunctionCache):
    """Keeps what was compiled for the package's own types. The list of what is kept holds all types, so that another
    process, which may not have a user's module, could not even read it."""

    def save_overload(self, sig, data) -> None:
        if all(_is_own(kind) for kind in getattr(sig, "args", sig)):
            super().save_overload(sig, data)


def _is_own(kind: Any) -> bool:
    """Whether a numba type can be read without modules beyond this package and numba's."""
    if isinstance(kind, types.BaseNamedTuple) and cast(Any, kind).instance_class.__module__.split(".")[0] != "stiction":
        return False
    parts = tuple(cast(Any, kind)) if isinstance(kind, types.BaseTuple) else ()
    inside = (getattr(kind, "kind", None), getattr(kind, "instance_type", None))  # of a reference, of a type's type
    return all(_is_own(part) for part in (*parts, *(part for part in inside if isinstance(part, types.Type))))


def compiled(function: F) -> F:
    """Compile `function` with numba (no Python objects, no GIL) and cache the machine code on disk."""
    return _compile(function, _nrt=True)  # said aloud, or it would be taken over from a lean caller


def lean(function: F) -> F:
    """As `compiled`, for a function that allocates nothing: its views of arrays are not counted, which in small
    functions takes longer than the work itself. One that does allocate fails to compile; one that returned an array
    would leave it uncounted, and must not."""
    return _compile(function, _nrt=False)


def inlined(function: F) -> F:
    """As `lean`, and written out where it is called: to hand over a hull or a batch takes longer than a small task."""
    return _compile(function, _nrt=False, forceinline=True)


def lean_overload(function: Callable, **more: Any) -> Callable:
    """numba.extending.overload, for an implementation that is `lean`."""
    options: Any = {"_nrt": False, "nogil": True, "error_model": "numpy", **more}
    return extending.overload(function, jit_options=options)


def lean_jitable(function: F) -> F:
    """numba.extending.register_jitable, likewise: it runs in the interpreter when called from there."""
    return cast(F, cast(Any, extending.register_jitable)(_nrt=False, nogil=True, error_model="numpy")(function))


def _compile(function: F, **options: Any) -> F:
    before = config.CACHE_DIR
    if _FOLDER is not None:
        config.CACHE_DIR = _FOLDER
    try:
        dispatcher = cast(Any, numba.njit(nogil=True, error_model="numpy", **options)(function))
        if _FOLDER is not None:
            dispatcher._cache = _Cache(dispatcher.py_func)  # what njit(cache=True) does, with a cache of our own
        return cast(F, dispatcher)
    finally:
        config.CACHE_DIR = before


def announce_compilation() -> None:
    """Tell a person at a terminal, once, that the coming pause is numba's first compilation for this source state."""
    global _announced
    if _announced:
        return
    known = _FOLDER is not None and any(Path(_FOLDER).iterdir())
    if not known and sys.stderr.isatty():
        print("stiction: compiling for this machine, once: two or three minutes ...", file=sys.stderr)
    _announced = True
