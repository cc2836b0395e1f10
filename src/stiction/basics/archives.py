"""Archives of arrays, .npz: a stranger's is data, and is measured before anything of it is unpacked."""

from pathlib import Path
from zipfile import ZipFile, ZipInfo

from numpy.lib import format as npy

from stiction.basics import checks

LARGEST = 2 * 10**9  # bytes of all arrays together, unpacked
_MOST = 1000  # arrays
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def check_archive(path: Path) -> None:
    """Refuse an .npz file that would unpack to more than `LARGEST`, or whose arrays are not as large as they say."""
    with ZipFile(path) as archive:
        _check_sizes(path, archive)


def _check_sizes(path: Path, archive: ZipFile) -> None:
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > LARGEST or len(members) > _MOST:
        raise checks.InputError(
            f"{path} would unpack to {len(members)} arrays of {total / 1e9:.3g} GB; allowed are {_MOST} arrays of "
            f"{LARGEST / 1e9:g} GB."
        )
    for member in members:
        if member.filename.endswith(".npy"):
            _check_size(path, archive, member)


def _check_size(path: Path, archive: ZipFile, member: ZipInfo) -> None:
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise checks.InputError(f"{path} has an array, {member.filename}, in a version that numpy does not write.")
        shape, _, number = _HEADERS[version](file)
        claimed, there = number.itemsize, member.file_size - file.tell()
        for length in shape:
            claimed *= length  # whole numbers of Python, which do not overflow
        if claimed != there:
            raise checks.InputError(
                f"{path} is damaged: its {member.filename} has {there} bytes where shape {shape} needs {claimed}."
            )
