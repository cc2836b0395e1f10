"""Third-party model files: valid ones with one or several changes and recomputed digests."""

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from conftest import random_states
from core_bits import learned_with, random_machine, random_trees
from fuzz.counts import Counts
from stiction import Body, Material, load, rollout
from stiction.laws import modelfile

_STEPS = 40
_ODD = (
    None, True, False, -1, 0, 1, 3, 2**31 - 1, -(2**31), 10**9, 10**400, 0.5, -0.0, 1e-300, 1e300, -1e300, 5e-324,
    float("nan"), float("inf"), "", "x", "box", "nan", [], {}, [[]], [0, 0, 0], [1e300] * 3, {"kind": "material"},
    [[0.0] * 3] * 8, "é" * 5000, [None],
)  # fmt: skip
_NUMBERS = (0.0, -1.0, 1e-45, 3e38, -3e38, 1e300, np.nan, np.inf, 2**31 - 1, -(2**31), 127, 1)
_TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool")


@functools.cache
def _originals() -> list[tuple[str, str, dict[str, np.ndarray]]]:
    """Names, descriptions and tensors of valid files of all types."""
    box = Body.box((0.2, 0.3, 0.4), 1.0)
    own: dict[str, Any] = {
        "kernel machines": learned_with(random_machine, box),
        "trees": learned_with(random_trees, box),
        "material": Material.stribeck(0.6, 0.3, viscosity=0.1, restitution=0.3),
        "directions": Material.directional(0.3, 0.5, 0.9),
    }
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in (*own, *modelfile.shipped_laws()):
            law, path = own.get(name) or load(name), Path(folder, "law.safetensors")
            modelfile.save(law, path)
            with safe_open(path, framework="numpy") as file:
                found.append((name, file.metadata()["law"], {key: file.get_tensor(key) for key in file.keys()}))
    return found


def case(rng: np.random.Generator, counts: Counts) -> None:
    """Change a valid file, load it and simulate a few bodies with it."""
    originals = _originals()
    name, text, tensors = originals[rng.integers(len(originals))]
    tensors = dict(tensors)
    change = [name]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if rng.uniform() < 0.5 and tensors:
            change.append(_change_tensor(rng, tensors))
        else:
            text, what = _change_text(rng, text)
            change.append(what)
    data, what = _change_bytes(rng, modelfile.to_file(text, tensors))
    counts.trying("; ".join([*change, what]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "law.safetensors")
        path.write_bytes(data)
        law = modelfile.on_own_body(load(path), "the file")
    start = random_states(np.random.default_rng(0), 3, planar=law.body.planar)
    start.position[:, 2] = law.ground + 0.51 * law.body.diameter + law.body.rounding
    start.velocity[:, 2] = -1.0
    run = rollout(law, start, _STEPS, threads=1)
    if not law.whole and not np.isfinite(run.position).all():
        raise AssertionError("a motion is not finite")


def _change_tensor(rng: np.random.Generator, tensors: dict[str, np.ndarray]) -> str:
    """Change one of the tensors; returns a description."""
    key = str(rng.choice(sorted(tensors)))
    array = tensors[key]
    match rng.integers(14):
        case 0:
            tensors[key], what = np.resize(array, max(0, array.size + rng.integers(-2, 3))), "another length"
        case 1:
            tensors[key], what = array[np.newaxis], "one more axis"
        case 2:
            kind = str(rng.choice(_TYPES))
            with np.errstate(all="ignore"):
                tensors[key], what = array.astype(kind), f"as {kind}"
        case 3 | 9 | 10 | 11 | 12 | 13 if array.size:
            changed = array.copy()
            number = rng.choice(_NUMBERS)
            with np.errstate(all="ignore"):
                changed.flat[rng.integers(array.size)] = np.array(number).astype(array.dtype)
            tensors[key], what = changed, f"a number {number:g}"
        case 5:
            del tensors[key]
            what = "gone"
        case 6:
            other = str(rng.choice(sorted(tensors)))
            tensors[key], tensors[other] = tensors[other], array
            what = f"swapped with {other}"
        case 7:
            tensors[key + str(rng.choice(["", "0", ".more", "9" * 300]))] = array.ravel()
            what = "one more"
        case _:
            tensors[key], what = np.empty((0,) * array.ndim, array.dtype), "empty"
    tensors.update({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()})
    return f"{key}: {what}"


def _change_text(rng: np.random.Generator, text: str) -> tuple[str, str]:
    """The description with one of its values changed, and what was changed."""
    if rng.uniform() < 0.03:
        deep = int(rng.choice([40, 500, 5000]))
        return "[" * deep + "]" * deep, f"nested {deep} deep"
    try:
        description = json.loads(text)
    except (ValueError, RecursionError):
        return text, "nothing"
    holder, path = description, []
    while isinstance(holder, dict | list) and holder:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = keys[rng.integers(len(keys))]
        path.append(str(key))
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.uniform() < 0.3:
            break
        holder = holder[key]
    else:
        return text, "nothing"
    odd = _ODD[rng.integers(len(_ODD))]
    if isinstance(holder, dict) and rng.uniform() < 0.15:
        del holder[key]
        return json.dumps(description), f"{'.'.join(path)}: gone"
    if isinstance(holder, dict) and rng.uniform() < 0.1:
        holder["another"] = odd
        return json.dumps(description), f"{'.'.join(path[:-1])}: one more"
    holder[key] = odd
    return json.dumps(description), f"{'.'.join(path)} = {str(odd)[:30]}"


def _change_bytes(rng: np.random.Generator, data: bytes) -> tuple[bytes, str]:
    """Sometimes damage the file itself; returns a description."""
    changed, where = bytearray(data), int(rng.integers(len(data)))
    match rng.integers(20):
        case 0:
            return data[:where], "cut off"
        case 1:
            changed[where] ^= int(rng.integers(1, 256))
            return bytes(changed), "a bit flipped"
        case 2:
            for kind in (b'"F32"', b'"F64"'):  # types that NumPy does not have, or of another size
                changed = changed.replace(kind, rng.choice([b'"BF16"', b'"F8_E4M3"', b'"I8"', b'"U16"', b'"C64"']))
            return bytes(changed), "other types"
        case 3:
            changed[:8] = int(rng.choice([0, 1, 2**31, 2**63 - 1])).to_bytes(8, "little")
            return bytes(changed), "a header of another length"
        case _:
            return data, "whole"
