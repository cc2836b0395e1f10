"""Data sets on disk: what is written is read back exactly, and nothing damaged gets through."""

import json
import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from stiction import DataSet, InputError, Kind, Mode
from stiction.basics.files import digest, remove_strays, write_whole
from stiction.bodies.throws import ThrowRanges
from stiction.data.collection_plan import Plan
from stiction.data.ground_truth import GroundTruth
from stiction.data.store import (
    COLUMNS,
    Manifest,
    Shard,
    check_rows,
    checked_shard,
    decode_shard,
    encode_shard,
    read_manifest,
    shard_path,
    write_manifest,
)


@pytest.fixture(scope="module")
def plan(box) -> Plan:
    return Plan(box, GroundTruth("coulomb-box", (0.75, 1.5)), throws=25, shard_throws=10, ranges=ThrowRanges())


def invented_rows(plan: Plan, number: int, count: int = 300):
    """Numbers of the right kind; what they mean does not matter to a store."""
    rng = np.random.default_rng(number)
    rows = {}
    for column, (kind, parts) in COLUMNS.items():
        rows[column] = rng.normal(size=(count, len(parts))) if parts else rng.integers(1, 4, count).astype(kind)
    rows["throw"] = np.sort(rng.choice(np.array(plan.shard(number), dtype=np.int32), count))
    rows["step"] = rng.integers(-1, plan.steps, count).astype(np.int16)
    rows["quaternion"] /= np.linalg.norm(rows["quaternion"], axis=1, keepdims=True)
    return rows


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory):
    """A folder with a complete data set, and its rows."""
    return written(plan, tmp_path_factory.mktemp("data"), 300)


def written(plan: Plan, folder, count: int):
    parts = [invented_rows(plan, number, count) for number in range(plan.shards)]
    shards = []
    for number, rows in enumerate(parts):
        data = encode_shard(plan, number, rows)
        write_whole(shard_path(folder, number), data)
        shards.append(checked_shard(plan, number, data, "shard"))
    write_manifest(folder, Manifest(plan, plan.packages(), shards))
    return folder, {column: np.concatenate([rows[column] for rows in parts]) for column in COLUMNS}


def same(a, b) -> bool:
    return a.keys() == b.keys() and all(a[c].dtype == b[c].dtype and np.array_equal(a[c], b[c]) for c in a)


def test_rows_are_read_back_exactly(plan):
    rows = invented_rows(plan, 1)
    data = encode_shard(plan, 1, rows)
    assert same(decode_shard(plan, 1, data), rows)
    assert data == encode_shard(plan, 1, rows)
    assert same(decode_shard(plan, 1, data, ["kind", "v1"]), {"kind": rows["kind"], "v1": rows["v1"]})
    none = {column: values[:0] for column, values in rows.items()}
    assert same(decode_shard(plan, 1, encode_shard(plan, 1, none)), none)


@pytest.mark.slow
def test_damaged_shards_are_refused(plan):
    """Truncated anywhere or with any byte altered."""
    rng = np.random.default_rng(0)
    rows = invented_rows(plan, 0, 100)
    data = encode_shard(plan, 0, rows)
    for length in [0, 1, 4, 8, *rng.integers(0, len(data), 200).tolist()]:
        with pytest.raises(InputError):
            checked_shard(plan, 0, data[:length], "shard")
    # Half of the flips at the end of the file, where Parquet keeps what its pages mean.
    places = [*rng.integers(0, len(data), 300), *rng.integers(len(data) - 4000, len(data), 300)]
    for place in places:
        altered = bytearray(data)
        altered[place] ^= 1 << rng.integers(8)
        with pytest.raises(InputError) as caught:
            checked_shard(plan, 0, bytes(altered), "shard")
        assert len(str(caught.value).splitlines()) == 1
    for extra in (b"", b"\0" * 10, data):
        with pytest.raises(InputError):
            decode_shard(plan, 0, extra + rng.bytes(5000))


def test_foreign_shards_are_refused(plan, tmp_path):
    rows = invented_rows(plan, 0)
    with pytest.raises(InputError, match="belongs to another data set"):
        decode_shard(plan, 0, encode_shard(replace(plan, seed=1), 0, rows))
    with pytest.raises(InputError, match="or to another place in this one"):
        decode_shard(plan, 1, encode_shard(plan, 0, rows))
    pq.write_table(pa.table({"throw": [1, 2]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="it has other columns"):
        decode_shard(plan, 0, (tmp_path / "other.parquet").read_bytes())
    with pytest.raises(InputError, match="is damaged, or no shard of a data set"):
        decode_shard(plan, 0, b"throw,step\n1,2\n")


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("throw", 10, "throw must lie between 0 and 9"),
        ("step", 800, "step must lie between -1 and 799"),
        ("mode", Mode.NONE, "mode must lie between 1 and 3"),
        ("kind", 4, "kind must lie between 1 and 3"),
        ("impulse", np.inf, "impulse must be finite"),
        ("quaternion", 2.0, "quaternions must have length 1"),
    ],
)
def test_impossible_rows_are_refused(plan, column, value, sentence):
    rows = invented_rows(plan, 0)
    check_rows(plan, 0, rows)
    rows[column][3] = value
    with pytest.raises(InputError, match=sentence):
        check_rows(plan, 0, rows)


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    write_whole(tmp_path / "a", b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    (tmp_path / ".a.1234.tmp.parquet").write_bytes(b"n")  # of a killed process
    remove_strays(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_data_set_is_read_whole_or_in_parts(plan, whole):
    folder, rows = whole
    data = DataSet(folder)
    assert len(data) == 900 == data.instances.sum() and data.body.same_as(plan.body)
    assert same(data.read(), rows)
    assert [len(part["throw"]) for part in data.stream(["throw"])] == [300, 300, 300]
    lines = rows["kind"] == Kind.LINE
    assert np.array_equal(data.read(["v1"], kinds=[Kind.LINE])["v1"], rows["v1"][lines])
    assert data.instances[1].sum() == lines.sum()
    some = data.read(["throw", "after"], kinds=[Kind.POINT, Kind.SURFACE], throws=[3, 21])
    chosen = np.isin(rows["throw"], [3, 21]) & ~lines
    assert np.array_equal(some["after"], rows["after"][chosen]) and chosen.sum() > 10
    assert data.read(["v1", "mode"], throws=[])["v1"].shape == (0, 6)


def test_reading_needs_memory_once(plan, tmp_path):
    data = DataSet(written(replace(plan, throws=20, shard_throws=1), tmp_path, 1000)[0])
    tracemalloc.start()
    rows = data.read()
    size, peak = sum(column.nbytes for column in rows.values()), tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * size


def test_whole_throws_are_held_out(whole):
    data = DataSet(whole[0])
    train, held_out = data.split(0.2, seed=3)
    assert len(held_out) == 5 and sorted([*train, *held_out]) == list(range(25))
    assert np.array_equal(data.split(0.2, seed=3)[0], train) and not np.array_equal(data.split(0.2, seed=4)[0], train)
    assert len(data.split(0.0)[1]) == 1 and len(data.split(0.999)[0]) == 1
    a, b = (data.read(["throw"], throws=throws)["throw"] for throws in (train, held_out))
    assert len(a) + len(b) == len(data) and not set(a) & set(b)
    for arguments, sentence in [(dict(held_out=1.0), "share below 1"), (dict(seed=-1), "seed must be a whole number")]:
        with pytest.raises(InputError, match=sentence):
            data.split(**arguments)
    for columns in ([], ["colour"], "kind"):
        with pytest.raises(InputError, match="column"):
            data.read(columns)
    for throws in ([25], [-1], [0.5], "all", 3):
        with pytest.raises(InputError, match="throws must"):
            data.read(["throw"], throws=throws)


def test_altered_data_sets_are_refused(whole, tmp_path):
    """Any byte of any shard: the digest in the manifest knows."""
    folder, _ = whole
    manifest = read_manifest(folder)
    write_manifest(tmp_path, manifest)
    contents = [shard_path(folder, k).read_bytes() for k in range(3)]
    for k, content in enumerate(contents):
        shard_path(tmp_path, k).write_bytes(content)
    rng = np.random.default_rng(1)
    data = DataSet(tmp_path)
    for place in rng.integers(0, len(contents[1]), 100):
        altered = bytearray(contents[1])
        altered[place] ^= 1 << rng.integers(8)
        shard_path(tmp_path, 1).write_bytes(altered)
        with pytest.raises(InputError, match="was altered after it was written, or is not whole"):
            data.read(["kind"])
    shard_path(tmp_path, 1).unlink()
    with pytest.raises(InputError, match="cannot be read: No such file"):
        data.read(["kind"])


@pytest.mark.slow
def test_damaged_manifests_are_refused(whole, tmp_path):
    text = (whole[0] / "manifest.json").read_bytes()
    rng = np.random.default_rng(2)
    path = tmp_path / "manifest.json"

    def refused(content: bytes):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            DataSet(tmp_path)
        assert len(str(caught.value).splitlines()) == 1
        return str(caught.value)

    for length in rng.integers(0, len(text), 200):
        refused(text[:length])
    for place in rng.integers(0, len(text), 600):
        altered = bytearray(text)
        altered[place] ^= 1 << rng.integers(8)
        refused(bytes(altered))
    for number in range(300):  # with a right digest again, so that what lies behind it is met
        content = json.loads(text)
        damage(content, np.random.default_rng(number))
        del content["sha256"]
        body = json.dumps(content, indent=2) + "\n"
        content["sha256"] = digest(body.encode())
        path.write_bytes((json.dumps(content, indent=2) + "\n").encode())
        try:
            DataSet(tmp_path)
        except InputError:
            pass
    assert "does not describe a stiction data set" in refused(b'{"format": "zarr"}')
    newer = refused(text.replace(b'"version": 1', b'"version": 2'))
    assert "has version 2 of the format; this stiction reads 1" in newer
    refused(b"[" * 100_000)
    path.unlink()
    with pytest.raises(InputError, match="is no data set: it has no manifest"):
        DataSet(tmp_path)


def damage(content, rng):
    """Put something unfit in a random place of nested lists and dicts."""
    keys = list(content) if isinstance(content, dict) else list(range(len(content)))
    key = keys[rng.integers(len(keys))]
    if isinstance(content[key], dict | list) and content[key] and rng.random() < 0.9:
        damage(content[key], rng)
    else:
        unfit = [None, -1, 1e300, 10**400, "text", [], {}, [[1]], True, 0.5, 2**40]
        content[key] = unfit[rng.integers(len(unfit))]


def test_unfinished_data_sets_are_refused(plan, tmp_path):
    write_manifest(tmp_path, Manifest(plan, plan.packages()))
    shard_path(tmp_path, 0).write_bytes(b"")
    with pytest.raises(InputError, match="is not complete, it has 1 of 3 shards: repeat the command"):
        DataSet(tmp_path)
    write_manifest(tmp_path, Manifest(plan, plan.packages(), [Shard("0", [[0] * 3] * 3)]))
    with pytest.raises(InputError, match="lists 1 shards, but plans 3"):
        DataSet(tmp_path)


def test_plans_survive_json(plan):
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again.fingerprint == plan.fingerprint and again.to_dict() == plan.to_dict()
    assert replace(plan, seed=1).fingerprint != plan.fingerprint


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (dict(throws=0), "throws must be a whole number of at least 1, got 0"),
        (dict(steps=40_000), "steps must be at most 32767, got 40000"),
        (dict(seed=1.5), "seed must be a whole number"),
        (dict(keep_static_surface=1.5), "keep_static_surface must lie between 0 and 1"),
        (dict(jitter_share=-1), "jitter_share must not be negative"),
        (dict(timestep=0), "timestep .s. must be positive"),
        (dict(gravity=(0, 0)), "gravity must have shape"),
    ],
)
def test_impossible_plans_are_refused(plan, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        replace(plan, **changes)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bullet",), "truth must be one of 'dantzig', 'nsgs', 'coulomb-box', 'coulomb-round', 'law', got 'bullet'"),
        (("nsgs", (0.5, 1.0)), "DART knows one friction coefficient, got .0.5, 1.0.: for two, take the truth"),
        (("coulomb-box", (-0.5,)), "friction must be one number or two .mu_x, mu_y., none negative"),
        (("coulomb-box", ()), "friction must be one number or two"),
        (("coulomb-box", 0.5, -1), "softness must not be negative"),
    ],
)
def test_impossible_truths_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        GroundTruth(*arguments)
