"""Progress of all long work, on the error stream: a bar with the share done and the time left, or a word."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

Begin = Callable[[str, float], "Bar"]  # (what, total) -> a bar below those that are there
Report = Callable[..., None]  # (part of the work, done, total, by default 1)


class Bar:
    """One line: what is being done, and how much of it is."""

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
        """Say how much is done by now, and, where it has changed, of how much."""
        self._progress.update(self._task, completed=done, total=total)
        self._redraw()

    def rename(self, what: str) -> None:
        """Say what is being done now."""
        self._progress.update(self._task, description=what)
        self._redraw()

    def _redraw(self) -> None:
        if not self._progress.live.auto_refresh:
            self._progress.refresh()


@contextmanager
def bar(
    what: str,
    total: float,
    *,
    done: int = 0,
    shown: bool = True,
    kept: bool = False,
    speed: str = "",
    per: float = 1,
) -> Iterator[Bar]:
    """A single bar.

    done: how much was done before
    kept: it stays there in the end
    speed: unit in which the speed is shown, such as "steps/s"; per: how many of them are one of the `total`
    """
    with _progress(shown, kept, True) as progress:
        yield Bar(progress, what, total, done, speed, per)


@contextmanager
def status(what: str) -> Iterator[None]:
    """A word at a terminal while something goes on whose length is not known; it is gone in the end."""
    with Console(stderr=True).status(what):
        yield


@contextmanager
def bars(*, own_thread: bool = True) -> Iterator[Begin]:
    """Bars one below the other, as a function that begins one; they are gone in the end.

    own_thread: a thread draws them anew now and then; without, they are drawn when they advance, which takes no time
        from what is being measured
    """
    with _progress(True, False, own_thread) as progress:
        yield lambda what, total: Bar(progress, what, total)


@contextmanager
def parts(shown: bool = True) -> Iterator[Report]:
    """A bar for each part of the work, as a function that is told how far a part is; they stay there in the end."""
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
    """The speed since the begin, where it has a unit, and the time left at that speed; in the end, the time taken.

    rich's own estimate looks at the last advances only, which workers make in bursts.
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
