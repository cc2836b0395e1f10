"""Third-party data sets: contacts given as arrays or files, and folders whose manifest or shards were changed."""

import functools
import io
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fuzz.counts import Counts
from fuzz.damage import NUMBERS, damaged, odd_array
from stiction import Body, CoulombLaw, DataSet, State, collect, instances, rollout
from stiction.basics.files import digest
from stiction.data.external_instances import FIELDS, read_instances_file
from stiction.training.examples import read_instances

_BODY = Body.box((0.2, 0.3, 0.4), 1.0)
_LAW = CoulombLaw(_BODY, 0.5, cone="dart")


def case(rng: np.random.Generator, counts: Counts) -> None:
    """Read damaged contacts or a damaged data set, and use them if they are accepted."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # an unchecked overflow
        warnings.simplefilter("ignore", UserWarning)  # which reports dropped contacts
        if rng.uniform() < 0.5:
            _check(_given(rng, counts, Path(name)))
        else:
            _check(_changed(rng, counts, Path(name)))


def _check(data: DataSet) -> None:
    """Accepted data can be used for training."""
    rows = read_instances(data, 1000, 0)
    if not len(rows) or not all(np.isfinite(part).all() for part in (rows.position, rows.twist, rows.impulse)):
        raise AssertionError("contacts that are none")
    if not np.isin(rows.mode, (1, 2, 3)).all():
        raise AssertionError("contacts without a mode")


@functools.cache
def _contacts() -> dict[str, np.ndarray]:
    run = rollout(_LAW, State.random(_BODY, 4, seed=1), 120)
    twist = np.concatenate([run.velocity, run.angular_velocity], axis=-1)
    parts = {"position": run.position[:, :-1], "quaternion": run.quaternion[:, :-1], "twist": twist[:, :-1]}
    parts |= {"impulse": run.impulse, "mode": run.mode, "throw": np.repeat(np.arange(4)[:, None], 120, axis=1)}
    return {name: part.reshape(480, -1).squeeze() for name, part in parts.items()}


def _given(rng: np.random.Generator, counts: Counts, folder: Path) -> DataSet:
    """Contacts as arrays, or in a file."""
    parts: dict[str, Any] = dict(_contacts())
    change = []
    for _ in range(rng.integers(0, 3)):
        name = str(rng.choice(list(parts)))
        if rng.uniform() < 0.1 and name in ("impulse", "mode", "throw"):
            parts.pop(name)
            change.append(f"no {name}")
        else:
            parts[name], what = odd_array(rng, parts[name])
            change.append(f"{name}: {what}")
    how: dict[str, Any] = {}
    if rng.uniform() < 0.2:
        how["timestep"] = float(rng.choice(NUMBERS))
    if rng.uniform() < 0.2:
        how["gravity"] = odd_array(rng, np.array([0, 0, -9.81]))[0]
    change = ", ".join([*change, *map(str, how)]) or "whole"
    suffix = str(rng.choice(["", "npz", "parquet"]))
    counts.trying(f"contacts {suffix}: {change}")
    if not suffix:
        return instances(_BODY, **parts, **how)
    sink = io.BytesIO()
    if suffix == "npz":
        np.savez(sink, **parts)
    else:
        pyarrow.parquet.write_table(_as_table(parts), sink)
    data = sink.getvalue()
    if rng.uniform() < 0.2:
        data, what = damaged(rng, data)
        counts.trying(f"contacts {suffix}: {change}, {what}")
    path = folder / f"a.{suffix}"
    path.write_bytes(data)
    return read_instances_file(path, _BODY, **how)


def _as_table(parts: dict[str, Any]) -> pa.Table:
    columns = {}
    for name, part in parts.items():
        names = [f"{name}_{component}" for component in FIELDS[name]] or [name]
        rows = np.asarray(part)
        for k, column in enumerate(names):
            values = rows[:, k] if rows.ndim == 2 and rows.shape[1] > k else rows.ravel()
            try:
                columns[column] = pa.array(values)
            except (pa.ArrowException, ValueError, TypeError):
                columns[column] = pa.array([None, "x"])
    shortest = min((len(column) for column in columns.values()), default=0)
    return pa.table({name: column[:shortest] for name, column in columns.items()})


@functools.cache
def _whole() -> DataSet:
    return collect(_BODY, _LAW, throws=6, steps=200, shard_throws=3, workers=1, progress=False)


def _changed(rng: np.random.Generator, counts: Counts, folder: Path) -> DataSet:
    """A collected data set that was changed, with recomputed digests where possible."""
    out = folder / "data"
    _whole().save(out)
    shard = out / f"shard-{rng.integers(2):05d}.parquet"
    manifest = json.loads((out / "manifest.json").read_text())
    change = "whole"
    match rng.integers(4):
        case 0:
            data, change = damaged(rng, shard.read_bytes())
            shard.write_bytes(data)
        case 1:
            table = pyarrow.parquet.read_table(shard)
            name = str(rng.choice(table.column_names))
            column, what = odd_array(rng, table.column(name).to_numpy())
            place = table.column_names.index(name)
            try:
                about = table.schema.field(name) if rng.uniform() < 0.5 else name
                values = pa.array(np.ravel(column))
                table = table.set_column(place, about, values.cast(table.schema.field(name).type, safe=False))
            except (pa.ArrowException, ValueError, TypeError):
                table, what = table.drop_columns([name]), "gone"
            pyarrow.parquet.write_table(table, shard)
            change = f"{name}: {what}"
        case 2:
            holder, path = manifest, []
            while isinstance(holder, dict | list) and len(holder):
                key = rng.choice(list(holder)) if isinstance(holder, dict) else int(rng.integers(len(holder)))
                path.append(str(key))
                if not isinstance(holder[key], dict | list) or not holder[key] or rng.uniform() < 0.2:
                    odd = (None, -1, 0, 2**31, 1e300, "x", [], {}, [0], True, 10**400, "\ud800", [[]] * 3)
                    holder[key] = odd[rng.integers(len(odd))]
                    break
                holder = holder[key]
            change = f"{'.'.join(path)} changed"
        case _:
            data, change = damaged(rng, (out / "manifest.json").read_bytes())
            (out / "manifest.json").write_bytes(data)
    if change != "whole" and rng.uniform() < 0.8 and (out / "manifest.json").stat().st_size:
        _make_right(out, manifest, shard)
    counts.trying(f"data set, {change}")
    return DataSet(out)


def _make_right(out: Path, manifest: dict[str, Any], shard: Path) -> None:
    """Recompute the digests, as an attacker could."""
    if isinstance(manifest.get("shards"), list):
        for number, entry in enumerate(manifest["shards"]):
            if isinstance(entry, dict) and shard.name == f"shard-{number:05d}.parquet":
                entry["sha256"] = digest(shard.read_bytes())
    content = {name: value for name, value in manifest.items() if name != "sha256"}
    text = json.dumps(content, indent=2) + "\n"
    whole = {**content, "sha256": digest(text.encode(errors="replace"))}
    (out / "manifest.json").write_text(json.dumps(whole, indent=2) + "\n")
