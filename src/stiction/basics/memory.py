"""Memory: what needs more than there is gets a sentence instead of a killed process."""

import os
from pathlib import Path

from stiction.basics import checks

_LOOKED_AT = 2**28  # bytes: less is there, and asking would cost more than a short motion
_KEPT = 0.9  # share of what is free that may be taken
_MOST_TOLD = 10**18  # bytes
_SYSTEM = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def check_memory(what: str, needed: int, remedy: str) -> None:
    """Refuse work that would need `needed` bytes if they are not there.

    what: of the sentence, such as "These 5 motions"; remedy: its end, such as "keep fewer states with every"
    """
    if needed < _LOOKED_AT:
        return
    there = free_memory()
    if there is not None and needed > _KEPT * there:
        size = f"{needed / 1e9:,.3g}" if needed < _MOST_TOLD else f"more than {_MOST_TOLD / 1e9:.0e}"
        raise checks.InputError(
            f"{what} would need {size} GB of memory, of which {there / 1e9:,.3g} GB are free; {remedy}."
        )


def free_memory() -> int | None:
    """Bytes that this process can still take; None where the system does not tell."""
    limits = [number for number in (_of_system(), _of_group(), _of_process()) if number is not None]
    return min(limits) if limits else None


def _of_system() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in _SYSTEM.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # not Linux
        names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
        if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return None


def _of_group() -> int | None:
    """What is left to a container."""
    try:
        most, taken = (path.read_text().strip() for path in _GROUP)
        return None if most == "max" else max(int(most) - int(taken), 0)
    except (OSError, ValueError):
        return None


def _of_process() -> int | None:
    """What a limit on its addresses leaves to this process."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        return max(most - taken, 0)
    except (ImportError, OSError, ValueError):
        return None
