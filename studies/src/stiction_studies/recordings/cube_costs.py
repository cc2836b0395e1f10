"""Time of a forecast of the cube, and errors on the way from the identified law to the paper's networks."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.state import State
from stiction.commands.learning import collect
from stiction.commands.options import CollectOptions
from stiction.fit.forecast import horizon
from stiction.fit.toss_objective import Motions
from stiction.laws.impact import ImpactLaw
from stiction.laws.law import Law
from stiction.laws.modelfile import load
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout
from stiction_studies.engines.worlds import MUJOCO, installed
from stiction_studies.recordings.fitted_simulators import Peer
from stiction_studies.timing import least_time

BATCH, FRAMES = 1000, 100  # tosses of a batch, each as long as the median toss
_SUBSTEPS = 4  # steps of the networks in a frame


def costs(law: ImpactLaw, tosses: Tosses, states: State, mujoco: Mapping[str, float] | None) -> dict[str, Any]:
    """Return the time of one toss and of a batch [s], on one core; the least of some repeats, after a warm-up.

    states: starts of the tosses, shape (n,)
    mujoco: values of MuJoCo's fitted parameters, if it is installed
    """
    steps = horizon(tosses, (None,)).tolist()
    many = states[np.arange(BATCH) % len(steps)]
    one = [least_time(lambda i=i: rollout(law, states[i], steps[i])) for i in range(len(steps))]
    found: dict[str, Any] = {
        "one_toss_s": float(np.median(one)),
        "batch": BATCH,
        "frames": FRAMES,
        "batch_s": least_time(lambda: rollout(law, many, FRAMES)),
    }
    if mujoco is not None:
        peer = Peer(installed()[MUJOCO], law.body, law.gravity)
        contact = {p.name: mujoco[p.name] for p in peer.contact}
        found["mujoco_batch_s"] = least_time(
            lambda: peer.motions(contact, many, np.full(BATCH, FRAMES), tosses.timestep)
        )
    return found


# From the law to networks. The law is thrown as ground truth, the paper's classifiers and regressors are trained on its
# contacts, and Algorithm 1 with them forecasts the recorded tosses. The paper's contact has no restitution: networks
# trained on bounces would have too much friction, so the law is thrown without restitution. The law itself in the same
# whole steps shows how much of the loss comes from these.


def trained(folder: Path, law: ImpactLaw, throws: int, optimiser: int, seed: int) -> Path:
    """Return the model file of networks trained on contacts of the law without restitution.

    optimiser: steps of each network's training
    """
    from stiction.training.from_data import train_from
    from stiction.training.settings import TrainSettings

    out = folder / "cube-networks.safetensors"
    with TemporaryDirectory() as scratch:  # in the study's folder, contacts of an earlier run would stand in the way
        thrown, data = Path(scratch) / "law.safetensors", Path(scratch) / "contacts"
        law.with_material(restitution=0.0).save(thrown)
        timestep = law.timestep / _SUBSTEPS
        collect(CollectOptions(out=data, law=str(thrown), throws=throws, timestep=timestep, seed=seed))
        train_from(data, out, TrainSettings(steps=optimiser, seed=seed))
    return out


def stages(
    law: ImpactLaw, networks: Path, frames: NDArray[np.int64], timestep: float
) -> dict[str, Callable[[State], Motions]]:
    """Return the forecasts of the law itself in whole steps, the same without restitution, and of the networks."""
    plain = ImpactLaw(law.body, law.material, timestep=law.timestep, gravity=law.gravity)  # ground at z = 0
    models = {
        "the law, in whole steps": plain,
        "the same, without restitution": plain.with_material(restitution=0.0),
        "the paper's networks, trained on it": load(networks),
    }
    steps, h, up = _SUBSTEPS * int(max(frames)), timestep / _SUBSTEPS, np.array([0.0, 0.0, law.ground])

    def forecast(model: Law, states: State) -> Motions:
        lowered = State(states.position - up, states.quaternion, states.velocity, states.angular_velocity)
        run = rollout(model, lowered, steps, timestep=h, gravity=law.gravity, substeps=0)
        return list(zip(run.position[:, ::_SUBSTEPS] + up, run.quaternion[:, ::_SUBSTEPS]))

    return {name: partial(forecast, model) for name, model in models.items()}
