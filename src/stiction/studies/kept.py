"""Results that are kept: what was measured once is not measured again."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stiction.basics import files


def kept(folder: Path, what: Any, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The figures of `what` from the folder, or measured and put there.

    what: all that decides the figures, as JSON has it
    """
    name = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    found = measure()
    files.write_json(path, found)
    return found
