"""Synthetic recordings for tests: tosses of a known body and law, with the noise of a good tracker."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from stiction import Body, State, rollout
from stiction.laws.impact import ImpactLaw, ImpactMaterial

RATE = 148.0
GRAVITY = (0.0, 0.0, -9.81)
BODY = Body.box((0.1, 0.1, 0.1), 0.37, com=(0.0, 0.001, 0.005), inertia=np.eye(3) * 9e-4, rounding=0.002)


def impact_law(body: Body, *, timestep=1 / RATE, substeps=4, gravity=GRAVITY, drag=0.0, **material: Any) -> ImpactLaw:
    """A law with restitution, in as many substeps as fits have."""
    return ImpactLaw(body, ImpactMaterial(**material), timestep=timestep, substeps=substeps, gravity=gravity, drag=drag)


LAW = impact_law(BODY, restitution=0.25, friction=0.22, friction_loaded=0.17, friction_load=8.0, friction_rise=0.05)


def starts(count: int, seed: int) -> State:
    """Throws by hand: from 10 to 25 cm, at 0.5 to 2 m/s, turning at up to 12 rad/s."""
    rng = np.random.default_rng(seed)
    position = np.column_stack([rng.normal(0, 0.1, (count, 2)), rng.uniform(0.16, 0.3, count)])
    velocity = np.column_stack([rng.normal(0, 0.8, (count, 2)), rng.normal(-0.3, 0.3, count)])
    turn = Rotation.random(count, rng).as_quat(scalar_first=True)
    return State(position, turn, velocity, rng.normal(0, 5, (count, 3)))


def record(count: int = 8, seed: int = 0, frames: int = 100, law: ImpactLaw = LAW) -> np.ndarray:
    """States (count, frames, 13): position, quaternion w x y z, velocity, angular velocity, all in world axes."""
    rng = np.random.default_rng(seed + 1000)
    run = rollout(law, starts(count, seed), frames - 1)
    position = run.position + rng.normal(0, 3e-5, run.position.shape)
    noise = Rotation.from_rotvec(rng.normal(0, 4e-4, (count * frames, 3)))
    turn = noise * Rotation.from_quat(run.quaternion.reshape(-1, 4), scalar_first=True)
    quaternion = turn.as_quat(scalar_first=True).reshape(count, frames, 4)
    return np.concatenate([position, quaternion, run.velocity, run.angular_velocity], axis=-1)


def write_npz(path: Path, states: np.ndarray, **fields) -> Path:
    """As the file of the cube tosses."""
    count, frames = states.shape[:2]
    offsets = np.arange(count + 1) * frames
    np.savez(path, states=states.reshape(-1, states.shape[-1]), offsets=offsets, **{"dt": 1 / RATE, **fields})
    return path


def write_csv(path: Path, states: np.ndarray, header: str = "toss,time,x,y,z,qw,qx,qy,qz", time=None) -> Path:
    """One row a frame."""
    count, frames = states.shape[:2]
    t = np.arange(frames) / RATE if time is None else time
    lines = [header]
    for i in range(count):
        for k in range(frames):
            lines.append(",".join([str(i), f"{t[k]:.6f}", *(f"{value:.9g}" for value in states[i, k, :7])]))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_mcap(path: Path, states: np.ndarray, topic: str = "/cube/pose") -> Path:
    """Poses of one toss (frames, 13) as JSON messages."""
    from mcap.writer import Writer

    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("foxglove.PoseInFrame", "jsonschema", b"{}")
        channel = writer.register_channel(topic, "json", schema)
        for k, row in enumerate(states.tolist()):
            pose = {"position": dict(zip("xyz", row[:3])), "orientation": dict(zip("wxyz", row[3:7]))}
            at = int(k / RATE * 1e9)
            writer.add_message(channel, at, json.dumps({"pose": pose}).encode(), at)
        writer.finish()
    return path
