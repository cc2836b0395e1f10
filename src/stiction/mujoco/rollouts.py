"""Many motions of one MuJoCo model with laws, in threads: the counterpart of `mujoco.rollout`."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.mujoco import mjcf
from stiction.mujoco.pairs import warn_of_unsolved
from stiction.mujoco.simulation import Simulation, SimulationOptions, mujoco

_PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)


def rollout(
    model: Any,
    data: Any,
    initial_state: ArrayLike,
    control: ArrayLike | None = None,
    *,
    laws: Mapping[Any, Any],
    control_spec: int = _CONTROL,
    nstep: int | None = None,
    initial_warmstart: ArrayLike | None = None,
    **options: Unpack[SimulationOptions],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """States (nbatch, nstep, nstate) and sensors (nbatch, nstep, nsensordata) of open-loop motions with laws.

    As `mujoco.rollout.rollout`: initial_state is ([nbatch or 1], nstate) of mjSTATE_FULLPHYSICS, control is
    ([nbatch or 1], [nstep or 1], ncontrol) of `control_spec`, data is one MjData or one for each thread. A motion that
    is not finite any more keeps its last state. laws and options, such as softness, are those of `Simulation`.
    Results do not depend on the number of threads, which run without Python's lock except for laws written in Python.
    """
    workers = [Simulation(model, one, laws=laws, **options) for one in _all_data(model, data)]
    model = workers[0].model
    size = mujoco.mj_stateSize(model, _PHYSICS)
    initial = _rows("initial_state", initial_state, (size,))
    count, steps = len(initial), nstep
    if control is not None:
        control = _rows("control", control, (None, mujoco.mj_stateSize(model, control_spec)))
        count, steps = max(count, len(control)), _steps(nstep, control.shape[1])
        control = _spread("control", control, (count, steps, control.shape[2]))
    if steps is None:
        raise checks.InputError("nstep must be given where there is no control.")
    steps = checks.count("nstep", steps, 0)
    if initial_warmstart is not None:
        warmstart = _rows("initial_warmstart", initial_warmstart, (model.nv,))
        initial_warmstart = _spread("initial_warmstart", warmstart, (count, model.nv))
    initial = _spread("initial_state", initial, (count, size))
    state, sensordata = np.zeros((count, steps, size)), np.zeros((count, steps, int(model.nsensordata)))
    cores = [worker.core for worker in workers]
    arrays = initial, initial_warmstart, control, state, sensordata
    _core.run_motions(cores, *arrays, state_kind=_PHYSICS, control_kind=control_spec)
    unsolved, contact_steps = sum(core.points_unsolved for core in cores), sum(core.contact_steps for core in cores)
    warn_of_unsolved(unsolved, contact_steps, "of these motions", stacklevel=2)
    return state, sensordata


def _all_data(model: Any, data: Any) -> list[Any]:
    if isinstance(model, Sequence):
        raise checks.InputError("model must be one MjModel, got a sequence: roll out each of them by itself.")
    mjcf.check_compiled(model)
    every = [data] if isinstance(data, mujoco.MjData) else list(data) if isinstance(data, Sequence) else []
    if not every:
        raise checks.InputError(f"data must be an MjData or a sequence of them, got {type(data).__name__}.")
    if len({id(one) for one in every}) < len(every):
        raise checks.InputError("Each thread needs an MjData of its own, got the same one twice.")
    for one in every:
        mjcf.check_data(model, one)
    return every


def _rows(name: str, values: ArrayLike, last: tuple[int | None, ...]) -> NDArray[np.float64]:
    """With an axis for the batch in front, even if it was left out."""
    array = checks.numbers(name, values)
    if array.ndim == len(last):
        array = array[np.newaxis]
    return checks.array(name, array, (None, *last))


def _spread(name: str, array: NDArray, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError as error:
        raise checks.InputError(f"{name} must have the shape {shape} or 1 in places, got {array.shape}.") from error


def _steps(given: int | None, in_control: int) -> int:
    if given is None or given == in_control:
        return in_control
    if in_control == 1:
        return checks.count("nstep", given, 0)
    raise checks.InputError(f"nstep is {given}, but control has {in_control} steps.")
