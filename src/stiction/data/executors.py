"""Parallel execution: in this process, in joblib's worker processes on this machine, or on a Ray cluster."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from stiction.basics import checks
from stiction.basics.environment import require
from stiction.simulation.rollout import processors

T = TypeVar("T")


@dataclass(frozen=True)
class Workers:
    """The processes that run tasks.

    number: tasks at the same time; None: one per core
    executor: "local", this process or others on this machine, or "ray"
    address: of a Ray cluster; None: Ray is started on this machine
    """

    number: int | None = None
    executor: str = "local"
    address: str | None = None

    def check(self) -> None:
        """Refuse impossible values, missing packages and addresses that do not answer."""
        checks.choice("executor", self.executor, ("local", "ray"))
        if self.number is not None:
            checks.count("workers", self.number, 1)
        if self.address is not None and self.executor != "ray":
            raise checks.InputError("An address is for the executor ray only.")
        if self.executor == "ray":
            require("The executor ray", "ray")
        if self.address is not None:
            _check_address(self.address)
        if self.executor == "local" and (self.number or processors()) > 1:
            require("More than one worker", "joblib")

    def run(self, task: Callable[[int], T], numbers: list[int]) -> Iterator[tuple[int, T]]:
        """Pairs of each number and task(number), in the order in which they finish; call `check` first.

        task: picklable, and a pure function of its number
        """
        if self.executor == "ray":
            return _with_ray(task, numbers, self)
        if self.run_here(len(numbers)):
            return ((number, task(number)) for number in numbers)
        return _with_joblib(task, numbers, min(self.number or processors(), len(numbers)))

    def run_here(self, n_tasks: int) -> bool:
        """Whether `run` does all tasks in this process."""
        return self.executor == "local" and min(self.number or processors(), n_tasks) <= 1


def _with_joblib(task: Callable[[int], T], numbers: list[int], workers: int) -> Iterator[tuple[int, T]]:
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Only one task is dispatched ahead: results wait in memory until they are fetched.
    pool: Any = joblib.Parallel(
        workers, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs + 1"  # type: ignore[arg-type]
    )  # fmt: skip
    try:
        yield from pool(joblib.delayed(_of_parent)(os.getpid(), task, number) for number in numbers)
    except TerminatedWorkerError as error:
        raise checks.InputError("A worker was killed, perhaps for lack of memory: repeat the command.") from error


def _of_parent(parent: int, task: Callable[[int], T], number: int) -> tuple[int, T]:
    _follow(parent)
    return _numbered(task, number)


@cache
def _follow(parent: int) -> None:
    """End this worker soon after its parent: if that is killed, joblib's workers would wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _with_ray(task: Callable[[int], T], numbers: list[int], workers: Workers) -> Iterator[tuple[int, T]]:
    import ray

    if not numbers:
        return
    started = not ray.is_initialized()
    if started:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address, cores = workers.address, None if workers.address else workers.number or processors()
        dashboard = None if address else False
        try:
            ray.init(
                address or "local",
                num_cpus=cores,
                include_dashboard=dashboard,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            where = f"at {address}" if address else "on this machine"
            raise checks.InputError(f"Ray cannot be reached {where}: {checks.first_line(error)}.") from error
    try:
        remote = ray.remote(_numbered)
        shared = ray.put(task)
        at_once = workers.number or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        waiting, running = list(reversed(numbers)), []
        while waiting or running:
            while waiting and len(running) <= at_once:  # one more than the workers, so that none is idle
                running.append(remote.remote(shared, waiting.pop()))
            ready, running = ray.wait(running)
            yield ray.get(ready[0])
    finally:
        if started:
            ray.shutdown()


def _check_address(address: str) -> None:
    """Refuse an address that does not answer; Ray itself would retry for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdecimal():
        raise checks.InputError(f"address must be HOST:PORT, ray://HOST:PORT or auto, got {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise checks.InputError(f"Nothing answers at {address}: {error}.") from error


def _numbered(task: Callable[[int], T], number: int) -> tuple[int, T]:
    return number, task(number)
