"""From the identified law to the paper's networks, and what is lost on the way.

The law is thrown as ground truth, the paper's classifiers and regressors are trained on its contacts, and Algorithm 1
with them forecasts the recorded tosses. The paper's contact does not bounce: networks that learned from bounces would
rub too hard, so the law is thrown without restitution. In the same steps it tells how much of the loss is that.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stiction.bodies.state import State
from stiction.commands.learning import collect
from stiction.commands.options import CollectOptions
from stiction.fit.toss_objective import Motions
from stiction.laws.impact import ImpactLaw
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction.training.from_data import train_from
from stiction.training.settings import TrainSettings

NETWORKS = "cube-networks.safetensors"
PARTS = 4  # steps of the networks in a frame


def trained(folder: Path, law: ImpactLaw, throws: int, optimiser: int, seed: int) -> Path:
    """Collect contacts of the law without restitution and train networks on them; the model file.

    optimiser: steps of each network's training
    """
    out = folder / NETWORKS
    how = {"throws": throws, "timestep": law.timestep / PARTS, "seed": seed}
    with TemporaryDirectory() as scratch:  # in the study's folder, contacts of an earlier run would stand in the way
        thrown, data = Path(scratch) / "law.safetensors", Path(scratch) / "contacts"
        law.with_material(restitution=0.0).save(thrown)
        collect(CollectOptions(out=data, law=str(thrown), **how))
        train_from(data, out, TrainSettings(steps=optimiser, seed=seed))
    return out


def whole_step_motions(law: Any, states: State, frames, timestep: float, gravity, ground: float) -> Motions:
    """Motions of a law in whole steps, PARTS of them a frame, each for its own number of frames (n,)."""
    lowered = State(states.position - [0, 0, ground], states.quaternion, states.velocity, states.angular_velocity)
    run = rollout(law, lowered, PARTS * int(max(frames)), timestep=timestep / PARTS, gravity=gravity, substeps=0)
    position = run.position[:, ::PARTS] + [0, 0, ground]
    return [(position[i], run.quaternion[i, ::PARTS]) for i in range(len(frames))]


def stages(law: ImpactLaw, networks: Path, states: State, frames, timestep: float) -> dict[str, Motions]:
    """Motions of the law itself in whole steps, the same without restitution, and the networks trained on it."""
    plain = ImpactLaw(law.body, law.material, timestep=law.timestep, gravity=law.gravity)  # ground at z = 0
    models = {
        "the law, in whole steps": plain,
        "the same, without restitution": plain.with_material(restitution=0.0),
        "the paper's networks, trained on it": load(networks),
    }
    where = frames, timestep, law.gravity, law.ground
    return {name: whole_step_motions(model, states, *where) for name, model in models.items()}
