"""`stiction.collect`: throw a body in a ground truth, also one of your own, and keep its contacts."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.basics.files import digest, path_of, read_bytes, remove_strays, sole_writer_into, write_whole
from stiction.basics.progress import bar
from stiction.bodies.body import Body
from stiction.bodies.throws import Range, ThrowRanges, draw_each, generator
from stiction.data import executors
from stiction.data.dataset import (
    NAME,
    DataSet,
    Manifest,
    Shard,
    checked_shard,
    difference,
    read_manifest,
    without_trace,
    write_manifest,
)
from stiction.data.instances import (
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
from stiction.data.known_truths import gravity_of, resolved, timestep_of, to_truth
from stiction.data.plan import Plan
from stiction.data.store import count_instances, encode_shard, shard_path
from stiction.data.user_truth import OwnTruth, unpacked
from stiction.laws.law import checked_gravity, checked_timestep
from stiction.simulation.motion import Setting

# Carry out a plan: throw, and write a data set shard by shard; the same call goes on where it was stopped.


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


def collect(
    body: Body,
    truth: Any = "dantzig",
    *,
    throws: int = 400,
    steps: int = 800,
    seed: int = 0,
    out: str | Path | None = None,
    friction: ArrayLike | None = None,
    timestep: float | None = None,
    gravity: ArrayLike | None = None,
    ranges: ThrowRanges | Mapping[str, Range] | None = None,
    requeries: int = 30,
    keep_static_surface: float = 0.2,
    in_plane: float = 0.0,
    shard_throws: int = 50,
    workers: int | None = None,
    executor: str = "local",
    address: str | None = None,
    progress: bool = True,
) -> DataSet:
    """Throw `body` many times in a ground truth and keep its contacts, to train a law on.

    truth: "dantzig" or "nsgs" (DART), "coulomb-box" or "coulomb-round"; a Law of this body; a material; an object with
        throw(body, state, steps, *, timestep, gravity), see docs/ground_truth.md; or where to import one, "module:name"
    out: folder for the data set; the same call goes on with a part of it. None: it is kept as long as the result lives.
    friction: coefficient of a named truth, 0.5 by default; the Coulomb laws also know two, (mu_x, mu_y)
    timestep: [s]; by default that of a Law, else 0.002
    gravity: [m/s^2], shape (3,); by default that of a Law, else 9.81 downwards
    ranges: of the throws: height [m], horizontal, vertical [m/s], spin [rad/s], each (lowest, highest)
    requeries: contact states of each throw that are asked again with jittered velocities; 0 for a truth with a memory
    keep_static_surface, in_plane, shard_throws: see Plan
    workers: processes, by default one a core; executor: "local", or "ray", at `address`. The bytes are always the same.

        data = stiction.collect(body, stiction.CoulombLaw(body, friction=0.7), throws=8)
        rows = data.read(("twist", "impulse", "mode"))  # arrays with one row a contact, by name
    """
    if not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    checks.flag("progress", progress)
    truth = resolved(truth)
    pull = tuple(checked_gravity(gravity_of(truth) if gravity is None else gravity).tolist())
    timestep = checked_timestep(timestep_of(truth) if timestep is None else timestep)
    what = to_truth(truth, body, friction=friction, timestep=timestep, gravity=pull)
    plan = Plan(
        body, what, throws, steps, seed, ThrowRanges.of(ranges), requeries, timestep=timestep, gravity=pull,
        keep_static_surface=keep_static_surface, in_plane=in_plane, shard_throws=shard_throws,
    )  # fmt: skip
    run = partial(carry_out, plan, workers=workers, executor=executor, address=address, progress=progress)
    return without_trace(run) if out is None else run(out)
