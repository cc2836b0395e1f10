"""What a person sees of a collection: the progress bar and the table of instances at its end."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from stiction.data.dataset import DataSet
from stiction.data.plan import Plan
from stiction.state import Kind, Mode

FEW = 200  # instances below which a class can hardly be learned
_KINDS = [kind for kind in Kind if kind]
_MODES = [mode for mode in Mode if mode]


@contextmanager
def show_progress(plan: Plan, done: Collection[int], shown: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar over throws, on the error stream; yields the function that counts a finished shard."""
    before = sum(len(plan.shard(number)) for number in done)
    columns = TextColumn("throws"), BarColumn(), MofNCompleteColumn(), _Rate(plan.steps, before)
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("", total=plan.throws, completed=before)
        yield lambda number: bar.advance(task, len(plan.shard(number)))


class _Rate(ProgressColumn):
    """Time steps a second since the begin, and the time left at that rate.

    rich's own estimate looks at the last shards only, which workers finish in bursts.
    """

    def __init__(self, steps: int, before: int) -> None:
        super().__init__()
        self.steps, self.before = steps, before

    def render(self, task) -> Text:
        seconds = task.finished_time or task.elapsed
        if not seconds or task.completed == self.before:
            return Text("")
        rate = (task.completed - self.before) / seconds
        left = timedelta(seconds=round((task.remaining or 0) / rate))
        return Text(f"{rate * self.steps:,.0f} steps/s, {left} left")


def instance_table(data: DataSet) -> Table:
    """Number of instances by patch kind and mode."""
    table = Table(title="contact instances", title_justify="left")
    for name in ("patch", *(mode.name.lower() for mode in _MODES), "all"):
        table.add_column(name, justify="left" if name == "patch" else "right")
    for kind, counts in zip(_KINDS, data.instances):
        table.add_row(kind.name.lower(), *(f"{count:,}" for count in counts), f"{counts.sum():,}")
    totals = data.instances.sum(axis=0)
    table.add_section()
    table.add_row("all", *(f"{count:,}" for count in totals), f"{len(data):,}")
    return table


def thin_classes(data: DataSet) -> list[str]:
    """Classes with too few instances to learn from, with their numbers."""
    kinds = _KINDS[:-1] if data.body.planar else _KINDS  # a planar body never lies on a surface
    return [
        f"{kind.name.lower()} {mode.name.lower()} ({int(data.instances[row, column])})"
        for (row, kind) in enumerate(kinds)
        for (column, mode) in enumerate(_MODES)
        if data.instances[row, column] < FEW
    ]


def print_summary(data: DataSet) -> None:
    """The table, and a warning where a class is thin."""
    console = Console(highlight=False)
    console.print(instance_table(data))
    thin = thin_classes(data)
    if thin:
        console.print(f"Fewer than {FEW} instances, too few to learn from: {', '.join(thin)}. Throw more often.")
    console.print(f"{len(data):,} instances of {data.plan.throws:,} throws in {data.folder}")
