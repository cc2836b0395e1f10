"""What a person sees at the end of a collection: the table of instances, and which classes are thin."""

from rich.console import Console
from rich.table import Table

from stiction.bodies.state import Kind, Mode
from stiction.learning.collect.dataset import DataSet

FEW = 200  # instances below which a class can hardly be learned
_KINDS = [kind for kind in Kind if kind]
_MODES = [mode for mode in Mode if mode]


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
