"""Damaged files of arrays and columns, the formats of recordings."""

import io
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fuzz.damage import odd_array


def npz(rng: np.random.Generator, fields: dict[str, Any], largest: str) -> tuple[bytes, str]:
    """A damaged archive of these arrays. largest: the one that may claim to have many rows"""
    fields, change = dict(fields), "whole"
    for _ in range(rng.integers(0, 3)):
        name = str(rng.choice(list(fields)))
        if rng.uniform() < 0.1 and len(fields) > 1:
            del fields[name]
            change = f"no {name}"
        else:
            fields[name], what = odd_array(rng, fields[name])
            change = f"{name}: {what}"
    if rng.uniform() < 0.15:
        return _large_npz(rng, fields, largest), "claims to be large"
    sink = io.BytesIO()
    np.savez_compressed(sink, **fields)
    return sink.getvalue(), change


def _large_npz(rng: np.random.Generator, fields: dict[str, Any], largest: str) -> bytes:
    """An archive with an array that claims many rows, or has many that compress well."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in fields.items():
            file = io.BytesIO()
            np.save(file, array, allow_pickle=False)
            text = file.getvalue()
            if name == largest:
                rows = int(rng.choice([10**4, 10**9, 10**12, 2**62]))
                header = b"\x93NUMPY\x01\x00"
                shape = (rows, *np.shape(array)[1:])
                about = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
                about += b" " * (-(10 + len(about) + 1) % 64) + b"\n"
                text = header + len(about).to_bytes(2, "little") + about + bytes(1000)
            archive.writestr(f"{name}.npy", text)
    return sink.getvalue()


def _changed(rng: np.random.Generator, columns: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Columns of which some are missing, short or odd."""
    columns, change = dict(columns), "whole"
    for _ in range(rng.integers(0, 3)):
        name = str(rng.choice(list(columns)))
        match rng.integers(4):
            case 0:
                del columns[name]
                change = f"no {name}"
            case 1:
                column = np.atleast_1d(columns[name])  # it may be odd already
                columns[name] = column[: rng.integers(len(column) + 1)]
                change = f"{name} ends early"
            case _:
                columns[name], what = odd_array(rng, columns[name])
                change = f"{name}: {what}"
    return columns, change


def csv(rng: np.random.Generator, columns: dict[str, Any]) -> tuple[bytes, str]:
    """A damaged table as text."""
    columns, change = _changed(rng, columns)
    names = list(columns)
    rows = max((np.size(column) for column in columns.values()), default=0)
    cells = [[str(value) for value in np.ravel(np.asarray(column))] for column in columns.values()]
    if names and rng.uniform() < 0.1:
        names[rng.integers(len(names))] = str(rng.choice([*names, "", "é", "a" * 5000, '"']))
        change += ", other names"
    lines = [",".join(names)]
    lines += [",".join(column[k] if k < len(column) else "" for column in cells) for k in range(min(rows, 200))]
    if len(lines) > 2 and rng.uniform() < 0.2:
        odd = ("", ",,,", "x," * 50, "1e999," * 9, '"', "#", "\0", "NaN" + ",NaN" * 8, "1" * 4000)
        lines.insert(int(rng.integers(1, len(lines))), odd[rng.integers(len(odd))])
        change += ", an odd line"
    return "\n".join(lines).encode(errors="replace"), change


def parquet(rng: np.random.Generator, columns: dict[str, Any]) -> tuple[bytes, str]:
    """A damaged table in Arrow's format."""
    columns, change = _changed(rng, columns)
    if rng.uniform() < 0.1:  # many rows, which take no space in the file
        columns = {name: np.zeros(10**6) for name in list(columns)[:2]}
        change = "many rows"
    arrays = {}
    for name, column in columns.items():
        try:
            arrays[name] = pa.array(np.asarray(column))
        except (pa.ArrowException, ValueError, TypeError):
            arrays[name] = pa.array([[1.0, None], None, []])
            change += f", {name} as lists"
    shortest = min((len(array) for array in arrays.values()), default=0)
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({name: array[:shortest] for name, array in arrays.items()}), sink)
    return sink.getvalue(), change
