"""Results of one target, stored in a file so that a crash loses nothing."""

import json
import os
import resource
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stiction import InputError

MAX_SECONDS = 2.0  # of processor time of an attempt


@dataclass
class Counts:
    """Results so far.

    done: finished attempts
    refused: with an InputError; accepted: without an error
    failed, failures: number and descriptions of failures, of which the first 20 are kept
    violation: the greatest relative violation of physics
    slowest: seconds of processor time of the slowest attempt
    memory: peak memory of the process [bytes]
    label: description of the current attempt
    """

    done: int = 0
    refused: int = 0
    accepted: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    violation: float | None = None
    slowest: float = 0.0
    memory: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        self._file, self._width = None, 0
        self._start = _processor_time()

    @classmethod
    def at(cls, path: Path) -> "Counts":
        """The counts in this file, to be continued."""
        counts = cls.read(path) if path.exists() else cls()
        counts._file = os.open(path, os.O_RDWR | os.O_CREAT)
        counts._width = path.stat().st_size
        counts._store()
        return counts

    @classmethod
    def read(cls, path: Path) -> "Counts":
        """The counts in this file, to be read."""
        return cls(**json.loads(path.read_bytes()))

    def trying(self, label: str) -> None:
        """Describe the next attempt, in case it crashes, and start its two seconds."""
        self._check_time()
        self.label = label[:300]
        self._store()

    def violated(self, size: float, bound: float, what: str) -> None:
        """Record a violation of physics of this relative size; above the bound it is a failure."""
        self.violation = max(self.violation or 0.0, float(size))
        if not size <= bound:
            raise AssertionError(f"{what}: {size:.3g}")

    def fail(self, why: str) -> None:
        """Record a failure of the current attempt."""
        self.failed += 1
        if len(self.failures) < 20:
            self.failures.append(f"case {self.done}, {self.label or 'no description'}: {why}"[:1500])

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Count the block as one attempt."""
        self._start = _processor_time()
        self.trying("")
        try:
            yield
            self.accepted += 1
        except InputError as error:
            self.refused += 1
            if not is_sentence(str(error)):
                self.fail(f"not one sentence: {error!s:.800}")
        except AssertionError as error:
            self.fail(str(error))
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__)[-2:])
            self.fail(f"{type(error).__name__}: {error!s:.300}\n{where}")
        self._check_time()
        self.done += 1
        self.memory = max(self.memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        self._store()

    def _check_time(self) -> None:
        """Record the time since the last call."""
        now = _processor_time()
        taken, self._start = now - self._start, now
        self.slowest = max(self.slowest, taken)
        if taken > MAX_SECONDS:
            self.fail(f"took {taken:.1f} s")

    def _store(self) -> None:
        if self._file is None:
            return
        text = json.dumps(asdict(self)).encode()
        self._width = max(self._width, len(text))
        os.pwrite(self._file, text.ljust(self._width), 0)  # overwrites all earlier text


def is_sentence(text: str) -> bool:
    """Whether an error message is one short sentence on one line."""
    return 0 < len(text) <= 600 and "\n" not in text and text.rstrip().endswith((".", "!", "?"))


def _processor_time() -> float:
    """Processor time of this process and its finished children [s]."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
