"""Collection: the same bytes whoever works and whenever it is stopped, and instances that obey mechanics."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from contact_states import SETTING
from stiction import Body, InputError, Mode, State
from stiction.basics.files import sole_writer_into
from stiction.bodies.throws import ThrowRanges
from stiction.commands.learning import collect as collect_command
from stiction.commands.learning import collection_plan
from stiction.commands.options import CollectOptions
from stiction.data.collecting import run_plan, shard_rows
from stiction.data.collection_plan import Plan
from stiction.data.dataset import print_summary
from stiction.data.executors import Workers
from stiction.data.ground_truth import GroundTruth
from stiction.data.instances import balanced_choice, is_at_rest
from stiction.data.store import REQUERIED, Manifest, shard_path, write_manifest
from stiction.simulation.motion import contacts_at, to_motion

LOW = ThrowRanges(height=(0.01, 0.1), vertical=(-2.0, 0.0))  # soon in contact
BODIES = ("box", "rectangle", "lopsided")


@pytest.fixture(scope="module")
def plan(box) -> Plan:
    truth = GroundTruth("coulomb-box", (0.6,))
    return Plan(box, truth, throws=9, steps=150, seed=3, ranges=LOW, shard_throws=2, requeries=10)


@pytest.fixture(scope="module")
def lopsided() -> Body:
    return Body.box((0.2, 0.3, 0.4), 1.0, com=(0.03, -0.05, 0.08), inertia=np.diag([0.02, 0.018, 0.012]))


@pytest.fixture(scope="module")
def uninterrupted(plan, tmp_path_factory) -> dict[str, bytes]:
    return contents(run_plan(plan, tmp_path_factory.mktemp("one"), Workers(1), progress=False).folder)


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def states_of(body, rows, which) -> State:
    """The states before the step of some rows."""
    position, quaternion, twist = (rows[column][which] for column in ("position", "quaternion", "twist"))
    arm = to_motion(body, State(position, quaternion)).position - position
    return State(position, quaternion, twist[:, :3] - np.cross(twist[:, 3:], arm), twist[:, 3:])


def truth_or_skip(name: str, friction=(0.6,)) -> GroundTruth:
    if name in ("dantzig", "nsgs"):
        pytest.importorskip("stiction.dart", reason="DART is not installed", exc_type=ImportError)
    return GroundTruth(name, friction)


@pytest.mark.slow
def test_two_workers_write_the_same_bytes(plan, uninterrupted, tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    assert len(uninterrupted) == 6
    assert contents(run_plan(plan, tmp_path, Workers(2), progress=False).folder) == uninterrupted


@pytest.mark.slow
def test_ray_writes_the_same_bytes(plan, uninterrupted, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    data = run_plan(plan, tmp_path, Workers(2, "ray"), progress=False)
    assert contents(data.folder) == uninterrupted


def test_dart_gives_the_same_bytes_again(plan, tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    plan = replace(plan, truth=truth_or_skip("dantzig"), throws=4, shard_throws=2)
    one, two = (run_plan(plan, tmp_path / str(n), Workers(n), progress=False).folder for n in (1, 2))
    assert contents(one) == contents(two)


@pytest.mark.parametrize("name", ["dantzig", "nsgs", "coulomb-box", "coulomb-round"])
def test_throws_do_not_depend_on_their_shard(plan, name):
    plan = replace(plan, truth=truth_or_skip(name), throws=5, steps=100)
    cut, whole = ([shard_rows(p, k) for k in range(p.shards)] for p in (plan, replace(plan, shard_throws=5)))
    assert len(cut) == 3 and len(whole) == 1
    for column, values in whole[0].items():
        assert np.array_equal(np.concatenate([part[column] for part in cut]), values), column


KILLED = """
import json, sys, time
from stiction.data import collecting
from stiction.data.executors import Workers
from stiction.data.collection_plan import Plan

real = collecting.write_whole
def slow(path, data):
    real(path, data)
    print(path.name, flush=True)
    time.sleep(0.02)
collecting.write_whole = slow
plan = Plan.from_dict(json.loads(sys.argv[1]))
collecting.run_plan(plan, sys.argv[2], Workers(int(sys.argv[3])), progress=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(plan, uninterrupted, tmp_path, workers):
    rng = np.random.default_rng(workers)
    arguments = [sys.executable, "-c", KILLED, json.dumps(plan.to_dict()), str(tmp_path), str(workers)]
    for _ in range(2):
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()  # it has begun to write shards
        time.sleep(rng.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert contents(run_plan(plan, tmp_path, Workers(1), progress=False).folder) == uninterrupted


def test_what_a_killed_process_leaves_is_cleaned_up(plan, uninterrupted, tmp_path):
    run_plan(plan, tmp_path, Workers(1), progress=False)
    first = next(iter(uninterrupted.values()))
    for kept in ([], ["manifest.json"], sorted(uninterrupted)[:3]):
        for name in uninterrupted:
            (tmp_path / name).unlink()
        for name in kept:  # the manifest as it is before the end does not name the shards yet
            data = uninterrupted[name]
            (tmp_path / name).write_bytes(unfinished(data) if name == "manifest.json" else data)
        (tmp_path / ".shard-00003.1234.tmp.parquet").write_bytes(first[:100])
        (tmp_path / ".manifest.1234.tmp.json").write_bytes(b"{")
        assert contents(run_plan(plan, tmp_path, Workers(1), progress=False).folder) == uninterrupted


def unfinished(manifest: bytes) -> bytes:
    content = json.loads(manifest)
    return Manifest(Plan.from_dict(content["plan"]), content["packages"]).to_text().encode()


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("truth", ["dantzig", "nsgs", "coulomb-box", "coulomb-round"])
def test_instances_obey_mechanics(plan, name, truth, request):
    """after = v1 + M^-1 p, v1 and kind as Algorithm 1 sees them, modes as the core names them."""
    body = request.getfixturevalue(name)
    plan = replace(plan, body=body, truth=truth_or_skip(truth), throws=6, shard_throws=6, steps=250)
    rows = shard_rows(plan, 0)
    motion = to_motion(body, State(rows["position"], rows["quaternion"]))
    motion.twist[:] = rows["twist"]
    contacts = contacts_at(body, motion, SETTING)
    record = contacts.record
    assert len(motion.twist) == len(record) > 300
    assert np.array_equal(record.kind, rows["kind"])
    assert np.abs(record.velocity - rows["v1"]).max() < 1e-12
    after = rows["v1"] + np.einsum("nij,nj->ni", contacts.inverse_inertia, rows["impulse"])
    assert np.abs(after - rows["after"]).max() < 1e-11
    impulse, modes = contacts.observe(rows["after"])
    assert np.abs(impulse - rows["impulse"]).max() < 1e-11
    assert np.array_equal(modes, rows["mode"])
    assert {Mode.STATIC, Mode.DYNAMIC, Mode.DETACH} == set(modes)


@pytest.mark.parametrize("truth", ["dantzig", "coulomb-box"])
def test_requeried_states_are_contacts_with_other_velocities(plan, lopsided, truth):
    plan = replace(plan, body=lopsided, truth=truth_or_skip(truth), throws=4, shard_throws=4, keep_static_surface=1.0)
    rows = shard_rows(plan, 0)
    again = rows["step"] == REQUERIED
    assert again.sum() == 40 and (np.diff(rows["throw"]) >= 0).all()
    for throw in range(4):
        here, those = (rows["throw"] == throw) & ~again, (rows["throw"] == throw) & again
        gap = rows["position"][those][:, np.newaxis] - rows["position"][here]
        source = np.abs(gap).max(axis=2).argmin(axis=1)
        assert np.abs(gap[np.arange(10), source]).max() < 1e-12
        change = rows["twist"][those] - rows["twist"][here][source]
        assert (1e-4 < np.linalg.norm(change[:, :3], axis=1)).all() and np.abs(change[:, 3:]).max() < 20
    asked = plan.truth.throw(lopsided, states_of(lopsided, rows, again), 1)
    assert np.abs(asked.angular_velocity[:, 1] - rows["after"][again][:, 3:]).max() < 1e-9
    assert replace_rows(plan, requeries=0)["step"].min() >= 0


def replace_rows(plan, **changes):
    return shard_rows(replace(plan, **changes), 0)


@pytest.mark.parametrize("solver", ["dantzig", "nsgs"])
@pytest.mark.parametrize("name", ["box", "rectangle", "stone"])
def test_one_dart_world_answers_as_a_fresh_one(plan, name, solver, request):
    """Bit for bit, whatever it was asked before."""
    body, truth = request.getfixturevalue(name), truth_or_skip(solver)
    rows = shard_rows(replace(plan, body=body, truth=truth, throws=3, shard_throws=3, requeries=0), 0)
    chosen = np.random.default_rng(0).choice(len(rows["kind"]), 60)
    states = states_of(body, rows, chosen)
    together = truth.throw(body, states[:], 1)  # cut as below: a State scales its quaternions, by the last bit
    for k in range(60):
        alone = truth.throw(body, states[k : k + 1], 1)
        assert np.array_equal(alone.velocity[0], together.velocity[k])
        assert np.array_equal(alone.impulse[0], together.impulse[k])


def test_static_surface_contacts_are_thinned(plan, box):
    everything, some, none = (
        replace_rows(plan, throws=8, shard_throws=8, steps=600, requeries=0, keep_static_surface=share)
        for share in (1.0, 0.2, 0.0)
    )
    at_rest = is_at_rest(box, everything)
    assert at_rest.sum() > 1000
    assert 0.15 < is_at_rest(box, some).sum() / at_rest.sum() < 0.25
    assert not is_at_rest(box, none).any()
    for column in everything:
        assert np.array_equal(none[column], everything[column][~at_rest])


def test_rare_contacts_are_asked_as_often_as_common_ones():
    kind, mode = np.array([3] * 900 + [1] * 90 + [2] * 10), np.array([1] * 900 + [2] * 90 + [3] * 10)
    picks = balanced_choice(kind, mode, 3000, np.random.default_rng(0))
    assert np.bincount(kind[picks])[1:] == pytest.approx([1000, 1000, 1000], abs=120)


def test_throws_that_touch_nothing_make_an_empty_data_set(plan, tmp_path):
    high = replace(plan, steps=3, ranges=ThrowRanges(height=(1, 1)), throws=2)
    data = run_plan(high, tmp_path, Workers(1), progress=False)
    assert len(data) == 0 and data.read(["v1"])["v1"].shape == (0, 6)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (dict(seed=4), "holds a data set with seed 3, not 4: repeat its command or give a new folder."),
        (dict(throws=10), "throws 9, not 10"),
        (dict(body=Body.box((0.2, 0.3, 0.4), 2.0)), "body.mass 1.0, not 2.0"),
        (dict(truth=GroundTruth("coulomb-round", (0.6,))), 'truth.name "coulomb-box", not "coulomb-round"'),
        (dict(ranges=ThrowRanges()), "ranges.height .0.01, 0.1., not .0.01, 1.0."),
    ],
)
def test_another_plan_is_refused_in_the_same_folder(plan, tmp_path, changes, sentence):
    write_manifest(tmp_path, Manifest(plan, plan.packages()))
    with pytest.raises(InputError, match=sentence):
        run_plan(replace(plan, **changes), tmp_path, Workers(1), progress=False)


def test_other_versions_and_other_folders_are_refused(plan, tmp_path):
    write_manifest(tmp_path, Manifest(plan, {**plan.packages(), "numpy": "1.0"}))
    with pytest.raises(InputError, match=r'holds a data set with package\.numpy "1\.0", not'):
        run_plan(plan, tmp_path, Workers(1), progress=False)
    (tmp_path / "manifest.json").rename(tmp_path / "diary.txt")
    with pytest.raises(InputError, match="is not empty and holds no data set"):
        run_plan(plan, tmp_path, Workers(1), progress=False)


def test_damaged_shards_stop_a_continuation(plan, uninterrupted, tmp_path):
    write_bytes = {**uninterrupted, "manifest.json": unfinished(uninterrupted["manifest.json"])}
    for name, data in write_bytes.items():
        (tmp_path / name).write_bytes(data)
    shard_path(tmp_path, 2).write_bytes(uninterrupted["shard-00002.parquet"][:-100])
    with pytest.raises(InputError, match=r"shard-00002\.parquet is damaged.*; delete it, and it is made again"):
        run_plan(plan, tmp_path, Workers(1), progress=False)
    shard_path(tmp_path, 2).unlink()
    assert contents(run_plan(plan, tmp_path, Workers(1), progress=False).folder) == uninterrupted


def test_only_one_process_collects_into_a_folder(plan, tmp_path):
    with sole_writer_into(tmp_path), pytest.raises(InputError, match="Another process is writing to"):
        run_plan(plan, tmp_path, Workers(1), progress=False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(executor="slurm"), "executor must be one of 'local', 'ray', got 'slurm'"),
        (dict(number=0), "workers must be a whole number of at least 1"),
        (dict(address="1.2.3.4:5"), "An address is for the executor ray only"),
    ],
)
def test_impossible_executors_are_refused(plan, tmp_path, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        run_plan(plan, tmp_path / "new", Workers(**arguments), progress=False)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("cluster", "address must be HOST:PORT, ray://HOST:PORT or auto"),
        ("127.0.0.1:9", "Nothing answers at 127.0.0.1:9"),
    ],
)
def test_ray_addresses_that_do_not_answer_are_refused(plan, tmp_path, address, sentence):
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(InputError, match=sentence):
        run_plan(plan, tmp_path / "new", Workers(executor="ray", address=address), progress=False)


def test_options_mean_a_plan(tmp_path):
    plan = collection_plan(CollectOptions(body="link", out=tmp_path, spin=(-1, 1)))
    assert plan.truth == GroundTruth("dantzig", (0.6,)) and plan.body.size == (0.5, 0.1, 0.08)
    assert plan.ranges.spin == (-1, 1) and plan.ranges.horizontal == (-6, 6)
    two = collection_plan(CollectOptions(body="box", out=tmp_path, truth="coulomb-box", friction=(0.75, 1.5), mass=2.0))
    assert two.truth.friction == (0.75, 1.5) and two.body.mass == 2.0 and two.ranges == ThrowRanges()
    assert collection_plan(CollectOptions(body="box:1,1,1", out=tmp_path)).truth.friction == (0.5,)


def test_the_command_ends_with_a_table_and_a_warning(tmp_path, capsys):
    options = CollectOptions(body="rectangle", out=tmp_path, throws=3, steps=200, truth="coulomb-box", workers=1)
    collect_command(options)
    output = " ".join(capsys.readouterr().out.split())
    assert "static" in output and "surface" in output and f"of 3 throws in {tmp_path}" in output
    assert (
        "Fewer than 200 instances, too few to learn from: point static" in output and "surface detach (" not in output
    )


def test_summary_has_no_warning_where_there_is_enough(plan, uninterrupted, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("stiction.data.dataset.FEW", 0)
    for name, data in uninterrupted.items():
        (tmp_path / name).write_bytes(data)
    from stiction import DataSet

    print_summary(DataSet(tmp_path))
    assert "too few" not in capsys.readouterr().out
