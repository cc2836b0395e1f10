"""Third-party recordings: damaged npz, CSV, Parquet and MCAP files, and imported folders."""

import functools
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import stiction
from fuzz import tables
from fuzz.counts import Counts
from fuzz.damage import NUMBERS, damaged, odd_array
from stiction import Body
from stiction.basics.files import digest
from stiction.recordings import Conventions, Recordings, read
from stiction_studies.recordings.example_take import write_motive
from toss_files import RATE, record
from tracker_files import (
    MESSAGES,
    session,
    write_bag,
    write_echo,
    write_plotjuggler,
    write_qualisys,
    write_tags,
    write_tum,
    write_vicon,
)

_BODY = Body.box((0.1, 0.1, 0.1), 0.37)
_EXPORTS = (write_motive, write_vicon, write_qualisys, write_tum, write_echo, write_plotjuggler, write_tags)
_NAMES = ("toss", "time", "x", "y", "z", "qw", "qx", "qy", "qz")
_MESSAGES: tuple[bytes, ...] = (
    b"null", b"[]", b"5", b'"x"', b"{}", b'{"pose": null}', b'{"pose": {"position": null, "orientation": null}}',
    b'{"pose": {"position": {"x": "a"}, "orientation": {}}}', b"{" * 50, b"[" * 5000 + b"]" * 5000, b"\xff\xfe", b"",
    b'{"pose": {"pose": {"pose": {}}}}', b'{"position": [1, 2, 3], "orientation": [1, 0, 0, 0]}', b"NaN", b"1e999",
    b'{"pose": {"position": {"x": 1e400, "y": null, "z": []}, "orientation": {"w": {}, "x": 0, "y": 0, "z": 0}}}',
)  # fmt: skip


@functools.cache
def _states() -> np.ndarray:
    return record(3, frames=50)


def case(rng: np.random.Generator, counts: Counts) -> None:
    """Write a damaged recording, and read it."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # an unchecked overflow
        folder = Path(name)
        kind = str(rng.choice(list(_KINDS)))
        if kind == "folder":
            _check(_imported(rng, counts, folder))
            return
        data, change = _KINDS[kind](rng)
        if rng.uniform() < 0.3:
            data, what = damaged(rng, data)
            change += f", {what}"
        usual = {"export": "csv", "bag": "mcap"}.get(kind, kind)
        suffix = str(rng.choice(["csv", "parquet", "npz", "mcap", "txt", "tsv"])) if rng.uniform() < 0.05 else usual
        (folder / f"a.{suffix}").write_bytes(data)
        how, options_text = _conventions(rng)
        counts.trying(f"{kind} as {suffix}: {change}; {options_text}")
        name = str(rng.choice(["Part", "Gripper", "7", "/part/pose"])) if kind in ("export", "bag") else None
        _check(read(folder / f"a.{suffix}", _BODY, how, name=name))


def _check(found: Recordings) -> None:
    """Accepted recordings can be used."""
    if not len(found) or not 0 < found.timestep < 100:
        raise AssertionError("recordings without tosses or time")
    for toss in found.tosses.tosses:
        if not (np.isfinite(toss.position).all() and np.isfinite(toss.quaternion).all()):
            raise AssertionError("a pose is not finite")
        if (np.diff(toss.frame) < 1).any() or not 0 <= toss.flight <= len(toss.frame):
            raise AssertionError("frames out of order")


def _conventions(rng: np.random.Generator) -> tuple[Conventions | None, str]:
    if rng.uniform() < 0.7:
        return None, "as usual"
    choices: dict[str, Any] = {
        "units": ("m", "cm", "mm", "in"), "time_unit": ("s", "ms", "us", "ns"), "quaternion": ("wxyz", "xyzw"),
        "up": ("z", "y", "x"), "mirror": ("", "x", "y"), "inverse": (False, True), "interval": (*NUMBERS, 1 / RATE),
        "floor": NUMBERS,
    }  # fmt: skip
    chosen = rng.choice(list(choices), rng.integers(1, 3), replace=False)
    how = {str(name): choices[name][rng.integers(len(choices[name]))] for name in chosen}
    return Conventions(**how), str(how)


def _npz(rng: np.random.Generator) -> tuple[bytes, str]:
    states = _states()
    fields: dict[str, Any] = {
        "states": states.reshape(-1, 13), "offsets": np.arange(4) * 50, "dt": np.array(1 / RATE),
        "split": np.array([0, 0, 1]), "group_id": np.arange(3),
    }  # fmt: skip
    return tables.npz(rng, fields, "states")


@functools.cache
def _columns() -> dict[str, Any]:
    states = _states()
    count, frames = states.shape[:2]
    columns: dict[str, Any] = dict(zip(_NAMES[2:], states[..., :7].reshape(-1, 7).T))
    columns["toss"] = np.repeat(np.arange(count), frames)
    columns["time"] = np.tile(np.arange(frames) / RATE, count)
    return columns


def _csv(rng: np.random.Generator) -> tuple[bytes, str]:
    return tables.csv(rng, _columns())


def _parquet(rng: np.random.Generator) -> tuple[bytes, str]:
    return tables.parquet(rng, _columns())


def _mcap(rng: np.random.Generator) -> tuple[bytes, str]:
    from mcap.writer import CompressionType, Writer

    sink, change = io.BytesIO(), "whole"
    packed = CompressionType(int(rng.choice([kind.value for kind in CompressionType])))
    writer = Writer(sink, compression=packed, use_chunking=bool(rng.uniform() < 0.8))
    writer.start()
    schema = writer.register_schema("foxglove.PoseInFrame", "jsonschema", b"{}")
    channels = [writer.register_channel(name, "json", schema) for name in ("/pose", "/other")]
    odd, at, large = rng.uniform() < 0.5, int(rng.integers(50)), rng.uniform() < 0.05
    for k, row in enumerate(_states()[0].tolist()):
        pose = {"position": dict(zip("xyz", row[:3])), "orientation": dict(zip("wxyz", row[3:7]))}
        text = json.dumps({"pose": pose}).encode()
        if odd and k == at:
            text = _MESSAGES[rng.integers(len(_MESSAGES))]
            change = f"message {text[:60]!r}"
        if large and k == at:
            text, change = b" " * 3 * 10**7, "a large message of nothing"
        time = int(k / RATE * 1e9) if rng.uniform() > 0.01 else int(rng.integers(2**63))
        writer.add_message(channels[int(rng.uniform() < 0.002)], time, text, time)
    writer.finish()
    return sink.getvalue(), f"{change}, {packed.name}"


def _export(rng: np.random.Generator) -> tuple[bytes, str]:
    """An export of a tracker, whose lines or cells are changed."""
    write = _EXPORTS[rng.integers(len(_EXPORTS))]
    with tempfile.TemporaryDirectory() as folder:
        text = write(Path(folder, "a.csv"), session(1)[0][-170:]).read_text()
    lines, change = text.splitlines(), write.__name__
    for _ in range(rng.integers(0, 4)):
        k = int(rng.integers(min(len(lines), 16) if rng.uniform() < 0.7 else len(lines)))
        cells = lines[k].split(",")
        odd = ("", "x", "nan", "1e400", "-1", "0", "inf", "Frame", ",,,", "9" * 30)
        cells[rng.integers(len(cells))] = odd[rng.integers(len(odd))]
        lines[k] = ",".join(cells) if rng.uniform() < 0.8 else ""
        change += f", line {k}"
    return "\n".join(lines).encode(), change


def _bag(rng: np.random.Generator) -> tuple[bytes, str]:
    """A bag of ROS 2."""
    kind = str(rng.choice(list(MESSAGES)))
    with tempfile.TemporaryDirectory() as folder:
        path = write_bag(Path(folder, "a.mcap"), session(1)[0][-170:], kind, bool(rng.uniform() < 0.5))
        return path.read_bytes(), kind


def _imported(rng: np.random.Generator, counts: Counts, folder: Path) -> Recordings:
    """A folder as `stiction import` writes it, changed, with a recomputed digest."""
    stiction.recordings.save(_whole(), folder / "set")
    manifest = json.loads((folder / "set" / "manifest.json").read_text())
    table = pyarrow.parquet.read_table(folder / "set" / "recordings.parquet")
    change = "whole"
    for _ in range(rng.integers(1, 3)):
        if rng.uniform() < 0.5:
            name = str(rng.choice(list(manifest)))
            odd = (None, -1, 0, 1e300, "x", [], {}, [0], ["x"] * 3, [[0]], True, 10**400, [1e300] * 3, [None] * 3)
            manifest[name] = odd[rng.integers(len(odd))]
            change = f"{name} = {str(manifest[name])[:40]}"
        elif table.num_rows:
            name = str(rng.choice(table.column_names))
            column, what = odd_array(rng, table.column(name).to_numpy())
            try:
                table = table.set_column(table.column_names.index(name), name, pa.array(np.ravel(column)))
            except (pa.ArrowException, ValueError, TypeError):
                table = table.drop_columns([name])
                what = "gone"
            change = f"{name}: {what}"
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    data = sink.getvalue()
    if rng.uniform() < 0.1:
        data, what = damaged(rng, data)
    (folder / "set" / "recordings.parquet").write_bytes(data)
    (folder / "set" / "manifest.json").write_text(json.dumps({**manifest, "sha256": digest(data)}))
    counts.trying(f"folder: {change}")
    return stiction.recordings.load(folder / "set")


@functools.cache
def _whole() -> Recordings:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.npz")
        states = _states()
        np.savez(path, states=states.reshape(-1, 13), offsets=np.arange(4) * 50, dt=1 / RATE)
        return replace(read(path, _BODY), body=_BODY)


_KINDS: dict[str, Callable[..., Any]] = {
    "npz": _npz, "csv": _csv, "parquet": _parquet, "mcap": _mcap, "folder": _imported,
    "export": _export, "bag": _bag,
}  # fmt: skip
