"""Shards: Parquet files of contact instances, written whole, and read only when nothing in them is amiss."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stiction.basics import checks
from stiction.basics.environment import needs
from stiction.bodies.state import Kind, Mode
from stiction.data.instances import REQUERIED, Columns
from stiction.data.plan import Plan

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise ImportError(needs("A data set", "pyarrow")) from error

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
_PLAN, _NUMBER = b"stiction.plan", b"stiction.shard"  # what a shard says of itself


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


def _schema() -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, pa.from_numpy_dtype(number), nullable=False)
            for column, (number, _) in COLUMNS.items()
            for name in flat_names(column)
        ]
    )


_SCHEMA = _schema()
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
    """Rows of a file's bytes: each column (rows,) or (rows, components); anything amiss is refused."""
    columns = checked_columns(columns)
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
    # What arrow raises for a damaged file depends on where the damage is.
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        MemoryError,
        OverflowError,
    ) as error:
        raise checks.InputError(f"{name} is damaged, or no shard of a data set: {_first_line(error)}.") from error


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
    with np.errstate(over="ignore"):  # what overflows has not length 1
        length = np.linalg.norm(rows.get("quaternion", np.eye(4)), axis=1)
    if not (np.abs(length - 1) < 1e-6).all():
        raise checks.InputError(f"{name} is damaged: quaternions must have length 1.")


def count_instances(rows: Columns) -> list[list[int]]:
    """Number of rows by kind (point, line, surface) and mode (static, dynamic, detach)."""
    cell = 3 * (rows["kind"].astype(np.intp) - Kind.POINT) + (rows["mode"] - Mode.STATIC)
    return np.bincount(cell, minlength=9).reshape(3, 3).tolist()


def shard_path(folder: Path, number: int) -> Path:
    """Where shard `number` is kept."""
    return folder / f"shard-{number:05d}.parquet"


def _check_origin(plan: Plan, number: int, file: pq.ParquetFile, name: str) -> None:
    said = file.schema_arrow.metadata or {}
    if not file.schema_arrow.equals(_SCHEMA) or _PLAN not in said:
        raise checks.InputError(f"{name} is no shard of a data set: it has other columns.")
    if said[_PLAN] != plan.fingerprint.encode() or said.get(_NUMBER) != str(number).encode():
        raise checks.InputError(f"{name} belongs to another data set, or to another place in this one.")


def _column(table: pa.Table, column: str) -> np.ndarray:
    values = empty_column(column, len(table))
    names = flat_names(column)
    for name, part in zip(names, values.reshape(len(table), len(names)).T):
        part[:] = table.column(name).to_numpy()
    return values


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:200]
