"""The files of a data set: shards, which are Parquet tables of contact instances, and the manifest that lists them."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.basics.files import digest, read_bytes, write_whole
from stiction.bodies.state import Kind, Mode
from stiction.data.collection_plan import Plan

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise ImportError(needs("A data set", "pyarrow")) from error

Columns = dict[str, NDArray]  # rows of contact instances, by column name
REQUERIED = -1  # the step of an instance that belongs to no trajectory

# Name -> number type and names of the components; one row is one contact instance. Twists and the impulse are taken at
# the centre of mass in world axes, SI units; position and quaternion are those of the body frame.
COLUMNS: dict[str, tuple[type[np.generic], tuple[str, ...]]] = {
    "throw": (np.int32, ()),
    "step": (np.int16, ()),  # time step of the throw; REQUERIED (-1): a state of the throw with other velocities
    "position": (np.float64, ("x", "y", "z")),
    "quaternion": (np.float64, ("w", "x", "y", "z")),
    "twist": (np.float64, ("vx", "vy", "vz", "wx", "wy", "wz")),  # before the step
    "v1": (np.float64, ("vx", "vy", "vz", "wx", "wy", "wz")),  # after the applied forces, before contact
    "impulse": (np.float64, ("px", "py", "pz", "mx", "my", "mz")),
    "after": (np.float64, ("vx", "vy", "vz", "wx", "wy", "wz")),  # after the step
    "mode": (np.int8, ()),
    "kind": (np.int8, ()),
}
_PLAN, _NUMBER = b"stiction.plan", b"stiction.shard"  # metadata of a shard


def checked_columns(columns: Sequence[str]) -> list[str]:
    """Names of columns, at least one."""
    names = [checks.choice("column", column, tuple(COLUMNS)) for column in columns]
    if not names:
        raise checks.InputError(f"Name at least one column of {', '.join(COLUMNS)}.")
    return names


def empty_column(column: str, rows: int) -> np.ndarray:
    """An empty array for `rows` rows of a column, shape (rows,) or (rows, components)."""
    number_type, parts = COLUMNS[column]
    return np.empty((rows, len(parts)) if parts else rows, dtype=number_type)


def flat_names(column: str) -> list[str]:
    """Names in the file of a column's components, such as position_x."""
    return [f"{column}_{part}" for part in COLUMNS[column][1]] or [column]


_SCHEMA = pa.schema(
    [
        pa.field(name, pa.from_numpy_dtype(number), nullable=False)
        for column, (number, _) in COLUMNS.items()
        for name in flat_names(column)
    ]
)
_WRITER: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": False,
    # Equal bytes of the numbers side by side: exponents compress well, most mantissas do not at all.
    "use_byte_stream_split": [field.name for field in _SCHEMA if pa.types.is_floating(field.type)],
    "write_statistics": False,
    "write_page_checksum": True,
}


def encode_shard(plan: Plan, number: int, rows: Columns) -> bytes:
    """The file of shard `number`: the same rows always give the same bytes."""
    arrays = []
    for column, (number_type, parts) in COLUMNS.items():
        values = np.asarray(rows[column], dtype=number_type).reshape(len(rows["throw"]), max(len(parts), 1))
        arrays += [pa.array(np.ascontiguousarray(part)) for part in values.T]
    table = pa.table(arrays, schema=_SCHEMA.with_metadata({_PLAN: plan.fingerprint, _NUMBER: str(number)}))
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=max(len(table), 1), **_WRITER)
    return buffer.getvalue()


def decode_shard(
    plan: Plan, number: int, data: bytes, columns: Sequence[str] = tuple(COLUMNS), name="shard"
) -> Columns:
    """Rows of a file's bytes: each column (rows,) or (rows, components); damaged files are refused."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, arrow_extensions_enabled=False)
        _check_origin(plan, number, file, name)
        if max(file.metadata.num_rows, 0) > len(data):  # no real shard: each row takes far more than a byte
            raise checks.InputError(f"{name} is damaged: its number of rows is impossible.")
        table = file.read([part for column in columns for part in flat_names(column)], use_threads=False)
        table.validate(full=True)
        return {column: _column(table, column) for column in columns}
    except checks.InputError:
        raise
    except Exception as error:  # the type depends on where the damage is
        raise checks.InputError(f"{name} is damaged, or no shard of a data set: {checks.first_line(error)}.") from error


def check_rows(plan: Plan, number: int, rows: Columns, name="shard") -> None:
    """Refuse rows, with all columns or some, that cannot be instances of shard `number`."""
    throws = plan.shard(number)
    limits = {
        "throw": (throws.start, throws.stop - 1),
        "step": (REQUERIED, plan.steps - 1),
        "mode": (Mode.STATIC, Mode.DETACH),
        "kind": (Kind.POINT, Kind.SURFACE),
    }
    for column, (least, most) in limits.items():
        values = rows.get(column, np.zeros(0))
        if len(values) and (values.min() < least or values.max() > most):
            raise checks.InputError(f"{name} is damaged: {column} must lie between {int(least)} and {int(most)}.")
    for column, values in rows.items():
        if not np.isfinite(values).all():
            raise checks.InputError(f"{name} is damaged: {column} must be finite.")
    with np.errstate(over="ignore"):  # an infinite length is not 1 either
        length = np.linalg.norm(rows.get("quaternion", np.eye(4)), axis=1)
    if not (np.abs(length - 1) < 1e-6).all():
        raise checks.InputError(f"{name} is damaged: quaternions must have length 1.")


def count_instances(rows: Columns) -> list[list[int]]:
    """Number of rows by kind (point, line, surface) and mode (static, dynamic, detach)."""
    cell = 3 * (rows["kind"].astype(np.intp) - Kind.POINT) + (rows["mode"] - Mode.STATIC)
    return np.bincount(cell, minlength=9).reshape(3, 3).tolist()


def chosen(rows: Columns, which) -> Columns:
    """Some of the rows, by index or by mask."""
    return {name: column[which] for name, column in rows.items()}


def shard_path(folder: Path, number: int) -> Path:
    """The file of shard `number`."""
    return folder / f"shard-{number:05d}.parquet"


def _check_origin(plan: Plan, number: int, file: pq.ParquetFile, name: str) -> None:
    metadata = file.schema_arrow.metadata or {}
    if not file.schema_arrow.equals(_SCHEMA) or _PLAN not in metadata:
        raise checks.InputError(f"{name} is no shard of a data set: it has other columns.")
    if metadata[_PLAN] != plan.fingerprint.encode() or metadata.get(_NUMBER) != str(number).encode():
        raise checks.InputError(f"{name} belongs to another data set, or to another place in this one.")


def _column(table: pa.Table, column: str) -> np.ndarray:
    values = empty_column(column, len(table))
    names = flat_names(column)
    for name, part in zip(names, values.reshape(len(table), len(names)).T):
        part[:] = table.column(name).to_numpy()
    return values


@dataclass(frozen=True)
class Shard:
    """The manifest's entry of a shard.

    sha256: of the file
    instances: number of rows by kind (point, line, surface) and mode (static, dynamic, detach), 3 x 3
    """

    sha256: str
    instances: list[list[int]]


def checked_shard(plan: Plan, number: int, data: bytes, name: str) -> Shard:
    """The manifest's entry of a shard with these bytes; damaged ones are refused."""
    rows = decode_shard(plan, number, data, name=name)
    check_rows(plan, number, rows, name)
    if encode_shard(plan, number, rows) != data:
        raise checks.InputError(f"{name} was altered after it was written.")
    return Shard(digest(data), count_instances(rows))


MANIFEST = "manifest.json"
FORMAT, VERSION = "stiction data set", 1


@dataclass(frozen=True, eq=False)
class Manifest:
    """plan: of the collection; packages: versions it is collected with; shards: None until all of them are there."""

    plan: Plan
    packages: dict[str, str]
    shards: list[Shard] | None = None

    @property
    def instances(self) -> NDArray[np.int64]:
        """Number of rows by kind (point, line, surface) and mode (static, dynamic, detach), shape (3, 3)."""
        cells = [shard.instances for shard in self.shards or []]
        return np.array(cells, dtype=np.int64).reshape(-1, 3, 3).sum(axis=0)

    def to_text(self) -> str:
        """The file: JSON, with a digest of itself. It has no times, so that the same command gives the same bytes."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "plan": self.plan.to_dict(),
            "packages": self.packages,
            "shards": None if self.shards is None else [vars(shard) for shard in self.shards],
        }
        return _dump({**content, "sha256": digest(_dump(content).encode())})


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into its folder, whole."""
    write_whole(folder / MANIFEST, manifest.to_text().encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest in a data set's folder; damaged ones are refused."""
    path = folder / MANIFEST
    if not path.is_file():
        raise checks.InputError(f"{folder} is no data set: it has no {MANIFEST}.")
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
    packages = content.get("packages")
    if not isinstance(packages, dict) or not all(isinstance(version, str) for version in packages.values()):
        raise checks.InputError(f"{path} is damaged: it does not list package versions.")
    manifest = Manifest(Plan.from_dict(content.get("plan")), packages, _shards(path, content.get("shards")))
    if manifest.to_text().encode() != data:
        raise checks.InputError(f"{path} was altered after it was written.")
    if manifest.shards is not None and len(manifest.shards) != manifest.plan.shards:
        raise checks.InputError(f"{path} lists {len(manifest.shards)} shards, but plans {manifest.plan.shards}.")
    return manifest


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
