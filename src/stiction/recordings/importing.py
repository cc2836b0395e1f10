"""`stiction.recordings.read`: tracked poses of tosses of one body, checked against mechanics and converted."""

from collections.abc import Callable
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np

from stiction.basics import checks
from stiction.basics.files import path_of
from stiction.bodies.body import Body
from stiction.recordings import mechanics_checks
from stiction.recordings.flight_estimate import released
from stiction.recordings.impact_checks import check_reading
from stiction.recordings.planar import Mending, at_rest, check_angles, check_level, check_sense
from stiction.recordings.poses import Clean, Conventions, Refused, clean, frame_interval
from stiction.recordings.readers import RawToss, Request, read_raw
from stiction.recordings.tosses import Recordings, Toss, Tosses

T = TypeVar("T")
MIN_FLIGHT = 4  # frames of free flight from which a start can be estimated


def import_recordings(
    path: str | Path,
    body: Body | None = None,
    how: Conventions | None = None,
    *,
    columns: dict[str, str] | None = None,
    topic: str | None = None,
) -> Recordings:
    """Read recordings of `body`, check and convert them; recordings that contradict mechanics are refused.

    path: a file, or a folder of them, one or more tosses each: .csv, .parquet, .npz or .mcap; see docs/recordings.md
    body: the body that was tossed, as measured and weighed
    how: units, axes and other conventions, where they are not SI, z up, and quaternions (w, x, y, z) from body to world
    columns: names of columns in CSV and Parquet files, by ours: time, toss, x, y, z, qw, qx, qy, qz; for a rectangle:
        x, z, angle
    topic: of an MCAP file

        cube = stiction.Body.box((0.1, 0.1, 0.1), mass=0.37)
        recordings = stiction.recordings.read("tosses.csv", cube, stiction.recordings.Conventions(units="mm"))
        print(recordings.report)
        state = recordings[3].start()
    """
    if not isinstance(body, Body):
        raise checks.InputError(f"body must be the stiction.Body that was tossed, got {type(body).__name__}.")
    path = path_of("A recording", path)
    if how is not None and not isinstance(how, Conventions):
        raise checks.InputError(f"how must be stiction.recordings.Conventions, got {checks.shown(how)}.")
    if (path / "manifest.json").exists():
        raise checks.InputError(f"{path} was written by `stiction import`: open it with stiction.recordings.load.")
    conventions = how or Conventions()
    raw, stated = read_raw(path, Request(columns or {}, topic, body.planar))
    interval = frame_interval(raw, conventions, stated)
    tosses, refused = _clean_all(raw, conventions, interval)
    _stop_at_none(path, tosses, refused)
    gravity, gravity_error = mechanics_checks.fall(tosses, interval)
    findings = mechanics_checks.check_fall(gravity, gravity_error, conventions) + mechanics_checks.check_size(
        body, tosses
    )
    _stop_at_wrong(path, findings)
    if body.planar:
        tosses, jumping, about = _in_plane(path, body, tosses, conventions, interval, gravity)
        refused += jumping
    else:
        about = check_reading(body, conventions, interval, lambda other: _clean_all(raw, other, interval)[0])
        _stop_at_wrong(path, about)
    findings += about
    resting = [toss for toss in tosses if at_rest(body, toss)] if body.planar else tosses
    floor, about_floor = mechanics_checks.check_floor(body, resting or tosses, conventions)
    findings += about_floor + mechanics_checks.check_velocities(tosses, interval)
    _stop_at_wrong(path, findings)
    report = [str(finding) for finding in findings] + _frame_notes(tosses, refused)
    return _assembled(body, tosses, floor, interval, report, {"file": Path(path).name, **asdict(conventions)})


def _clean_all(raw: list[RawToss], conventions: Conventions, interval: float) -> tuple[list[Clean], list[str]]:
    return _each(raw, lambda toss: clean(toss, conventions, interval))


def _in_plane(path, body: Body, tosses: list[Clean], conventions: Conventions, interval: float, gravity):
    """Planar tosses with errors of the tracker corrected, why some are refused, and the findings."""
    _stop_at_wrong(path, check_angles(body, tosses, conventions, interval))
    tosses, refused = _each(tosses, lambda toss: Mending(toss, body, interval, gravity).result())
    _stop_at_none(path, tosses, refused)
    findings = check_sense(body, tosses, conventions, interval)
    _stop_at_wrong(path, findings)
    tosses, about_level = check_level(body, tosses)
    return tosses, refused, findings + about_level


def _each(tosses: list[T], treat: Callable[[T], Clean]) -> tuple[list[Clean], list[str]]:
    """The treated tosses, and why others were refused."""
    treated, refused = [], []
    for toss in tosses:
        try:
            treated.append(treat(toss))
        except Refused as error:
            refused.append(str(error))
    return treated, refused


def _stop_at_none(path, tosses: list[Clean], refused: list[str]) -> None:
    if not tosses:
        raise checks.InputError(f"No toss of {path} can be used: {[*refused, 'it holds no toss.'][0]}")


def _stop_at_wrong(path, findings: list[mechanics_checks.Finding]) -> None:
    wrong = [str(finding) for finding in findings if finding.wrong]
    if wrong:
        raise checks.InputError(f"{path} is not read right. {' '.join(wrong)}")


def _frame_notes(tosses: list[Clean], refused: list[str]) -> list[str]:
    frames = sum(len(toss.frame) for toss in tosses)
    notes = [f"{len(tosses)} tosses, {frames:,} frames."]
    left_out, corrected = [toss.notes for toss in tosses], [toss.mended for toss in tosses]
    for text, counts in (("Frames left out as {}", left_out), ("{} and corrected", corrected)):
        for what in dict.fromkeys(chain.from_iterable(counts)):
            found = [count[what] for count in counts if what in count]
            notes.append(f"{text.format(what)}: {sum(found):,}, in {len(found)} tosses.")
    if refused:
        notes.append(f"Tosses left out: {len(refused)}. {refused[0]}")
    return notes


def _unpushed(toss: Clean, interval: float) -> int:
    """Number of leading frames before the body is pushed upwards: the frames may have missed the contact itself."""
    speed = np.diff(toss.position[:, 2]) / (interval * np.diff(toss.frame))
    pushed = np.flatnonzero(np.diff(speed) > 1.0)  # [m/s] from frame to frame
    return int(pushed[0]) + 1 if len(pushed) else len(toss.frame)


def _assembled(body, tosses: list[Clean], floor: float, interval: float, report: list[str], source) -> Recordings:
    used, result = [], []
    for toss in tosses:
        flight = min(mechanics_checks.flight_frames(body, toss, floor), _unpushed(toss, interval))
        if MIN_FLIGHT <= flight < len(toss.frame):
            used.append(toss)
            result.append(Toss(toss.frame, toss.position - [0.0, 0.0, floor], toss.quaternion, flight))
    if not result:
        raise checks.InputError(
            f"No toss has {MIN_FLIGHT} frames of free flight and then contact: record throws from their release."
        )
    if len(result) < len(tosses):
        report = [*report, f"Tosses left out, without flight and then contact: {len(tosses) - len(result)}."]
    marked, about_hands = released(Tosses(result, interval), body)
    flying = sum(toss.flight for toss in result)
    frames = sum(len(toss.frame) for toss in result)
    report = [*report, f"Free flight before the first touch: {flying:,} frames; then {frames - flying:,}."]
    groups = np.array([toss.group for toss in used])
    groups = np.where(groups < 0, np.arange(len(used)) + groups.max() + 1, groups)
    held_out = np.array([toss.held_out for toss in used])
    return Recordings(marked, [toss.name for toss in used], groups, held_out, report + about_hands, source, body)
