"""`stiction.collect`: throw a body in a ground truth and store its contacts, shard by shard."""

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
from stiction.data import store
from stiction.data.collection_plan import Plan
from stiction.data.dataset import DataSet, temporary_data_set
from stiction.data.executors import Workers
from stiction.data.ground_truth import UserTruth, gravity_of, probe, resolved, to_truth
from stiction.data.instances import balanced_choice, contact_instances, is_at_rest, jittered, noise_in_plane
from stiction.data.user_truth import pickled, unpickled
from stiction.laws.law import Law, checked_gravity, checked_timestep
from stiction.simulation.motion import Setting

ShardFile = tuple[bytes, list[list[int]]]  # the file, and its number of rows by kind and mode


def run_plan(plan: Plan, out: str | Path, workers: Workers | None = None, *, progress: bool = True) -> DataSet:
    """Collect the data set of `plan` in the folder `out`, or the missing shards of it, and open it.

    workers: processes, by default one per core; the bytes do not depend on them
    progress: show a progress bar at a terminal
    """
    out, workers = path_of("out", out), workers or Workers()
    workers.check()
    with sole_writer_into(out):
        remove_strays(out)
        if not _is_complete(plan, out):
            shards = _existing(plan, out)
            missing = [number for number in range(plan.shards) if number not in shards]
            # One short throw in this process reports missing packages at once.
            low = ThrowRanges((0, 0), (0, 0), (-1, -1), (0, 0))
            short = replace(plan, throws=1, shard_throws=1, requeries=1, ranges=low, steps=min(plan.steps, 20))
            shard_rows(short, 0)
            store.write_manifest(out, store.Manifest(plan, plan.packages()))
            results = workers.run(_task(plan, workers, len(missing)), missing)
            before = sum(len(plan.shard(number)) for number in shards)
            with bar(
                "throws", plan.throws, done=before, shown=progress, kept=True, speed="steps/s", per=plan.steps
            ) as throws:
                for number, (data, instances) in results:
                    write_whole(store.shard_path(out, number), data)
                    shards[number] = store.Shard(digest(data), instances)
                    throws.advance(len(plan.shard(number)))
            ordered = [shards[number] for number in range(plan.shards)]
            store.write_manifest(out, store.Manifest(plan, plan.packages(), ordered))
    return DataSet(out)


def _task(plan: Plan, workers: Workers, shards: int) -> Callable[[int], ShardFile]:
    """A function from the number of a shard to its file, for this process or for worker processes."""
    if not isinstance(plan.truth, UserTruth) or workers.run_here(shards):
        return partial(shard_file, plan)
    return partial(_shard_file_in_worker, json.dumps(plan.to_dict()), pickled(plan.truth.thrower, plan.truth.label))


def shard_file(plan: Plan, number: int) -> ShardFile:
    """The file of shard `number`, a pure function of the plan."""
    rows = shard_rows(plan, number)
    return store.encode_shard(plan, number, rows), store.count_instances(rows)


def _shard_file_in_worker(plan_text: str, thrower: bytes, number: int) -> ShardFile:
    """The same with a pickled user-defined ground truth."""
    return shard_file(_plan_in_worker(plan_text, thrower), number)


@lru_cache(maxsize=1)
def _plan_in_worker(text: str, data: bytes) -> Plan:
    """The plan of a worker process, with a ground truth that was tested to throw as it does in the main process."""
    plan, thrower = Plan.from_dict(json.loads(text)), unpickled(data)
    assert isinstance(plan.truth, UserTruth)
    if probe(thrower, plan.body, timestep=plan.timestep, gravity=plan.gravity) != plan.truth.probe:
        raise checks.InputError(
            f"The ground truth {plan.truth.label} answers differently in another process: it must depend on nothing "
            "but itself, and workers on other machines need the same kind of processor; or give one worker."
        )
    return replace(plan, truth=replace(plan.truth, thrower=thrower))


def shard_rows(plan: Plan, number: int) -> store.Columns:
    """Contact instances of the throws of shard `number`, ordered by throw and step."""
    throws = plan.shard(number)
    setting = Setting(plan.timestep, np.array(plan.gravity))
    sources = [generator(plan.seed, throw) for throw in throws]
    in_plane = np.array([plan.in_plane > 0 and rng.random() < plan.in_plane for rng in sources])
    starts = draw_each(plan.body, plan.ranges, sources, in_plane)
    run = plan.truth.throw(plan.body, starts, plan.steps, timestep=plan.timestep, gravity=plan.gravity, finite=False)
    rows = contact_instances(plan.body, run, setting)
    keep, picks, noise = _sample(plan, rows, sources)
    picked = store.chosen(rows, picks)
    flat = in_plane[picked["throw"]]
    noise[flat] = noise_in_plane(noise[flat], picked["quaternion"][flat])
    parts = store.chosen(rows, keep), _requery(plan, picked, noise, setting)
    rows = {name: np.concatenate([part[name] for part in parts]) for name in rows}
    rows["throw"] += np.int32(throws.start)
    return store.chosen(rows, np.argsort(rows["throw"], kind="stable"))


def _requery(plan: Plan, rows: store.Columns, noise, setting: Setting) -> store.Columns:
    """Instances of one step from the states of `rows`, with velocities jittered by `noise` (n, 6)."""
    states, row = jittered(plan.body, rows, noise, plan.jitter_share, plan.jitter_speed, setting)
    run = plan.truth.throw(plan.body, states, 1, timestep=plan.timestep, gravity=plan.gravity)
    again = contact_instances(plan.body, run, setting)
    again["throw"] = rows["throw"][row][again["throw"]]
    again["step"] = np.full_like(again["step"], store.REQUERIED)
    return again


def _sample(plan: Plan, rows: store.Columns, sources: list[np.random.Generator]):
    """Which rows to store (mask), which to jitter (indices), and the noise for that, drawn throw by throw."""
    at_rest = is_at_rest(plan.body, rows)
    keep = np.ones(len(at_rest), dtype=bool)
    picks, noise = [np.empty(0, dtype=np.intp)], [np.empty((0, 6))]
    ends = np.searchsorted(rows["throw"], np.arange(len(sources) + 1))
    for rng, start, end in zip(sources, ends, ends[1:]):
        part = slice(start, end)
        keep[part] = ~at_rest[part] | (rng.random(end - start) < plan.keep_static_surface)
        if end > start and plan.requeries:
            picks.append(start + balanced_choice(rows["kind"][part], rows["mode"][part], plan.requeries, rng))
            noise.append(rng.standard_normal((plan.requeries, 6)))
    return keep, np.concatenate(picks), np.concatenate(noise)


def _is_complete(plan: Plan, out: Path) -> bool:
    """Whether `out` holds the whole data set; a folder with anything but this data set or a part of it is refused."""
    if not (out / store.MANIFEST).exists():
        if any(out.iterdir()):
            raise checks.InputError(f"{out} is not empty and holds no data set; give a new folder.")
        return False
    manifest = store.read_manifest(out)
    stored = {**manifest.plan.to_dict(), "package": manifest.packages}
    differs = _difference(stored, {**plan.to_dict(), "package": plan.packages()})
    if differs and differs.startswith("truth.probe"):
        differs = "throws of a ground truth that answers differently"
    if differs:
        raise checks.InputError(f"{out} holds a data set with {differs}: repeat its command or give a new folder.")
    return manifest.shards is not None


def _difference(stored: dict[str, Any], wanted: dict[str, Any], path: str = "") -> str | None:
    """The first difference of two plain descriptions, as "NAME OLD, not NEW"; None if they are equal."""
    for name in [*wanted, *(name for name in stored if name not in wanted)]:
        old, new = stored.get(name), wanted.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            inner = _difference(old, new, f"{path}{name}.")
            if inner is not None:
                return inner
        elif old != new:
            texts = (json.dumps(value) for value in (old, new))
            return f"{path}{name} {', not '.join(text if len(text) <= 60 else text[:57] + '...' for text in texts)}"
    return None


def _existing(plan: Plan, out: Path) -> dict[int, store.Shard]:
    """The shards that an earlier process has written, each validated."""
    found = {}
    for number in range(plan.shards):
        path = store.shard_path(out, number)
        if path.exists():
            try:
                found[number] = store.checked_shard(plan, number, read_bytes(path), str(path))
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
    """Throw `body` many times in a ground truth and store its contacts, to train a law on.

    truth: "dantzig" or "nsgs" (DART), "coulomb-box" or "coulomb-round"; a Law of this body; a material; an object with
        throw(body, state, steps, *, timestep, gravity), see docs/ground_truth.md; or where to import one, "module:name"
    out: folder for the data set; the same call continues a part of it. None: a temporary one, removed with the result.
    friction: coefficient of a named truth, 0.5 by default; the Coulomb laws also support two, (mu_x, mu_y)
    timestep: [s]; by default that of a Law, else 0.002
    gravity: [m/s^2], shape (3,); by default that of a Law, else 9.81 downwards
    ranges: of the throws: height [m], horizontal, vertical [m/s], spin [rad/s], each (lowest, highest)
    requeries: contact states of each throw that are thrown again with jittered velocities; 0 for a truth with memory
    keep_static_surface, in_plane, shard_throws: see Plan
    workers: processes, by default one per core; executor: "local", or "ray", at `address`; the bytes are the same

        data = stiction.collect(body, stiction.CoulombLaw(body, friction=0.7), throws=8)
        rows = data.read(("twist", "impulse", "mode"))  # arrays with one row per contact, by name
    """
    if not isinstance(body, Body):
        raise checks.InputError(f"body must be a stiction.Body, got {type(body).__name__}.")
    checks.flag("progress", progress)
    truth = resolved(truth)
    acceleration = tuple(checked_gravity(gravity_of(truth) if gravity is None else gravity).tolist())
    usual_timestep = truth.timestep if isinstance(truth, Law) else Plan.timestep
    timestep = checked_timestep(usual_timestep if timestep is None else timestep)
    plan = Plan(
        body, to_truth(truth, body, friction=friction, timestep=timestep, gravity=acceleration), throws, steps, seed,
        ThrowRanges.of(ranges), requeries, timestep=timestep, gravity=acceleration,
        keep_static_surface=keep_static_surface, in_plane=in_plane, shard_throws=shard_throws,
    )  # fmt: skip
    run = partial(run_plan, plan, workers=Workers(workers, executor, address), progress=progress)
    return temporary_data_set(run) if out is None else run(out)
