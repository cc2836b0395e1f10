"""Read recordings: tracked poses of tosses of one body, checked against mechanics and converted."""

from dataclasses import asdict
from pathlib import Path

import numpy as np

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.learning.recordings.physics_checks import (
    Finding,
    check_fall,
    check_floor,
    check_reading,
    check_velocities,
    fall,
    flight_frames,
)
from stiction.learning.recordings.poses import Clean, Conventions, Refused, clean, frame_interval
from stiction.learning.recordings.readers import RawToss, read_raw
from stiction.learning.recordings.recorded import Recordings
from stiction.learning.recordings.tosses import Toss, Tosses

_LEAST_FLIGHT = 4  # frames; a toss with fewer does not tell its start


def import_recordings(
    path: str | Path,
    body: Body,
    how: Conventions | None = None,
    *,
    columns: dict[str, str] | None = None,
    topic: str | None = None,
) -> Recordings:
    """Read recordings of `body`, check them and convert them; what mechanics contradicts is refused by name.

    columns: names of columns in CSV and Parquet files, by ours: time, toss, x, y, z, qw, qx, qy, qz
    topic: of an MCAP file
    """
    how = how or Conventions()
    raw, stated = read_raw(path, columns or {}, topic)
    interval = frame_interval(raw, how, stated)
    tosses, refused, first_error = _clean_all(raw, how, interval)
    if not tosses:
        raise checks.InputError(f"No toss of {path} can be used: {first_error}")
    findings = check_fall(fall(tosses, interval), how)
    _stop_at_wrong(path, findings)
    findings += check_reading(body, how, interval, lambda other: _clean_all(raw, other, interval)[0])
    floor, about_floor = check_floor(body, tosses, how)
    findings += about_floor + check_velocities(tosses, interval)
    _stop_at_wrong(path, findings)
    report = [str(finding) for finding in findings] + _frame_notes(tosses, refused)
    return _assembled(body, tosses, floor, interval, report, {"file": Path(path).name, **asdict(how)})


def _clean_all(raw: list[RawToss], how: Conventions, interval: float) -> tuple[list[Clean], list[str], str]:
    tosses, refused = [], []
    for toss in raw:
        try:
            tosses.append(clean(toss, how, interval))
        except Refused as error:
            refused.append(str(error))
    return tosses, refused, refused[0] if refused else "it holds no toss."


def _stop_at_wrong(path, findings: list[Finding]) -> None:
    wrong = [str(finding) for finding in findings if finding.wrong]
    if wrong:
        raise checks.InputError(f"{path} is not read right. {' '.join(wrong)}")


def _frame_notes(tosses: list[Clean], refused: list[str]) -> list[str]:
    frames = sum(len(toss.frame) for toss in tosses)
    notes = [f"{len(tosses)} tosses, {frames:,} frames."]
    for what in dict.fromkeys(name for toss in tosses for name in toss.notes):
        number, where = sum(t.notes.get(what, 0) for t in tosses), sum(what in t.notes for t in tosses)
        notes.append(f"Frames left out as {what}: {number:,}, in {where} tosses.")
    if refused:
        notes.append(f"Tosses left out: {len(refused)}. {refused[0]}")
    return notes


def _assembled(body, tosses: list[Clean], floor: float, interval: float, report: list[str], source) -> Recordings:
    kept, result = [], []
    for toss in tosses:
        flight = flight_frames(body, toss, floor)
        if _LEAST_FLIGHT <= flight < len(toss.frame):
            kept.append(toss)
            result.append(Toss(toss.frame, toss.position - [0.0, 0.0, floor], toss.quaternion, flight))
    if not result:
        raise checks.InputError(
            f"No toss has {_LEAST_FLIGHT} frames of free flight and then contact: record throws from their release."
        )
    if len(result) < len(tosses):
        report = [*report, f"Tosses left out, without flight and then contact: {len(tosses) - len(result)}."]
    flying = sum(toss.flight for toss in result)
    frames = sum(len(toss.frame) for toss in result)
    report = [*report, f"Free flight before the first touch: {flying:,} frames; then {frames - flying:,}."]
    groups = np.array([toss.group for toss in kept])
    groups = np.where(groups < 0, np.arange(len(kept)) + groups.max() + 1, groups)
    held_out = np.array([toss.held_out for toss in kept])
    return Recordings(Tosses(result, interval), [toss.name for toss in kept], groups, held_out, report, source)
