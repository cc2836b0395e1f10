"""Watches the process of a target: a crash or a hang is a failure of one case, and the others still run."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from fuzz.counts import Counts


def watched(
    module: str, seed: int, cases: int, report: Callable[[int], None] = lambda done: None, *, hung: float = 20.0
) -> Counts:
    """Run `cases` attempts of the target in a module.

    report(done): called regularly with the number of finished cases
    hung: seconds of processor time without progress after which the process is ended
    """
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        file, log = Path(folder, "counts"), Path(folder, "log")
        command = [sys.executable, "-X", "faulthandler", "-m", "fuzz.child", module, str(seed), str(cases), str(file)]
        os.mkdir(Path(folder, "work"))
        for _ in range(20):
            death = _run_process(command, file, log, report, hung)
            counts = Counts.at(file)
            if death is None:
                return counts
            counts.fail(f"{death}; {log.read_text(errors='replace')[-400:]}")
            counts.done += 1
            counts.trying("")
            if counts.done == cases:
                return counts
        counts.label = "the rest"
        counts.fail("given up after 20 crashes")
        return counts


def _run_process(command: list[str], file: Path, log: Path, report: Callable[[int], None], hung: float) -> str | None:
    """Run the process until it ends; returns how it died, or None."""
    # Files of a case are written to a temporary folder.
    environment = {**os.environ, "TMPDIR": str(file.parent / "work")}
    with log.open("wb") as out, _ended(subprocess.Popen(command, stdout=out, stderr=out, env=environment)) as process:
        changed, spent, last = time.monotonic(), 0.0, -1.0
        while process.poll() is None:
            time.sleep(0.1)
            now = file.stat().st_mtime if file.exists() else 0.0
            if now != last:
                changed, spent, last = time.monotonic(), _processor_time(process.pid), now
                report(_done(file))
            waited = time.monotonic() - changed
            worked = _processor_time(process.pid) - spent if waited > hung else 0.0
            if worked > hung or waited > 10 * hung:  # the machine may be busy
                return f"hung for {waited:.0f} s"
        code = process.returncode
    report(_done(file))
    return None if code == 0 else f"the process died with {code}"


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed at the end of the block."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _processor_time(process: int) -> float:
    """Processor time of a running process so far [s]."""
    try:
        times = psutil.Process(process).cpu_times()
        return times.user + times.system
    except psutil.Error:  # it has just ended
        return 0.0


def _done(file: Path) -> int:
    try:
        return Counts.read(file).done
    except (OSError, ValueError):  # missing, or being written
        return 0
