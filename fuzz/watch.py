"""Watches the process in which a kind is tried: a crash or a hang is a failure of one case, and the rest goes on."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzz.counts import Counts

HUNG = 20.0  # seconds of processor time without any progress; more than Counts.SLOWEST, which looks more closely
_PATIENCE = 10  # times as long it may take by the clock: the machine may be busy with other things
_MOST_DEATHS = 20  # after which a kind is given up


def watched(
    module: str, seed: int, cases: int, told: Callable[[int], None] = lambda done: None, *, hung: float = HUNG
) -> Counts:
    """Make `cases` attempts of the kind in a module.

    told(done): called every now and then with the number of cases that are done
    hung: seconds of processor time without progress after which the process is ended
    """
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        file, log = Path(folder, "counts"), Path(folder, "log")
        command = [sys.executable, "-X", "faulthandler", "-m", "fuzz.child", module, str(seed), str(cases), str(file)]
        os.mkdir(Path(folder, "work"))
        for _ in range(_MOST_DEATHS):
            death = _one_life(command, file, log, told, hung)
            counts = Counts.at(file)
            if death is None:
                return counts
            counts.fail(f"{death}; {log.read_text(errors='replace')[-400:]}")
            counts.done += 1
            counts.trying("")
            if counts.done == cases:
                return counts
        counts.label = "the rest"
        counts.fail(f"given up after {_MOST_DEATHS} crashes")
        return counts


def _one_life(command: list[str], file: Path, log: Path, told: Callable[[int], None], hung: float) -> str | None:
    """Run the process until it ends: how it died, or None if it did not."""
    # Files that a case makes lie in a folder that is thrown away.
    environment = {**os.environ, "TMPDIR": str(file.parent / "work")}
    with log.open("wb") as out, _ended(subprocess.Popen(command, stdout=out, stderr=out, env=environment)) as process:
        changed, spent, last = time.monotonic(), 0.0, -1.0
        while process.poll() is None:
            time.sleep(0.1)
            now = file.stat().st_mtime if file.exists() else 0.0
            if now != last:
                changed, spent, last = time.monotonic(), _processor_time(process.pid), now
                told(_done(file))
            waited = time.monotonic() - changed
            worked = _processor_time(process.pid) - spent if waited > hung else 0.0
            if worked > hung or waited > _PATIENCE * hung:
                return f"hung for {waited:.0f} s"
        code = process.returncode
    told(_done(file))
    return None if code == 0 else f"the process died with {code}"


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block, whatever happens in it."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _processor_time(process: int) -> float:
    """That a running process has taken so far [s], where the system tells."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:  # it has just ended, or this is no Linux
        return 0.0


def _done(file: Path) -> int:
    try:
        return Counts.read(file).done
    except (OSError, ValueError):  # not there yet, or just being written
        return 0
