"""A data set: a folder with a manifest, which says what was collected, and its shards."""

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.table import Table

from stiction.basics import checks, splits
from stiction.basics.files import digest, new_folder, path_of, read_bytes, write_whole
from stiction.bodies.body import Body
from stiction.bodies.state import Kind, Mode
from stiction.data.instances import Columns, chosen
from stiction.data.plan import Plan
from stiction.data.store import (
    COLUMNS,
    check_rows,
    checked_columns,
    count_instances,
    decode_shard,
    empty_column,
    encode_shard,
    shard_path,
)
from stiction.simulation.motion import Setting

# The manifest of a data set: what was to be collected, with what, and, once complete, what each shard holds.


NAME = "manifest.json"
FORMAT = "stiction data set"
VERSION = 1
_FIELDS = {"format", "version", "plan", "packages", "shards", "sha256"}


@dataclass(frozen=True)
class Shard:
    """What the manifest says of a shard.

    sha256: of the file
    instances: number of rows by kind (point, line, surface) and mode (static, dynamic, detach), 3 x 3
    """

    sha256: str
    instances: list[list[int]]


@dataclass(frozen=True, eq=False)
class Manifest:
    """plan: what is collected; packages: versions it is collected with; shards: None until all of them are there."""

    plan: Plan
    packages: dict[str, str]
    shards: list[Shard] | None = None

    @property
    def instances(self) -> NDArray[np.int64]:
        """Number of rows by kind (point, line, surface) and mode (static, dynamic, detach), shape (3, 3)."""
        cells = [shard.instances for shard in self.shards or []]
        return np.array(cells, dtype=np.int64).reshape(-1, 3, 3).sum(axis=0)

    def to_text(self) -> str:
        """The file: JSON, with a digest of itself. No times: the same command gives the same bytes."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "plan": self.plan.to_dict(),
            "packages": self.packages,
            "shards": None if self.shards is None else [vars(shard) for shard in self.shards],
        }
        return _dump({**content, "sha256": digest(_dump(content).encode())})


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest into its folder, whole."""
    write_whole(folder / NAME, manifest.to_text().encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a data set's folder; anything amiss is refused."""
    path = folder / NAME
    if not path.is_file():
        raise checks.InputError(f"{folder} is no data set: it has no {NAME}.")
    data = read_bytes(path)
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise checks.InputError(f"{path} is damaged: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise checks.InputError(f"{path} does not describe a stiction data set.")
    if content.get("version") != VERSION:
        found = content.get("version")
        raise checks.InputError(f"{path} has version {found!r:.20} of the format; this stiction reads {VERSION}.")
    manifest = Manifest(
        Plan.from_dict(content.get("plan")), _packages(path, content), _shards(path, content.get("shards"))
    )
    if set(content) != _FIELDS or manifest.to_text().encode() != data:
        raise checks.InputError(f"{path} was altered after it was written.")
    if manifest.shards is not None and len(manifest.shards) != manifest.plan.shards:
        raise checks.InputError(f"{path} lists {len(manifest.shards)} shards, but plans {manifest.plan.shards}.")
    return manifest


def difference(there: dict[str, Any], here: dict[str, Any], path: str = "") -> str | None:
    """The first place in which two plain descriptions differ, as "NAME OLD, not NEW"; None if they do not."""
    for name in [*here, *(name for name in there if name not in here)]:
        old, new = there.get(name), here.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            inner = difference(old, new, f"{path}{name}.")
            if inner is not None:
                return inner
        elif old != new:
            return f"{path}{name} {_short(old)}, not {_short(new)}"
    return None


def _packages(path: Path, content: dict[str, Any]) -> dict[str, str]:
    packages = content.get("packages")
    if not isinstance(packages, dict) or not all(isinstance(version, str) for version in packages.values()):
        raise checks.InputError(f"{path} is damaged: it does not list package versions.")
    return packages


def _shards(path: Path, entries: Any) -> list[Shard] | None:
    if entries is None:
        return None
    try:
        shards = [Shard(**entry) for entry in entries]
        cells = np.array([shard.instances for shard in shards], dtype=np.int64)
        if cells.shape != (len(shards), 3, 3) or (cells < 0).any():
            raise ValueError("instances must be counted by 3 kinds and 3 modes")
    except (TypeError, ValueError, OverflowError) as error:
        raise checks.InputError(f"{path} is damaged: its list of shards cannot be read ({error}).") from error
    return shards


def _dump(content: Any) -> str:
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


class DataSet:
    """A complete data set, opened for reading; every shard is compared with its digest before it is parsed.

    plan: what was collected; instances: number of rows by kind (point, line, surface) and mode, shape (3, 3)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = path_of("A data set", folder)
        manifest = read_manifest(self.folder)
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
        self._shards: list[Shard] = manifest.shards

    def __len__(self) -> int:
        """Number of contact instances."""
        return int(self.instances.sum())

    def __repr__(self) -> str:
        where = f"{str(self.folder)!r}, "
        return f"DataSet({where}{len(self):,} contacts from {self.plan.throws:,} throws of {self.body!r})"

    @property
    def body(self) -> Body:
        """The body that was thrown."""
        return self.plan.body

    @property
    def setting(self) -> Setting:
        """Time step and gravity, as stepping wants them."""
        return Setting(self.plan.timestep, np.array(self.plan.gravity))

    def save(self, out: str | Path) -> "DataSet":
        """Copy the data set to the folder `out`, which must be new or empty, and open it there."""
        out = new_folder(path_of("out", out))
        for number in range(len(self._shards)):
            write_whole(shard_path(out, number), self._bytes(number))
        write_manifest(out, Manifest(self.plan, self.packages, self._shards))
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
        columns: Sequence[str] = tuple(COLUMNS),
        *,
        kinds: Collection[int] = (Kind.POINT, Kind.LINE, Kind.SURFACE),
        throws: ArrayLike | None = None,
    ) -> Iterator[Columns]:
        """Rows shard by shard, in order, as arrays (rows, ...) by column name; see `store.COLUMNS`.

        kinds: only instances of these patch kinds
        throws: only instances of the throws with these numbers
        """
        columns = checked_columns(columns)
        wanted = None if throws is None else self._marked(throws)
        for number in range(len(self._shards)):
            span = self.plan.shard(number)
            if wanted is not None and not wanted[span.start : span.stop].any():
                continue
            rows = self._read(number, [*columns, *(c for c in ("kind", "throw") if c not in columns)])
            keep = np.isin(rows["kind"], [int(kind) for kind in kinds])
            if wanted is not None:
                keep &= wanted[rows["throw"]]
            kept = rows if keep.all() else chosen(rows, keep)
            yield {column: kept[column] for column in columns}

    def read(
        self,
        columns: Sequence[str] = tuple(COLUMNS),
        *,
        kinds: Collection[int] = (Kind.POINT, Kind.LINE, Kind.SURFACE),
        throws: ArrayLike | None = None,
    ) -> Columns:
        """All rows at once, as `stream` gives them; needs little more memory than the result."""
        columns = checked_columns(columns)
        total = sum(len(rows["kind"]) for rows in self.stream(["kind"], kinds=kinds, throws=throws))
        result = {column: empty_column(column, total) for column in columns}
        end = 0
        for rows in self.stream(columns, kinds=kinds, throws=throws):
            begin, end = end, end + len(rows[columns[0]])
            for column in columns:
                result[column][begin:end] = rows[column]
        return result

    def _read(self, number: int, columns: Sequence[str]) -> Columns:
        name = str(shard_path(self.folder, number))
        rows = decode_shard(self.plan, number, self._bytes(number), columns, name)
        check_rows(self.plan, number, rows, name)  # anyone can recompute a digest
        return rows

    def _bytes(self, number: int) -> bytes:
        path = shard_path(self.folder, number)
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


def without_trace(write: Callable[[Path], DataSet]) -> DataSet:
    """The data set that `write` makes in a temporary folder, which goes when the data set goes."""
    folder = Path(tempfile.mkdtemp(prefix="stiction-"))
    try:
        data = write(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(data, shutil.rmtree, folder, ignore_errors=True)
    return data


def checked_shard(plan: Plan, number: int, data: bytes, name: str) -> Shard:
    """What the manifest is to say of a shard's bytes; anything amiss in them is refused."""
    rows = decode_shard(plan, number, data, name=name)
    check_rows(plan, number, rows, name)
    if encode_shard(plan, number, rows) != data:
        raise checks.InputError(f"{name} was altered after it was written.")
    return Shard(digest(data), count_instances(rows))


# What a person sees at the end of a collection: the table of instances, and which classes are thin.


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
