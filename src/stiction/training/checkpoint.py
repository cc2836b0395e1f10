"""Checkpoints of a training: its finished approximators on disk, from which a killed training continues."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from stiction.basics.files import whole_file
from stiction.laws.approximators import Approximator, from_arrays


class Checkpoint:
    """Finished approximators of one training, by name.

    path: file beside the model file that will be written
    training: everything that decides the result; a file of another training is ignored and overwritten
    """

    def __init__(self, path: Path, training: dict[str, Any]) -> None:
        self._path = path
        self._key = hashlib.sha256(json.dumps(training, sort_keys=True).encode()).hexdigest()
        self._arrays = self._read()

    def _read(self) -> dict[str, np.ndarray]:
        try:
            with safe_open(self._path, framework="numpy") as file:
                if (file.metadata() or {}).get("training") != self._key:
                    return {}
                return {key: file.get_tensor(key) for key in file.keys()}
        except (OSError, SafetensorError, ValueError):  # missing, or cut off
            return {}

    def get(self, name: str) -> Approximator | None:
        """The approximator `name`, if it was finished."""
        arrays = {key.removeprefix(f"{name}."): a for key, a in self._arrays.items() if key.startswith(f"{name}.")}
        return from_arrays(arrays) if arrays else None

    def put(self, name: str, approximator: Approximator) -> None:
        """Store a finished approximator."""
        self._arrays |= {f"{name}.{key}": np.ascontiguousarray(a) for key, a in approximator.arrays().items()}
        with whole_file(self._path) as temporary:
            save_file(self._arrays, temporary, {"training": self._key})

    def __len__(self) -> int:
        """Number of finished approximators."""
        return len({key.rpartition(".")[0] for key in self._arrays})

    def remove(self) -> None:
        """Delete the file: the training is finished."""
        self._path.unlink(missing_ok=True)
