"""`stiction.recordings.read`: tracked poses of tosses of one body, checked against mechanics and converted."""

from collections.abc import Callable
from dataclasses import asdict, replace
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
from stiction.recordings.mechanics_checks import Finding
from stiction.recordings.planar import Mending, at_rest, check_angles, check_level, check_sense
from stiction.recordings.poses import (
    Clean,
    Conventions,
    Refused,
    clean,
    frame_interval,
    likely_time_units,
)
from stiction.recordings.raw import RawFile, RawToss, Request
from stiction.recordings.readers import read_raw
from stiction.recordings.splitting import Cut, split_recordings
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
    name: str | None = None,
    cuts: list[Cut] | None = None,
) -> Recordings:
    """Read recordings of `body`, check and convert them; recordings that contradict mechanics are refused.

    A file without separate tosses is split where the body rests, where it is held and where frames are missing.

    path: a file, or a folder of them: .csv, .tsv, .txt, .parquet, .npz or .mcap, also as trackers export them; see
        docs/recordings.md
    body: the body that was tossed, as measured and weighed
    how: units, axes and other conventions; those that neither `how` nor the file states are detected
    columns: names of columns in CSV and Parquet files, by ours: time, toss, x, y, z, qw, qx, qy, qz; for a rectangle:
        x, z, angle
    topic: of an MCAP file
    name: of the body in a file with several
    cuts: a list to which it is added where recordings were split, for stiction.recordings.plot_cuts

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
    source = _Source(path, body, read_raw(path, Request(columns or {}, topic, body.planar, name)), how or Conventions())
    found = source.recordings()
    if cuts is not None:
        cuts += source.cuts
    return found


class _Source:
    """A recording that was read, and how: conventions that are still open are changed where mechanics requires it.

    raw: the tosses, split; cuts: where
    tosses: clean, as the conventions are now; refused: why others are not among them
    """

    def __init__(self, path: Path, body: Body, file: RawFile, how: Conventions) -> None:
        self.path, self.body, self.file = path, body, file
        self.conventions, self.open = how.settled(file.stated)
        self.detected = set(self.open)
        if "time_unit" in self.open:
            known = how.interval if how.interval is not None else file.interval
            self.split_in_a_unit(likely_time_units(file.tosses, known))
        else:
            self.split()
        self.clean()

    def split_in_a_unit(self, units: list[str]) -> None:
        """Split the recordings with the first time unit in which they show tosses: frames of 5 kHz in milliseconds
        look like those of 5 Hz in seconds."""
        for unit in (*units, units[0]):
            self.conventions = replace(self.conventions, time_unit=unit)
            self.split()
            if self.cuts or len(units) == 1:
                return

    def split(self) -> None:
        """Split the recordings into tosses by the present conventions."""
        file = self.file
        self.interval = frame_interval(file.tosses, self.conventions, file.interval)
        self.raw, self.cuts = split_recordings(file.tosses, self.body, self.conventions, self.interval)

    def clean(self) -> None:
        """Convert the raw tosses by the present conventions."""
        self.tosses, self.refused = _clean_all(self.raw, self.conventions, self.interval)
        _stop_at_none(self.path, self.tosses, self.refused)

    def settle(self, check: Callable[[], list[Finding]]) -> list[Finding]:
        """The findings of a check, after open conventions were changed as it requires; others must not be wrong."""
        while True:
            findings = check()
            change = next((found.change for found in findings if found.wrong and found.change), None)
            if change is None or not set(change) <= self.open:
                _stop_at_wrong(self.path, findings)
                return findings
            self.open -= set(change)  # each is changed once
            self.conventions = replace(self.conventions, **change)  # type: ignore[arg-type]
            if "time_unit" in change:
                self.split()
            self.clean()

    def fall(self) -> list[Finding]:
        """Units and axes, from free flight."""
        frames = 7 if self.body.planar else max(7, round(0.05 / self.interval))
        self.gravity, error = mechanics_checks.fall(self.tosses, self.interval, frames)
        return mechanics_checks.check_fall(self.gravity, error, self.conventions)

    def readings(self) -> list[Finding]:
        """How orientations are read, from impacts and rests."""
        again = lambda other: _clean_all(self.raw, other, self.interval)[0]  # noqa: E731
        return check_reading(self.body, self.conventions, self.interval, again)

    def recordings(self) -> Recordings:
        """The tosses, checked."""
        body, path = self.body, self.path
        findings = self.settle(self.fall)
        findings += self.settle(lambda: mechanics_checks.check_size(body, self.tosses))
        if body.planar:
            self.tosses, jumping, about = _in_plane(
                path, body, self.tosses, self.conventions, self.interval, self.gravity
            )
            self.refused += jumping
        else:
            about = self.settle(self.readings)
        findings += about
        tosses, conventions = self.tosses, self.conventions
        resting = [toss for toss in tosses if at_rest(body, toss)] if body.planar else tosses
        floor, about_floor = mechanics_checks.check_floor(body, resting or tosses, conventions)
        findings += about_floor + mechanics_checks.check_velocities(tosses, self.interval)
        findings += [] if body.planar else mechanics_checks.check_edges(body, tosses, self.interval)
        _stop_at_wrong(path, findings)
        report = (
            self.how_read(all(found.decided for found in findings))
            + [str(finding) for finding in findings]
            + _frame_notes(tosses, self.refused)
        )
        source = {"file": Path(path).name, **asdict(conventions)}
        return _assembled(body, tosses, floor, self.interval, report, source)

    def how_read(self, decided: bool) -> list[str]:
        """The format, the conventions, and how many tosses were found in long recordings.

        decided: whether mechanics confirms the order of the quaternions
        """
        words = self.conventions.words()
        known = [name for name in words if name not in self.detected]
        if self.body.planar or "quaternion" in self.file.stated:  # there are none, or their components have names
            words.pop("quaternion")
        if all(toss.time is None for toss in self.raw):
            words.pop("time_unit")
        rate = f"{1 / self.interval:.4g} Hz"
        stated = self.file.interval is not None or self.conventions.interval is not None
        given = [words[name] for name in known if name in words] + ([rate] if stated else [])
        if not decided and "quaternion" in words:
            given.append(f"{words.pop('quaternion')} (assumed)")
        found = [text for name, text in words.items() if name in self.detected] + ([] if stated else [rate])
        text = [f"The file is read as {self.file.format}."] if self.file.format else []
        text += [f"Stated in the file or by options: {', '.join(given)}."] if given else []
        text += [f"Detected: {', '.join(found)}."] if found else []
        report = [" ".join(text)]
        if self.cuts:
            pieces = sum(len(cut.pieces) for cut in self.cuts)
            ends = "the part comes to rest, where a hand takes it, or where frames are missing"
            report.append(f"Split into {pieces} tosses, each of which ends where {ends}.")
        return report


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


def _stop_at_wrong(path, findings: list[Finding]) -> None:
    wrong = [str(finding) for finding in findings if finding.wrong]
    if wrong:
        raise checks.InputError(f"{path} is not read right. {' '.join(wrong)}")


def _frame_notes(tosses: list[Clean], refused: list[str]) -> list[str]:
    frames = sum(len(toss.frame) for toss in tosses)
    notes = [f"{len(tosses)} tosses with {frames:,} frames are usable."]
    left_out, corrected = [toss.notes for toss in tosses], [toss.mended for toss in tosses]
    for text, counts in (
        ("{0:,} frames in {1} tosses are left out: {2}.", left_out),
        ("{0:,} {2} in {1} tosses are corrected.", corrected),
    ):
        for what in dict.fromkeys(chain.from_iterable(counts)):
            found = [count[what] for count in counts if what in count]
            notes.append(text.format(sum(found), len(found), what))
    if refused:
        notes.append(f"{len(refused)} tosses are left out. The first: {refused[0]}")
    return notes


def _unpushed(toss: Clean, interval: float) -> int:
    """Number of leading frames before the body is pushed upwards: the frames may have missed the contact itself."""
    speed = np.diff(toss.position[:, 2]) / (interval * np.diff(toss.frame))
    change = np.diff(speed)
    noise = 1.4826 * float(np.median(np.abs(change)))
    pushed = np.flatnonzero(change > max(1.0, 6 * noise))  # [m/s] from frame to frame
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
        without = len(tosses) - len(result)
        report = [*report, f"{without} tosses are left out: they do not show free flight and then contact."]
    marked, about_hands = released(Tosses(result, interval), body)
    flying = sum(toss.flight for toss in result)
    frames = sum(len(toss.frame) for toss in result)
    report = [*report, f"{flying:,} frames show free flight before the first touch, {frames - flying:,} come after it."]
    groups = np.array([toss.group for toss in used])
    groups = np.where(groups < 0, np.arange(len(used)) + groups.max() + 1, groups)
    held_out = np.array([toss.held_out for toss in used])
    return Recordings(marked, [toss.name for toss in used], groups, held_out, report + about_hands, source, body)
