"""Third-party recordings: damaged, mislabelled, absurd or huge; each is refused at once in one sentence."""

import io
import json
import re
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import stiction
from stiction import Body, InputError
from stiction.cli import main
from stiction.recordings import read
from toss_files import RATE, record, write_csv, write_mcap, write_npz

SIZE = Body.box((0.1, 0.1, 0.1), 0.37)


@pytest.fixture(scope="module")
def states():
    return record(3, frames=50)


def refusal(path) -> str:
    """The sentence by which a recording is refused."""
    began = time.perf_counter()
    with pytest.raises(InputError) as refused:
        read(path, SIZE)
    message = str(refused.value)
    assert time.perf_counter() - began < 2
    assert len(message) <= 600 and "\n" not in message and message.endswith(".")
    return message


FIELDS = {
    "states of words": ("states", lambda a: a.astype("U5"), "must be an array of numbers"),
    "complex states": ("states", lambda a: a.astype(complex), "must be an array of numbers"),
    "states of dates": ("states", lambda a: a.astype("M8[s]"), "must be an array of numbers"),
    "flat states": ("states", lambda a: a.ravel(), "states must have shape"),
    "offsets of one number": ("offsets", lambda a: np.array(5), "offsets must have shape"),
    "broken offsets": ("offsets", lambda a: a + 0.5, "offsets must be whole numbers"),
    "dt nan": ("dt", lambda a: np.array(np.nan), "dt .s. must be finite"),
    "dt 1e300": ("dt", lambda a: np.array(1e300), "must be 1e-07 to 10 s"),
    "dt of many": ("dt", lambda a: np.full(3, a), "dt .s. must be a single number"),
    "dt in words": ("dt", lambda a: np.array("1/148"), "dt .s. must be a number"),
    "groups of words": ("group_id", lambda a: np.array(["a", "b", "c"]), "group_id must be whole numbers"),
    "too few groups": ("group_id", lambda a: a[:2], "group_id must have one number a toss"),
}


@pytest.mark.parametrize(("field", "change", "sentence"), FIELDS.values(), ids=FIELDS)
def test_fields_of_the_wrong_kind(tmp_path, states, field, change, sentence):
    right = {"dt": np.array(1 / RATE), "group_id": np.arange(3), "offsets": np.arange(4) * 50}
    right |= {"states": states.reshape(-1, 13)}
    np.savez(tmp_path / "a.npz", **{**right, field: change(right[field])})
    assert re.search(sentence, refusal(tmp_path / "a.npz"))


def test_damaged_and_renamed_files(tmp_path, states):
    write_npz(tmp_path / "a.npz", states)
    write_mcap(tmp_path / "a.mcap", states[0])
    write_csv(tmp_path / "a.csv", states)
    pyarrow.parquet.write_table(pa.table({"x": np.zeros(5)}), tmp_path / "a.parquet")
    rng = np.random.default_rng(0)
    for source in ("npz", "mcap", "parquet"):
        data = (tmp_path / f"a.{source}").read_bytes()
        for suffix in ("npz", "mcap", "parquet", "csv"):
            for cut in rng.integers(1, len(data) - 1, 4):
                (tmp_path / f"b.{suffix}").write_bytes(data[:cut])
                refusal(tmp_path / f"b.{suffix}")
            if suffix != source:
                (tmp_path / f"b.{suffix}").write_bytes(data)
                refusal(tmp_path / f"b.{suffix}")


@pytest.mark.parametrize("rows", [10**9, 10**12, 2**62])
def test_a_header_that_claims_more_than_there_is(tmp_path, rows):
    about = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 13), }}".encode()
    about += b" " * (-(11 + len(about)) % 64) + b"\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("states.npy", b"\x93NUMPY\x01\x00" + len(about).to_bytes(2, "little") + about + bytes(1000))
    assert "is damaged: its states.npy has 1000 bytes" in refusal(tmp_path / "a.npz")


def test_archives_that_unpack_to_gigabytes(tmp_path, monkeypatch):
    monkeypatch.setattr("stiction.basics.files.MAX_UNPACKED", 10**7)
    monkeypatch.setattr("stiction.recordings.readers.LARGEST", 10**7)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("states.npy", bytes(2 * 10**7))
    assert (tmp_path / "a.npz").stat().st_size < 10**5
    assert "would unpack to 1 arrays of 0.02 GB; allowed are" in refusal(tmp_path / "a.npz")
    pyarrow.parquet.write_table(pa.table({"x": np.zeros(10**7)}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 10**6
    assert "would unpack to more than 0.01 GB" in refusal(tmp_path / "a.parquet")


def test_an_mcap_that_unpacks_to_gigabytes(tmp_path, monkeypatch):
    from mcap.writer import CompressionType, Writer

    monkeypatch.setattr("stiction.recordings.readers.LARGEST", 10**7)
    for packed in (CompressionType.ZSTD, CompressionType.LZ4):
        sink = io.BytesIO()
        writer = Writer(sink, compression=packed)
        writer.start()
        channel = writer.register_channel("/pose", "json", writer.register_schema("a", "jsonschema", b"{}"))
        writer.add_message(channel, 0, bytes(2 * 10**7), 0)
        writer.finish()
        (tmp_path / "a.mcap").write_bytes(sink.getvalue())
        assert len(sink.getvalue()) < 10**6 and "would unpack to more than 0.01 GB" in refusal(tmp_path / "a.mcap")


@pytest.mark.parametrize(
    "message",
    [b"null", b'{"pose": null}', b'{"pose": {"position": null, "orientation": null}}', b"[" * 5000 + b"]" * 5000,
     b'{"pose": {"position": {"x": "a", "y": 0, "z": 0}, "orientation": {"w": 1, "x": 0, "y": 0, "z": 0}}}', b"\xff"],
)  # fmt: skip
def test_messages_that_are_no_poses(tmp_path, message):
    from mcap.writer import Writer

    with (tmp_path / "a.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        channel = writer.register_channel("/pose", "json", writer.register_schema("a", "jsonschema", b"{}"))
        writer.add_message(channel, 0, message, 0)
        writer.finish()
    refusal(tmp_path / "a.mcap")


def test_columns_and_times_that_make_no_sense(tmp_path, states):
    text = write_csv(tmp_path / "a.csv", states).read_text()
    (tmp_path / "a.csv").write_text(text.replace("qz", "x", 1))
    assert "has more than one column 'x'; rename one" in refusal(tmp_path / "a.csv")
    write_csv(tmp_path / "a.csv", states, time=np.arange(50) * 1e300)
    assert "time stamps beyond 1e+19" in refusal(tmp_path / "a.csv")
    write_csv(tmp_path / "a.csv", states, time=np.arange(50) * 1e9)
    assert "must be 1e-07 to 10 s" in refusal(tmp_path / "a.csv")


def test_a_table_of_many_tosses_is_read_in_seconds(tmp_path):
    tosses, frames = 60_000, 3
    rows = np.zeros((tosses * frames, 9))
    rows[:, 0], rows[:, 1], rows[:, 5] = np.repeat(np.arange(tosses), frames), np.tile(np.arange(3) / 100, tosses), 1
    with (tmp_path / "a.csv").open("w") as file:
        file.write("toss,time,x,y,z,qw,qx,qy,qz\n")
        np.savetxt(file, rows, fmt="%g", delimiter=",")
    began = time.perf_counter()
    with pytest.raises(InputError, match="3 usable frames of 3, at least 20 are needed"):
        read(tmp_path / "a.csv", SIZE)
    assert time.perf_counter() - began < 30


KEPT = {"timestep": 1e300, "names": [1, 2, 3], "groups": [[0]], "held_out": "x", "report": 5, "body": {"shape": "box"}}


@pytest.mark.parametrize("name", KEPT)
def test_a_folder_whose_manifest_was_changed(tmp_path, states, name):
    stiction.recordings.save(read(write_npz(tmp_path / "a.npz", states), SIZE), tmp_path / "set")
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    (tmp_path / "set" / "manifest.json").write_text(json.dumps({**manifest, name: KEPT[name]}))
    with pytest.raises(InputError):
        stiction.recordings.load(tmp_path / "set")


def test_the_command_says_it_in_one_line_and_leaves_nothing(tmp_path, capsys):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 not really")
    out = tmp_path / "set"
    assert main(["import", str(tmp_path / "a.npz"), "--body", "box:0.1,0.1,0.1", "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("stiction: ") and message.count("\n") == 1 and not out.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,x,y,z,qw,qx,qy,qz\n", "no rows below its 8 column names"),
        ("time;x;y;z;qw;qx;qy;qz\n", "no rows below its 8 column names"),
        ("time;x;y\n0;1;2\n", "has no column z, qw, qx, qy, qz; it has time, x, y: map them"),
        ("time,x,y\n0,0,1,5,2,5\n", "has 3 column names, but 6 values in its first row: write decimal points"),
        ('time,x,y\n0,"1,5","2,5"\n', "column x has decimal commas, such as 1,5; write points instead"),
    ],
)
def test_a_table_says_what_is_wrong_with_it_as_a_whole(tmp_path, text, sentence):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read(tmp_path / "a.csv", SIZE)


@pytest.mark.parametrize(("mark", "point"), [(";", "."), (";", ","), ("\t", ".")])
def test_tables_as_spreadsheets_write_them_are_read(tmp_path, states, mark, point):
    usual = read(write_csv(tmp_path / "a.csv", states), SIZE)
    text = (tmp_path / "a.csv").read_text().replace(",", mark).replace(".", point)
    (tmp_path / "a.csv").write_text(text)
    found = read(tmp_path / "a.csv", SIZE)
    assert len(found) == len(usual) and np.array_equal(found[0].position, usual[0].position)
