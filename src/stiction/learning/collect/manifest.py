"""The manifest of a data set: what was to be collected, with what, and, once complete, what each shard holds."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.basics.files import digest, read_bytes, write_whole
from stiction.learning.collect.plan import Plan

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
