"""Carry out a plan: throw, and write a data set shard by shard; the same call goes on where it was stopped."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from stiction.basics import checks
from stiction.basics.files import digest, path_of, read_bytes, remove_strays, write_whole
from stiction.basics.locks import sole_writer_into
from stiction.basics.progress import bar
from stiction.bodies.throws import ThrowRanges, draw_each, generator
from stiction.learning.collect import executors
from stiction.learning.collect.dataset import DataSet, checked_shard
from stiction.learning.collect.instances import (
    REQUERIED,
    Columns,
    balanced_choice,
    chosen,
    contact_instances,
    is_at_rest,
    jittered,
    joined,
    noise_in_plane,
)
from stiction.learning.collect.manifest import (
    NAME,
    Manifest,
    Shard,
    difference,
    read_manifest,
    write_manifest,
)
from stiction.learning.collect.own_truth import OwnTruth
from stiction.learning.collect.plan import Plan
from stiction.learning.collect.shipping import unpacked
from stiction.learning.collect.store import count_instances, encode_shard, shard_path
from stiction.simulation.motion import Setting

ShardFile = tuple[bytes, list[list[int]]]  # the file, and its number of rows by kind and mode


def carry_out(
    plan: Plan,
    out: str | Path,
    *,
    workers: int | None = None,
    executor: str = "local",
    address: str | None = None,
    progress: bool = True,
) -> DataSet:
    """Collect the data set of `plan` in the folder `out`, or the rest of it, and open it.

    workers: processes, by default one a core; the bytes do not depend on their number
    executor: "local", or "ray", by default on this machine, else at `address`
    progress: show a progress bar at a terminal
    """
    out = path_of("out", out)
    executors.check(executor, workers, address)
    with sole_writer_into(out):
        remove_strays(out)
        if not _is_complete(plan, out):
            shards = _existing(plan, out)
            missing = [number for number in range(plan.shards) if number not in shards]
            _prepare(plan)
            write_manifest(out, Manifest(plan, plan.packages()))
            results = executors.run(
                _task(plan, executor, workers, len(missing)), missing, executor=executor, workers=workers,
                address=address,
            )  # fmt: skip
            before = sum(len(plan.shard(number)) for number in shards)
            with bar(
                "throws", plan.throws, done=before, shown=progress, kept=True, speed="steps/s", per=plan.steps
            ) as throws:
                for number, (data, instances) in results:
                    write_whole(shard_path(out, number), data)
                    shards[number] = Shard(digest(data), instances)
                    throws.advance(len(plan.shard(number)))
            ordered = [shards[number] for number in range(plan.shards)]
            write_manifest(out, Manifest(plan, plan.packages(), ordered))
    return DataSet(out)


def _task(plan: Plan, executor: str, workers: int | None, shards: int) -> Callable[[int], ShardFile]:
    """What makes a shard from its number, in this process or in others."""
    if executors.stays_here(executor, workers, shards):
        return partial(shard_file, plan)
    return partial(shard_file_elsewhere, json.dumps(plan.to_dict()), plan.truth.packed())


def shard_file(plan: Plan, number: int) -> ShardFile:
    """Shard `number` of a plan: a pure function, whoever computes it."""
    rows = shard_rows(plan, number)
    return encode_shard(plan, number, rows), count_instances(rows)


def shard_file_elsewhere(plan_text: str, truth: bytes | None, number: int) -> ShardFile:
    """The same in another process.

    plan_text: the plan's description as JSON, so that every process works on exactly the same numbers
    truth: of a ground truth that has no description, what throws
    """
    return shard_file(_plan(plan_text, truth), number)


def shard_rows(plan: Plan, number: int) -> Columns:
    """Throw the throws of shard `number` and return their contact instances, ordered by throw and step."""
    throws = plan.shard(number)
    setting = Setting(plan.timestep, np.array(plan.gravity))
    sources = [generator(plan.seed, throw) for throw in throws]
    in_plane = np.array([plan.in_plane > 0 and rng.random() < plan.in_plane for rng in sources])
    starts = draw_each(plan.body, plan.ranges, sources, in_plane)
    run = plan.truth.throw(plan.body, starts, plan.steps, timestep=plan.timestep, gravity=plan.gravity, finite=False)
    rows = contact_instances(plan.body, run, setting)
    keep, picks, noise = _sample(plan, rows, sources)
    asked = chosen(rows, picks)
    flat = in_plane[asked["throw"]]
    noise[flat] = noise_in_plane(noise[flat], asked["quaternion"][flat])
    again = requery(plan, asked, noise, setting)
    rows = joined([chosen(rows, keep), again])
    rows["throw"] += np.int32(throws.start)
    return rows


def requery(plan: Plan, rows: Columns, noise, setting: Setting) -> Columns:
    """Ask the ground truth about the states of `rows` with velocities jittered by `noise` (n, 6)."""
    states, row = jittered(plan.body, rows, noise, plan.jitter_share, plan.jitter_speed, setting)
    run = plan.truth.throw(plan.body, states, 1, timestep=plan.timestep, gravity=plan.gravity)
    again = contact_instances(plan.body, run, setting)
    again["throw"] = rows["throw"][row][again["throw"]]
    again["step"] = np.full_like(again["step"], REQUERIED)
    return again


def _sample(plan: Plan, rows: Columns, sources: list[np.random.Generator]):
    """Which rows to keep (mask), which to ask again (indices) and the noise to do it with, throw by throw."""
    at_rest = is_at_rest(plan.body, rows)
    keep = np.ones(len(at_rest), dtype=bool)
    picks, noise = [np.empty(0, dtype=np.intp)], [np.empty((0, 6))]
    ends = np.searchsorted(rows["throw"], np.arange(len(sources) + 1))
    for rng, begin, end in zip(sources, ends, ends[1:]):
        part = slice(begin, end)
        keep[part] = ~at_rest[part] | (rng.random(end - begin) < plan.keep_static_surface)
        if end > begin and plan.requeries:
            picks.append(begin + balanced_choice(rows["kind"][part], rows["mode"][part], plan.requeries, rng))
            noise.append(rng.standard_normal((plan.requeries, 6)))
    return keep, np.concatenate(picks), np.concatenate(noise)


@lru_cache(maxsize=1)
def _plan(text: str, truth: bytes | None) -> Plan:
    plan = Plan.from_dict(json.loads(text))
    if truth is not None and isinstance(plan.truth, OwnTruth):
        how = {"timestep": plan.timestep, "gravity": plan.gravity}
        plan = replace(plan, truth=plan.truth.with_thrower(unpacked(truth), plan.body, **how))
    return plan


def _prepare(plan: Plan) -> None:
    """A little of everything in this process: what is missing is said at once."""
    first = replace(plan, throws=1, shard_throws=1, requeries=1)
    shard_rows(replace(first, ranges=ThrowRanges((0, 0), (0, 0), (-1, -1), (0, 0)), steps=min(plan.steps, 20)), 0)


def _is_complete(plan: Plan, out: Path) -> bool:
    """Whether `out` holds the whole data set; a folder with anything but this data set or a part of it is refused."""
    if not (out / NAME).exists():
        if any(out.iterdir()):
            raise checks.InputError(f"{out} is not empty and holds no data set; give a new folder.")
        return False
    manifest = read_manifest(out)
    there = {**manifest.plan.to_dict(), "package": manifest.packages}
    differs = difference(there, {**plan.to_dict(), "package": plan.packages()})
    if differs and differs.startswith("truth.probe"):
        differs = "throws of a ground truth that answers differently"
    if differs:
        raise checks.InputError(f"{out} holds a data set with {differs}: repeat its own command or give a new folder.")
    return manifest.shards is not None


def _existing(plan: Plan, out: Path) -> dict[int, Shard]:
    """The shards that are there already, each looked at closely: they were written by another process."""
    found = {}
    for number in range(plan.shards):
        path = shard_path(out, number)
        if path.exists():
            try:
                found[number] = checked_shard(plan, number, read_bytes(path), str(path))
            except checks.InputError as error:
                raise checks.InputError(f"{str(error).rstrip('.')}; delete it, and it is made again.") from error
    return found
