"""An object on its way to the workers of one run: pickled for that, and never kept in a file."""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from stiction.basics import checks
from stiction.basics.extras import needs


def packed(thing: Any, label: str) -> bytes:
    """`thing` as bytes that `unpacked` reads in another process, on this machine or another one."""
    cloudpickle = _cloudpickle()
    # Other machines do not have the files that lie about here, so their classes travel along, if they can.
    for module in (module for module in _modules(thing) if _is_nearby(module)):
        cloudpickle.register_pickle_by_value(module)
        try:
            return cloudpickle.dumps(thing)
        except Exception:  # whatever the parts of a stranger's object raise
            continue
        finally:
            cloudpickle.unregister_pickle_by_value(module)
    try:
        return cloudpickle.dumps(thing)
    except Exception as error:
        raise checks.InputError(
            f"{label} cannot be sent to other processes ({error!s:.150}): give one worker, or make it fit for pickle."
        ) from error


def unpacked(data: bytes) -> Any:
    """What `packed` was given, in the process of a worker."""
    return _cloudpickle().loads(data)


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError as error:
        raise checks.InputError(needs("More than one worker with a ground truth of your own", "cloudpickle")) from error
    return cloudpickle


def _modules(thing: Any) -> list[ModuleType]:
    """The modules of the classes of an object and of what it holds."""
    things = [thing, *getattr(thing, "__dict__", {}).values()]
    things += [inner for part in things[1:] for inner in getattr(part, "__dict__", {}).values()]
    names = dict.fromkeys(type(part).__module__ for part in things)
    return [sys.modules[name] for name in names if name in sys.modules]


def _is_nearby(module: ModuleType) -> bool:
    """Whether a module is a file in or below the current folder, and not installed there."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__ == "__main__" or module.__name__.partition(".")[0] == "stiction":
        return False
    path = Path(file).resolve()
    return path.is_relative_to(Path(os.getcwd()).resolve()) and "site-packages" not in path.parts
