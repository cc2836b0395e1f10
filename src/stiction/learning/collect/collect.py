"""`stiction.collect`: throw a body in a ground truth, also one of your own, and keep its contacts."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.bodies.throws import Range, ThrowRanges
from stiction.laws.law import checked_gravity, checked_timestep
from stiction.learning.collect.carry_out import carry_out
from stiction.learning.collect.dataset import DataSet, without_trace
from stiction.learning.collect.plan import Plan
from stiction.learning.collect.truths import gravity_of, resolved, timestep_of, to_truth


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
