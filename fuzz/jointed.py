"""Damaged recordings of parts with joints, and damaged MJCF files of such parts."""

import functools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from fuzz import tables
from fuzz.counts import Counts
from fuzz.damage import damaged
from stiction.fit.jointed_flight import prepare
from stiction.fit.jointed_part import JointedPart
from stiction.fit.jointed_recording import read_jointed
from stiction.fit.jointed_starts import SUBSTEPS, frames_of, roll_plainly

_ELBOW = Path(__file__).parents[1] / "examples" / "elbow.xml"
_DT, _TOSSES, _FRAMES = 1 / 150, 5, 60
_NAMES = ("qw", "qx", "qy", "qz", "x", "y", "z", "hinge")
# Texts in the file, and their replacements.
_EDITS: tuple[tuple[str, str], ...] = (
    ('<freejoint name="base"/>', ""), ('<freejoint name="base"/>', '<joint name="base" type="ball"/>'),
    ('<freejoint name="base"/>', '<freejoint name="base"/><freejoint name="other"/>'),
    ('type="plane" size="5 5 0.1"', 'type="sphere" size="0.1"'), ('type="plane"', 'type="nonsense"'),
    ('type="hinge"', 'type="ball"'), ('type="hinge"', 'type="slide"'), ('type="hinge"', 'type="free"'),
    ('name="hinge"', ""), ('name="hinge"', 'name="time"'), ('name="hinge"', f'name="{"a" * 5000}"'),
    ('name="link2" pos="-0.035 0.06 0"', ""), ('axis="0 1 0"', 'axis="0 0 0"'), ('axis="0 1 0"', 'axis="nan 1 0"'),
    ('type="box"', 'type="cylinder"'), ('type="box"', 'type="mesh" mesh="nothing"'), ('type="box"', 'contype="0"'),
    ("0.05 0.025 0.025", "1e300 1e300 1e300"), ("0.05 0.025 0.025", "1e-300 1 1"), ("0.05 0.025 0.025", "0.05"),
    ("0.05 0.025 0.025", "-1 1 1"), ('mass="0.37"', 'mass="0"'), ('mass="0.37"', 'mass="1e300"'),
    ('mass="0.37"', 'mass="nan"'), ('mass="0.37"', ""), ('model="elbow"', ""), ("<mujoco", "<robot"),
    ("<worldbody>", '<include file="/etc/passwd"/><worldbody>'), ("<worldbody>", '<include file="a.xml"/><worldbody>'),
    ("<worldbody>", '<option timestep="1e300" gravity="nan 0 0"/><worldbody>'), ("</mujoco>", ""),
    ("<worldbody>", '<asset><mesh name="m" file="/dev/zero"/></asset><worldbody>'),
    ("<contact>", '<contact><exclude body1="link1" body2="nobody"/>'), ("<contact>", "<keyframe><key/></keyframe>"),
    ("</worldbody>", '<body name="x"><freejoint/><geom size="0.1"/></body></worldbody>'),
    ("</worldbody>", '<body>' * 300 + '<geom size="0.1"/>' + "</body>" * 300 + "</worldbody>"),
    ("</worldbody>", '<geom size="0.1" pos="9 9 9"/>' * 3000 + "</worldbody>"),
)  # fmt: skip


def case(rng: np.random.Generator, counts: Counts) -> None:
    """Read a part and a recording of it, one of them damaged, and prepare a fit."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # an unchecked overflow
        folder = Path(name)
        part, recording = _part(), "npz"
        if rng.uniform() < 0.4:
            text, change = _changed_part(rng)
            (folder / "a.xml").write_bytes(text)
            counts.trying(f"part: {change}")
            part = JointedPart.read(folder / "a.xml")
            data = _FILES[recording](np.random.default_rng(0), _whole())[0]
        else:
            recording = str(rng.choice(list(_FILES)))
            data, change = _FILES[recording](rng, _whole())
            if rng.uniform() < 0.3:
                data, what = damaged(rng, data)
                change += f", {what}"
        (folder / f"a.{recording}").write_bytes(data)
        counts.trying(f"{recording}: {change}")
        tosses = read_jointed(folder / f"a.{recording}", part)
        counts.trying(f"{recording}, prepared: {change}")
        ready = prepare(tosses, part)
        if not all(np.isfinite(toss.qpos).all() for toss in (*ready.fitted.tosses, *ready.held_out.tosses)):
            raise AssertionError("a pose is not finite")


@functools.cache
def _part() -> JointedPart:
    return JointedPart.read(_ELBOW)


@functools.cache
def _whole() -> np.ndarray:
    """Poses (tosses, frames, 8) of the elbow, thrown by MuJoCo."""
    rng = np.random.default_rng(0)
    states = np.zeros((_TOSSES, 8 + 7))
    states[:, 2] = 0.25
    states[:, 3:7] = Rotation.random(_TOSSES, rng).as_quat(scalar_first=True)
    states[:, 8:] = rng.uniform(-1, 1, (_TOSSES, 7)) * [1, 1, 1, 4, 4, 4, 4]
    model = _part().model({}, _DT / SUBSTEPS)
    qpos = np.array(frames_of(roll_plainly, model, states, np.full(_TOSSES, _FRAMES - 1)))
    return np.concatenate([qpos[..., 3:7], qpos[..., :3], qpos[..., 7:]], axis=-1)


def _changed_part(rng: np.random.Generator) -> tuple[bytes, str]:
    text, change = _ELBOW.read_text(), []
    for _ in range(rng.integers(1, 3)):
        old, new = _EDITS[rng.integers(len(_EDITS))]
        text = text.replace(old, new)
        change.append(f"{old} -> {new:.60}")
    data = text.encode()
    if rng.uniform() < 0.3:
        data, what = damaged(rng, data)
        change.append(what)
    return data, "; ".join(change)


def _npz(rng: np.random.Generator, poses: np.ndarray) -> tuple[bytes, str]:
    split = np.array(["train"] * (_TOSSES - 1) + ["val"])
    fields = {"poses": poses, "dt": np.array(_DT), "split": split, "number": np.arange(_TOSSES)}
    return tables.npz(rng, fields, "poses")


def _columns(poses: np.ndarray) -> dict[str, Any]:
    columns: dict[str, Any] = dict(zip(_NAMES, poses.reshape(-1, len(_NAMES)).T))
    columns["toss"] = np.repeat(np.arange(_TOSSES), _FRAMES)
    columns["time"] = np.tile(np.arange(_FRAMES) * _DT, _TOSSES)
    columns["split"] = (columns["toss"] == 0).astype(np.float64)
    return columns


_FILES: dict[str, Callable[[np.random.Generator, np.ndarray], tuple[bytes, str]]] = {
    "npz": _npz,
    "csv": lambda rng, poses: tables.csv(rng, _columns(poses)),
    "parquet": lambda rng, poses: tables.parquet(rng, _columns(poses)),
}
