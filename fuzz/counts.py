"""What came of the attempts of one kind, kept in a file so that a crash loses nothing."""

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

SLOWEST = 2.0  # seconds of processor time that an attempt may take
_LONGEST = 600  # characters of a refusal
_SHOWN = 20  # failures that are told in full


@dataclass
class Counts:
    """What came of the attempts so far.

    done: attempts that have ended, a number for the next one to go on from
    refused: with a sentence of ours; accepted: without complaint
    failures: what must not happen, in words, and how often it did
    violation: of physics, the greatest, relative to the motion at hand
    slowest: seconds of processor time of the slowest attempt
    memory: the most that the process has taken [bytes]
    label: what is being tried
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
        self._begin = _processor_time()

    @classmethod
    def at(cls, path: Path) -> "Counts":
        """The counts that are kept in this file, to go on with."""
        counts = cls.read(path) if path.exists() else cls()
        counts._file = os.open(path, os.O_RDWR | os.O_CREAT)
        counts._width = path.stat().st_size
        counts._keep()
        return counts

    @classmethod
    def read(cls, path: Path) -> "Counts":
        """The counts that are kept in this file, to look at."""
        return cls(**json.loads(path.read_bytes()))

    def trying(self, label: str) -> None:
        """Say what is about to be tried: if it crashes, this is all that is left. What follows has two seconds."""
        self._look_at_time()
        self.label = label[:300]
        self._keep()

    def violated(self, size: float, bound: float, what: str) -> None:
        """Take note of a breach of physics of this relative size; beyond the bound it is a failure."""
        self.violation = max(self.violation or 0.0, float(size))
        if not size <= bound:
            raise AssertionError(f"{what}: {size:.3g}")

    def fail(self, why: str) -> None:
        """Take note of a failure of what is being tried."""
        self.failed += 1
        if len(self.failures) < _SHOWN:
            self.failures.append(f"case {self.done}, {self.label or 'not told'}: {why}"[:1500])

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Count what the block does as one attempt."""
        self._begin = _processor_time()
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
        self._look_at_time()
        self.done += 1
        self.memory = max(self.memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        self._keep()

    def _look_at_time(self) -> None:
        """Take note of the time since the last look."""
        now = _processor_time()
        taken, self._begin = now - self._begin, now
        self.slowest = max(self.slowest, taken)
        if taken > SLOWEST:
            self.fail(f"took {taken:.1f} s")

    def _keep(self) -> None:
        if self._file is None:
            return
        text = json.dumps(asdict(self)).encode()
        self._width = max(self._width, len(text))
        os.pwrite(self._file, text.ljust(self._width), 0)  # over what was there before, with nothing of it left


def is_sentence(text: str) -> bool:
    """Whether a refusal is one that a person can read: short, on one line, ended."""
    return 0 < len(text) <= _LONGEST and "\n" not in text and text.rstrip().endswith((".", "!", "?"))


def _processor_time() -> float:
    """Of this process and its children that have ended [s]."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
