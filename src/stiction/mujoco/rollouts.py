"""Many motions of one MuJoCo model with laws, in threads: the counterpart of `mujoco.rollout`."""

import inspect
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiction import _core
from stiction.basics import checks
from stiction.mujoco import mjcf
from stiction.mujoco.point_contacts import PointContacts
from stiction.mujoco.point_warnings import tell_of_unsolved
from stiction.mujoco.simulation import Simulation, mujoco

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
    state: NDArray[np.float64] | None = None,
    sensordata: NDArray[np.float64] | None = None,
    skip_checks: bool = False,
    chunk_size: int | None = None,
    persistent_pool: bool = False,
    **options: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """States (nbatch, nstep, nstate) and sensors (nbatch, nstep, nsensordata) of open-loop motions with laws.

    As `mujoco.rollout.rollout`: initial_state is ([nbatch or 1], nstate) of mjSTATE_FULLPHYSICS, control is
    ([nbatch or 1], [nstep or 1], ncontrol) of `control_spec`, data is one MjData or one for each thread. A motion that
    runs out of numbers keeps its last state. `laws` and `options` are those of `Simulation`. Which thread does what
    changes no bit. With materials the threads run without Python's lock; laws learned for bodies hold it at times.
    skip_checks, chunk_size and persistent_pool are taken as there, and have no meaning here: everything is checked, a
    thread takes one motion after the other, and the threads end with the call.
    """
    _check_options(options)
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
    state = _output("state", state, (count, steps, size))
    sensordata = _output("sensordata", sensordata, (count, steps, int(model.nsensordata)))
    if all(isinstance(worker.contact_part, PointContacts) for worker in workers):
        cores = [worker.contact_part.core for worker in workers]
        _core.run_motions(
            cores,
            initial,
            initial_warmstart,
            control,
            state,
            sensordata,
            state_kind=_PHYSICS,
            control_kind=control_spec,
        )
        counts = sum(core.unsolved for core in cores), sum(core.contact_steps for core in cores)
        tell_of_unsolved(*counts, "of these motions", stacklevel=2)
    else:
        _in_python(workers, initial, initial_warmstart, control, control_spec, state, sensordata)
    return state, sensordata


def _in_python(
    workers: Sequence[Simulation],
    initial: NDArray,
    warmstart: Any,
    control: Any,
    control_spec: int,
    state: NDArray,
    sensordata: NDArray,
) -> None:
    """The same for laws whose steps go through Python."""
    free: SimpleQueue[Simulation] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def run(k: int) -> None:
        sim = free.get()
        try:
            model, data = sim.model, sim.data
            mujoco.mj_resetData(model, data)
            mujoco.mj_setState(model, data, initial[k], _PHYSICS)
            sim.forget()  # another motion, by whichever thread
            if warmstart is not None:
                data.qacc_warmstart[:] = warmstart[k]
            last, seen = initial[k], np.zeros(model.nsensordata)
            for step in range(state.shape[1]):
                if control is not None:
                    mujoco.mj_setState(model, data, control[k, step], control_spec)
                try:
                    sim.step()
                except checks.InputError:  # out of numbers: it keeps the last that it had
                    state[k, step:], sensordata[k, step:] = last, seen
                    return
                mujoco.mj_getState(model, data, state[k, step], _PHYSICS)
                sensordata[k, step] = data.sensordata
                last, seen = state[k, step], sensordata[k, step]
        finally:
            free.put(sim)

    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(run, range(len(initial))))


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse what neither `mujoco.rollout.rollout` nor a simulation has."""
    known = [name for name in inspect.signature(Simulation).parameters if name not in ("model", "data", "laws")]
    for name in options:
        if name not in known:
            raise checks.InputError(
                f"rollout has no argument {name!r}: it has those of mujoco.rollout.rollout, laws, {', '.join(known)}."
            )


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


def _output(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    if given is None:
        return np.zeros(shape)
    if not (
        isinstance(given, np.ndarray)
        and given.shape == shape
        and given.dtype == np.float64
        and given.flags.c_contiguous
    ):
        raise checks.InputError(f"{name} must be a whole array of float64 of shape {shape}.")
    return given
