"""Progress of long work on the error stream: bars with the time left, or a status line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

AddBar = Callable[[str, float], "Bar"]  # (what, total) -> a bar below the others
Report = Callable[..., None]  # (part of the work, done, total = 1)


class Bar:
    """One line: what is being done, and the share done."""

    def __init__(
        self, progress: Progress, what: str, total: float, done: int = 0, speed: str = "", per: float = 1
    ) -> None:
        self._progress = progress
        self._task = progress.add_task(what, total=total, completed=done, before=done, speed=speed, per=per)

    def advance(self, by: float = 1) -> None:
        """Count `by` more as done."""
        self._progress.advance(self._task, by)
        self._redraw()

    def reach(self, done: float, total: float | None = None) -> None:
        """Set how much is done and, if it has changed, the total."""
        self._progress.update(self._task, completed=done, total=total)
        self._redraw()

    def rename(self, what: str) -> None:
        """Change the description."""
        self._progress.update(self._task, description=what)
        self._redraw()

    def _redraw(self) -> None:
        if not self._progress.live.auto_refresh:
            self._progress.refresh()


@contextmanager
def bar(
    what: str, total: float, *, done: int = 0, shown: bool = True, kept: bool = False, speed: str = "", per: float = 1
) -> Iterator[Bar]:
    """A single bar.

    done: how much was done before
    kept: keep it on the screen at the end
    speed: unit of the speed that is shown, such as "steps/s"; per: how many of these one of the `total` counts for
    """
    with _progress(shown, kept, True) as progress:
        yield Bar(progress, what, total, done, speed, per)


@contextmanager
def status(what: str) -> Iterator[None]:
    """A status line at a terminal during work of unknown length; it disappears at the end."""
    with Console(stderr=True).status(what):
        yield


@contextmanager
def bars(*, own_thread: bool = True) -> Iterator[AddBar]:
    """Bars below each other, as a function that adds one; they disappear at the end.

    own_thread: redraw them in a thread; otherwise they are redrawn as they advance, which does not disturb timings
    """
    with _progress(True, False, own_thread) as progress:
        yield lambda what, total: Bar(progress, what, total)


@contextmanager
def parts(shown: bool = True) -> Iterator[Report]:
    """A bar for each part of the work, as a function that reports its progress; they stay on the screen."""
    with _progress(shown, True, True) as progress:
        found: dict[str, Bar] = {}

        def report(part: str, done: float, total: float = 1.0) -> None:
            if part not in found:
                found[part] = Bar(progress, part, total)
            found[part].reach(done, total)

        yield report


def _progress(shown: bool, kept: bool, own_thread: bool) -> Progress:
    columns = TextColumn("{task.description:20}"), BarColumn(), TaskProgressColumn(), _Pace()
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not shown, transient=not kept, auto_refresh=own_thread)


class _Pace(ProgressColumn):
    """The speed since the start, if it has a unit, and the time left; at the end, the time taken.

    rich's own estimate uses only the last advances, which come in bursts from workers.
    """

    def render(self, task: Task) -> Text:
        seconds, made = task.finished_time or task.elapsed, task.completed - task.fields["before"]
        if not seconds or made <= 0:
            return Text("")
        pace = made / seconds
        if task.finished:
            time = f"{timedelta(seconds=round(seconds))}"
        else:
            time = f"{timedelta(seconds=round((task.remaining or 0) / pace))} left"
        unit = task.fields["speed"]
        return Text(f"{pace * task.fields['per']:,.0f} {unit}, {time}" if unit else time)
