"""Timing: on one core, contestants in turn, the least time of each piece of work over all repeats."""

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import psutil
from numpy.typing import NDArray

_pinned = [0, 0]  # [ns] that this thread has run, and waited to run, while it was kept on one core
Run = Callable[[], NDArray[np.float64]]  # does its work once; times of its pieces [s], always as many


@contextmanager
def pinned() -> Iterator[None]:
    """Keep this thread on one core, where the system supports it, until the block ends."""
    if not hasattr(os, "sched_setaffinity"):  # macOS, Windows
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_quietest(before)})
    start = _run_and_wait()
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        for k, (now, then) in enumerate(zip(_run_and_wait(), start)):
            _pinned[k] += now - then


def waited() -> float:
    """Return the share of the time on one core in which this thread has waited for other processes."""
    return _pinned[1] / sum(_pinned) if _pinned[1] else 0.0


def _run_and_wait() -> tuple[int, int]:
    """Return how long this thread has run and has waited for a core [ns]; zeros where the system does not report it."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            run, wait, *_ = file.read().split()
    except (OSError, ValueError):
        return 0, 0
    return int(run), int(wait)


def _quietest(cores: set[int]) -> int:
    """Return the core that has idled most during a short wait."""
    busy = psutil.cpu_percent(0.1, percpu=True)
    return min(sorted(cores), key=lambda core: busy[core] if core < len(busy) else 100.0)


@contextmanager
def quiet() -> Iterator[None]:
    """Switch the garbage collector off."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def timed_steps(step: Callable[[], object], steps: int) -> NDArray[np.float64]:
    """Return the time of each of `steps` calls [s], (steps,), without that of reading the clock."""
    now = time.perf_counter_ns
    marks = [0] * (steps + 1)
    marks[0] = now()
    for t in range(1, steps + 1):
        step()
        marks[t] = now()
    return 1e-9 * (np.diff(np.array(marks, dtype=np.float64)) - _reading())


def timed(work: Callable[[], object]) -> float:
    """Return the time of one call [s]."""
    start = time.perf_counter_ns()
    work()
    return 1e-9 * (time.perf_counter_ns() - start)


def least_time(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least time of `repeats` calls [s], after a warm-up."""
    return min(timed(work) for _ in range(repeats + 1))


def cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def times_in_threads(
    works: dict[str, Callable[[int], object]], repeats: int, progress: Callable[[int], Callable[[], object]]
) -> dict[str, dict[int, float]]:
    """Return the least time of each work [s] with one thread, which stays on one core, and with two if there are cores.

    works: by name, called with the number of threads
    progress: returns, for a number of turns, the function that counts one
    """

    def turn(work: Callable[[int], object], threads: int) -> NDArray[np.float64]:
        with pinned() if threads == 1 else nullcontext():
            return np.array([timed(lambda: work(threads))])

    numbers = [k for k in (1, 2) if k <= cores()]
    turns = {f"{name}, {k}": partial(turn, work, k) for name, work in works.items() for k in numbers}
    least = least_times(turns, repeats, progress(len(turns) * (repeats + 1)))
    return {name: {k: float(least[f"{name}, {k}"][0]) for k in numbers} for name in works}


def _reading(times: int = 100) -> float:
    """Return the time between two readings of the clock in an empty loop of `timed_steps` [ns]."""
    now = time.perf_counter_ns
    marks = [0] * (times + 1)
    marks[0] = now()
    for t in range(1, times + 1):
        marks[t] = now()
    return float(np.diff(marks).min())


def least_times(
    contestants: dict[str, Run], repeats: int, advance: Callable[[], object]
) -> dict[str, NDArray[np.float64]]:
    """Return the least time of each piece of work of each contestant [s]; in each repeat all have their turn.

    Other processes hardly disturb the same piece twice, so that the least times are those of a quiet machine; and a
    machine that slows down does so for all. The first round, untimed, is a warm-up.

    advance: called after each turn, `(repeats + 1) * len(contestants)` times
    """
    least: dict[str, NDArray[np.float64]] = {}
    with quiet():
        for repeat in range(repeats + 1):
            for name, run in contestants.items():
                found = run()
                if repeat == 1:
                    least[name] = found
                elif repeat > 1:
                    least[name] = np.minimum(least[name], found)
                advance()
    return least
