"""Contacts from elsewhere: arrays and files become data sets; what cannot be a contact is counted and left out."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

import stiction
from stiction import Body, CoulombLaw, DataSet, InputError, Mode
from stiction.cli import main
from stiction.data.external_instances import FIELDS
from stiction.training.examples import contacts_of, read_instances

SPEC = ["--body", "box:0.2,0.3,0.4", "--com=0.03,-0.05,0.08", "--inertia", "0.02,0.018,0.012"]


@pytest.fixture(scope="module")
def lopsided() -> Body:
    return Body.box((0.2, 0.3, 0.4), 1.0, com=(0.03, -0.05, 0.08), inertia=np.diag([0.02, 0.018, 0.012]))


@pytest.fixture(scope="module")
def known(lopsided) -> dict[str, np.ndarray]:
    """Columns of contacts from a known law."""
    low = {"height": (0.01, 0.1), "vertical": (-2.0, 0.0)}
    law = CoulombLaw(lopsided, 0.6, cone="dart")
    data = stiction.collect(lopsided, law, throws=9, steps=300, ranges=low, progress=False, workers=1)
    return data.read()


@pytest.fixture(scope="module")
def arrays(lopsided, known) -> dict[str, np.ndarray]:
    """The same as `instances` wants them."""
    position = known["position"] + Rotation.from_quat(known["quaternion"], scalar_first=True).as_matrix() @ lopsided.com
    same = {name: known[name] for name in ("quaternion", "twist", "impulse", "throw")}
    return {"position": position, **same}


def changed(arrays, **changes):
    return {name: value for name, value in {**arrays, **changes}.items() if value is not None}


def test_impulses_and_twists_after_the_step_say_the_same(lopsided, known, arrays):
    by_impulse = stiction.instances(lopsided, **arrays)
    by_twist = stiction.instances(lopsided, **changed(arrays, impulse=None, twist_after=known["after"]))
    for data in (by_impulse, by_twist):
        rows = data.read()
        assert len(data) == len(known["kind"]) > 500 and data.plan.throws == 9
        for column in ("throw", "position", "quaternion", "twist", "v1", "impulse", "after", "kind", "mode"):
            assert np.abs(rows[column] - known[column].astype(float)).max() < 1e-11, column
        assert len(contacts_of(lopsided, read_instances(data, 10**6, 0), data.setting)) == len(data)


def test_a_saved_data_set_is_opened_again(lopsided, arrays, tmp_path):
    data = stiction.instances(lopsided, **arrays, timestep=0.002)
    again = data.save(tmp_path / "kept")
    assert DataSet(tmp_path / "kept").fingerprint == data.fingerprint == again.fingerprint
    train, held = again.split(0.2)
    assert len(train) == 7 and len(held) == 2
    with pytest.raises(InputError, match="These contacts are external"):
        again.plan.truth.throw(lopsided, stiction.State([0, 0, 1.0]), 1)


def test_throw_numbers_are_any_and_each_row_is_its_own_without(lopsided, arrays):
    order = np.random.default_rng(0).permutation(len(arrays["throw"]))
    mixed = {name: value[order] for name, value in arrays.items()}
    mixed["throw"] = 1000 - 7 * mixed["throw"]
    data = stiction.instances(lopsided, **mixed)
    counts = np.bincount(data.read()["throw"])
    assert np.array_equal(counts, np.bincount(arrays["throw"])[::-1])
    assert stiction.instances(lopsided, **changed(arrays, throw=None)).plan.throws == len(order)


def test_known_modes_are_kept(lopsided, known, arrays):
    noisy = arrays["impulse"] * (1 + 0.05 * np.random.default_rng(1).standard_normal(arrays["impulse"].shape))
    data = stiction.instances(lopsided, **changed(arrays, impulse=noisy, mode=known["mode"]))
    assert len(data) == len(known["mode"]) and np.array_equal(data.read()["mode"], known["mode"])


def test_impossible_contacts_are_counted_and_left_out(lopsided, known, arrays):
    pushed = np.flatnonzero(known["impulse"][:, 2] > 0.5 * 9.81 * 0.002)
    position, impulse = arrays["position"].copy(), arrays["impulse"].copy()
    position[pushed[:3], 2] += 0.1
    position[pushed[3:5], 2] -= 0.1
    impulse[pushed[5:9]] *= -1
    impulse[pushed[9]] *= 1000
    impulse[pushed[10], 3] += impulse[pushed[10], 2]  # as if it acted a metre beside
    with pytest.warns(UserWarning) as caught:
        data = stiction.instances(lopsided, **changed(arrays, position=position, impulse=impulse))
    message = str(caught[0].message)
    for part in (
        "in the air",
        "2 too deep in the ground",
        "4 pulled by the ground",
        "1 with a torque",
        "1 whose impulse",
    ):
        assert part in message
    assert message.startswith(f"11 of {len(position):,} contacts") and len(data) == len(position) - 11
    with pytest.raises(InputError, match=f"None of the {len(position)} contacts can be used: .* in the air"):
        stiction.instances(lopsided, **changed(arrays, position=arrays["position"] + [0, 0, 1.0]))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (dict(twist_after=np.zeros((1, 6))), "Give either twist_after or impulse"),
        (dict(impulse=None), "Give either twist_after or impulse"),
        (dict(impulse=np.zeros((2, 6))), r"impulse must have one row per contact, \(\d+, 6\), got shape \(2, 6\)"),
        (dict(quaternion=[2.0, 0, 0, 0]), "must have length 1"),
        (dict(position=[0.0, 0, 0.2]), r"position must have one row per contact, got shape \(3,\)"),
        (dict(throw=[0.5]), "throw must be whole numbers, got"),
        (dict(mode=[9]), "mode must have .* whole numbers, got shape"),
        (dict(mode=np.full(1875, 256)), "mode must be values of Mode"),
        (dict(timestep=0.0), "timestep .* must be positive"),
    ],
)
def test_wrong_arrays_are_refused(lopsided, arrays, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        stiction.instances(lopsided, **changed(arrays, **changes))


def test_numbers_that_are_none_are_refused(lopsided, arrays):
    twist = arrays["twist"].copy()
    twist[3, 2] = np.nan
    with pytest.raises(InputError, match=r"twist must be finite, got nan at index \(3, 2\)"):
        stiction.instances(lopsided, **changed(arrays, twist=twist))


def test_files_are_read_by_their_schema(lopsided, known, arrays, tmp_path, capsys):
    np.savez(tmp_path / "c.npz", **arrays, timestep=0.002, gravity=[0, 0, -9.81])
    table = {f"{name}_{part}": arrays[name][:, k] for name in arrays for k, part in enumerate(FIELDS[name])}
    pq.write_table(pa.table({**table, "throw": arrays["throw"]}), tmp_path / "c.parquet")
    for kind in ("npz", "parquet"):
        command = ["import", str(tmp_path / f"c.{kind}"), "--instances", *SPEC, "--out", str(tmp_path / kind)]
        assert main(command) == 0
    one, two = DataSet(tmp_path / "npz"), DataSet(tmp_path / "parquet")
    assert one.fingerprint == two.fingerprint and one.body.same_as(lopsided)
    assert np.array_equal(one.read()["mode"], known["mode"])
    assert f"{len(one):,} instances of 9 throws" in capsys.readouterr().out
    del table["impulse_pz"]
    pq.write_table(pa.table(table), tmp_path / "c.parquet")
    assert main(["import", str(tmp_path / "c.parquet"), "--instances", *SPEC, "--out", str(tmp_path / "no")]) == 2
    assert "has impulse_px but no impulse_pz" in capsys.readouterr().err


@pytest.mark.slow
def test_a_law_is_trained_on_contacts_from_elsewhere(box, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    source = stiction.collect(
        box, CoulombLaw(box, 0.6, cone="dart"), throws=15, steps=300, progress=False, workers=1
    ).read()
    names = ("position", "quaternion", "twist", "impulse", "throw")
    parts: dict[str, Any] = {name: source[name] for name in names}
    stiction.instances(box, **parts, out=tmp_path / "data")
    options = ["--out", str(tmp_path / "l.safetensors"), "--steps", "50", "--fold", "mirror"]
    assert main(["train", str(tmp_path / "data"), *options]) == 0
    law = stiction.load(tmp_path / "l.safetensors")
    assert law.inputs.friction[0] == pytest.approx(0.6, rel=0.01) and law.info["plan"]["truth"]["name"] == "elsewhere"


def test_modes_are_named_as_in_the_documents():
    assert [Mode.STATIC, Mode.DYNAMIC, Mode.DETACH, Mode.NONE] == [1, 2, 3, 0]
