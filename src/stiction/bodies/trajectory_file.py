"""Trajectories in .npz files."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.basics.files import path_of, read_arrays, whole_file
from stiction.bodies.state import Kind, Mode, Trajectory

_LAST = {"position": 3, "quaternion": 4, "velocity": 3, "angular_velocity": 3}  # arrays of states, and their last axis


def save(run: Trajectory, path: str | Path) -> None:
    """Write a trajectory, whole or not at all."""
    with whole_file(_checked(path)) as temporary:
        np.savez_compressed(temporary, time=run.time, **vars(run))


def load(path: str | Path) -> Trajectory:
    """The trajectory in a file."""
    path = _checked(path)
    if not path.is_file():
        raise checks.InputError(f"There is no trajectory {path}.")
    names = [field.name for field in fields(Trajectory)]
    file = read_arrays(path)
    if missing := [name for name in names if name not in file]:
        raise checks.InputError(f"{path} holds no trajectory: it has no {', '.join(missing)}.")
    parts: dict[str, Any] = {name: file[name] for name in names}
    timestep = checks.positive(f"The timestep in {path}", parts.pop("timestep"))
    shape = parts["mode"].shape
    batch, steps = shape[:-1], shape[-1] if shape else 0
    wanted = {name: (*batch, steps + 1, last) for name, last in _LAST.items()}
    wanted |= {"impulse": (*batch, steps, 6), "kind": shape}
    for name, expected in wanted.items():
        if parts[name].shape != expected or not shape:
            raise checks.InputError(f"In {path}, {name} has shape {parts[name].shape} beside mode with {shape}.")
    arrays: dict[str, Any] = {name: checks.numbers(f"In {path}, {name}", part) for name, part in parts.items()}
    for name, meaning in (("mode", Mode), ("kind", Kind)):
        if not np.isin(arrays[name], list(meaning)).all():
            raise checks.InputError(f"In {path}, {name} must be 0 to {max(meaning)} everywhere.")
        arrays[name] = arrays[name].astype(np.int8)
    return Trajectory(**arrays, timestep=timestep)


def _checked(path: str | Path) -> Path:
    path = path_of("A trajectory", path)
    if path.suffix != ".npz":
        raise checks.InputError(f"A trajectory is kept in an .npz file, got {path}.")
    return path
