"""Data sets of contact instances: a folder with a manifest and shards, opened for reading."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.table import Table

from stiction.basics import checks, splits
from stiction.basics.files import digest, new_folder, path_of, read_bytes, write_whole
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.data import store
from stiction.data.collection_plan import Plan
from stiction.simulation.motion import Setting


class DataSet:
    """A complete data set, opened for reading; every shard is compared with its digest before it is parsed.

    plan: of the collection; instances: number of rows by kind (point, line, surface) and mode, shape (3, 3)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = path_of("A data set", folder)
        manifest = store.read_manifest(self.folder)
        if manifest.shards is None:
            there = len(list(self.folder.glob("shard-*.parquet")))
            raise checks.InputError(
                f"{folder} is not complete, it has {there} of {manifest.plan.shards} shards: repeat the command that "
                "collects it, and it goes on."
            )
        self.plan: Plan = manifest.plan
        self.packages = manifest.packages
        self.instances = manifest.instances
        self.fingerprint = digest(manifest.to_text().encode())  # of all its bytes, through the shards' digests
        self._shards: list[store.Shard] = manifest.shards

    def __len__(self) -> int:
        """Number of contact instances."""
        return int(self.instances.sum())

    def __repr__(self) -> str:
        contacts = f"{len(self):,} contacts from {self.plan.throws:,} throws of {self.body!r}"
        return f"DataSet({str(self.folder)!r}, {contacts})"

    @property
    def body(self) -> Body:
        """The body that was thrown."""
        return self.plan.body

    @property
    def setting(self) -> Setting:
        """Time step and gravity."""
        return Setting(self.plan.timestep, np.array(self.plan.gravity))

    def save(self, out: str | Path) -> "DataSet":
        """Copy the data set to the folder `out`, which must be new or empty, and open it there."""
        out = new_folder(path_of("out", out))
        for number in range(len(self._shards)):
            write_whole(store.shard_path(out, number), self._bytes(number))
        store.write_manifest(out, store.Manifest(self.plan, self.packages, self._shards))
        return DataSet(out)

    def split(self, held_out: float = 0.1, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the throws to train on and of those to hold out: whole throws, at least one on each side.

        held_out: share of the throws
        """
        share = checks.non_negative("held_out", held_out)
        throws = self.plan.throws
        if share >= 1 or throws < 2:
            raise checks.InputError(
                f"A split needs at least 2 throws and a held_out share below 1, got {throws} throws and {share:g}."
            )
        out = splits.held_out(np.arange(throws), share, checks.count("seed", seed, 0), n_kept=1)
        return np.flatnonzero(~out), np.flatnonzero(out)

    def stream(
        self,
        columns: Sequence[str] = tuple(store.COLUMNS),
        *,
        kinds: Collection[int] = (Kind.POINT, Kind.LINE, Kind.SURFACE),
        throws: ArrayLike | None = None,
    ) -> Iterator[store.Columns]:
        """Rows shard by shard, in order, as arrays (rows, ...) by column name; see `store.COLUMNS`.

        kinds: only instances of these patch kinds
        throws: only instances of the throws with these numbers
        """
        columns = store.checked_columns(columns)
        wanted = None if throws is None else self._marked(throws)
        for number in range(len(self._shards)):
            span = self.plan.shard(number)
            if wanted is not None and not wanted[span.start : span.stop].any():
                continue
            rows = self._read(number, [*columns, *(c for c in ("kind", "throw") if c not in columns)])
            keep = np.isin(rows["kind"], [int(kind) for kind in kinds])
            if wanted is not None:
                keep &= wanted[rows["throw"]]
            rows = rows if keep.all() else store.chosen(rows, keep)
            yield {column: rows[column] for column in columns}

    def read(
        self,
        columns: Sequence[str] = tuple(store.COLUMNS),
        *,
        kinds: Collection[int] = (Kind.POINT, Kind.LINE, Kind.SURFACE),
        throws: ArrayLike | None = None,
    ) -> store.Columns:
        """All rows at once, as `stream` gives them; needs little more memory than the result."""
        columns = store.checked_columns(columns)
        total = sum(len(rows["kind"]) for rows in self.stream(["kind"], kinds=kinds, throws=throws))
        result = {column: store.empty_column(column, total) for column in columns}
        end = 0
        for rows in self.stream(columns, kinds=kinds, throws=throws):
            start, end = end, end + len(rows[columns[0]])
            for column in columns:
                result[column][start:end] = rows[column]
        return result

    def _read(self, number: int, columns: Sequence[str]) -> store.Columns:
        name = str(store.shard_path(self.folder, number))
        rows = store.decode_shard(self.plan, number, self._bytes(number), columns, name)
        store.check_rows(self.plan, number, rows, name)  # anyone can recompute a digest
        return rows

    def _bytes(self, number: int) -> bytes:
        path = store.shard_path(self.folder, number)
        data = read_bytes(path)
        if digest(data) != self._shards[number].sha256:
            raise checks.InputError(f"{path} was altered after it was written, or is not whole.")
        return data

    def _marked(self, throws: ArrayLike) -> NDArray[np.bool_]:
        """Which throws are among `throws`, shape (throws of the plan,)."""
        numbers = np.asarray(throws)
        if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
            raise checks.InputError(f"throws must be a list of whole numbers, got {checks.shown(throws)}.")
        if numbers.size and (numbers.min() < 0 or numbers.max() >= self.plan.throws):
            raise checks.InputError(
                f"throws must lie between 0 and {self.plan.throws - 1}, got {checks.shown(throws)}."
            )
        marked = np.zeros(self.plan.throws, dtype=bool)
        marked[numbers.astype(np.intp)] = True
        return marked


def temporary_data_set(write: Callable[[Path], DataSet]) -> DataSet:
    """The data set that `write` makes in a temporary folder, which is removed together with the data set."""
    folder = Path(tempfile.mkdtemp(prefix="stiction-"))
    try:
        data = write(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(data, shutil.rmtree, folder, ignore_errors=True)
    return data


FEW = 200  # instances below which a class can hardly be learned


def print_summary(data: DataSet) -> None:
    """Print the number of instances by patch kind and mode, and a warning about classes with few instances."""
    kinds, modes = ([part.name.lower() for part in parts if part] for parts in (Kind, Mode))
    table = Table(title="contact instances", title_justify="left")
    for name in ("patch", *modes, "all"):
        table.add_column(name, justify="left" if name == "patch" else "right")
    totals = data.instances.sum(axis=0)
    for number, (kind, counts) in enumerate(zip((*kinds, "all"), (*data.instances, totals), strict=True), 1):
        table.add_row(kind, *(f"{count:,}" for count in counts), f"{counts.sum():,}", end_section=number == len(kinds))
    console = Console(highlight=False)
    console.print(table)
    few = [
        f"{kind} {mode} ({data.instances[row, column]})"
        for row, kind in enumerate(kinds[:-1] if data.body.planar else kinds)  # a planar body has no surface contacts
        for column, mode in enumerate(modes)
        if data.instances[row, column] < FEW
    ]
    if few:
        console.print(f"Fewer than {FEW} instances, too few to learn from: {', '.join(few)}. Throw more often.")
    console.print(f"{len(data):,} instances of {data.plan.throws:,} throws in {data.folder}")
