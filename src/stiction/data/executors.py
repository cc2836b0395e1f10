"""Who does the work: this process, joblib's workers on this machine, or a Ray cluster."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from stiction.basics import checks
from stiction.basics.environment import require

EXECUTORS = ("local", "ray")
T = TypeVar("T")


def run(
    task: Callable[[int], T],
    numbers: list[int],
    *,
    executor: str = "local",
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[tuple[int, T]]:
    """`task(number)` for all numbers, each with its result as it becomes ready; call `check` first.

    task: can be pickled, and depends on nothing but its number
    executor: "local", this process or `workers` others, or "ray"
    workers: tasks at the same time; by default as many as there are cores
    address: of a Ray cluster; by default Ray is started here
    """
    if executor == "ray":
        return _with_ray(task, numbers, workers, address)
    if stays_here(executor, workers, len(numbers)):
        return ((number, task(number)) for number in numbers)
    return _with_joblib(task, numbers, min(workers or _cores(), len(numbers)))


def stays_here(executor: str, workers: int | None, tasks: int) -> bool:
    """Whether `run` does all `tasks` in this process."""
    return executor == "local" and min(workers or _cores(), tasks) <= 1


def check(executor: str, workers: int | None, address: str | None) -> None:
    """Refuse what `run` could not do."""
    checks.choice("executor", executor, EXECUTORS)
    if workers is not None:
        checks.count("workers", workers, 1)
    if address is not None and executor != "ray":
        raise checks.InputError("An address is for the executor ray only.")
    if executor == "ray":
        require("The executor ray", "ray")
    if address is not None:
        _probe(address)
    if executor == "local" and (workers or _cores()) > 1:
        require("More than one worker", "joblib")


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _with_joblib(task: Callable[[int], T], numbers: list[int], workers: int) -> Iterator[tuple[int, T]]:
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Few tasks ahead of the workers: results wait in memory until they are fetched.
    ahead: Any = {"batch_size": 1, "pre_dispatch": "n_jobs + 1"}
    pool: Any = joblib.Parallel(workers, return_as="generator_unordered", **ahead)
    try:
        yield from pool(joblib.delayed(_of_parent)(os.getpid(), task, number) for number in numbers)
    except TerminatedWorkerError as error:
        raise checks.InputError("A worker was killed, perhaps for lack of memory: repeat the command.") from error


def _of_parent(parent: int, task: Callable[[int], T], number: int) -> tuple[int, T]:
    _follow(parent)
    return _numbered(task, number)


@cache
def _follow(parent: int) -> None:
    """End this worker soon after its parent: of a killed one, joblib's workers would wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _with_ray(
    task: Callable[[int], T], numbers: list[int], workers: int | None, address: str | None
) -> Iterator[tuple[int, T]]:
    import ray

    if not numbers:
        return
    with _ray_session(ray, workers, address):
        remote = ray.remote(_numbered)
        shared = ray.put(task)
        at_once = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        waiting, running = list(reversed(numbers)), []
        while waiting or running:
            while waiting and len(running) <= at_once:  # one more than the workers, so that none stands idle
                running.append(remote.remote(shared, waiting.pop()))
            ready, running = ray.wait(running)
            yield ray.get(ready[0])


def _probe(address: str) -> None:
    """Refuse an address that does not answer; Ray itself would try again for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdecimal():
        raise checks.InputError(f"address must be HOST:PORT, ray://HOST:PORT or auto, got {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise checks.InputError(f"Nothing answers at {address}: {error}.") from error


@contextmanager
def _ray_session(ray, workers: int | None, address: str | None) -> Iterator[None]:
    """Ray, started here or joined at `address`, and left as it was found."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    cores = None if address else workers or _cores()
    try:
        ray.init(
            address or "local", num_cpus=cores, include_dashboard=None if address else False, logging_level="ERROR",
            log_to_driver=False,
        )  # fmt: skip
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        where = f"at {address}" if address else "on this machine"
        first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise checks.InputError(f"Ray cannot be reached {where}: {first}.") from error
    try:
        yield
    finally:
        ray.shutdown()


def _numbered(task: Callable[[int], T], number: int) -> tuple[int, T]:
    return number, task(number)
