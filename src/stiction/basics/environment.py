"""Packages that only some of the work needs: which extra brings each, and one sentence for those that are missing."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from stiction.basics import checks

# Importable name -> the extra of stiction that brings it, the smallest of those in pyproject.toml.
EXTRAS = {
    "pyarrow": "data",
    "joblib": "data",
    "cloudpickle": "data",
    "mcap": "record",
    "torch": "train",
    "sklearn": "train",
    "dartpy": "dart",
    "mujoco": "mujoco",
    "tabulate": "sysid",
    "pybullet": "bullet",
    "gymnasium": "gym",
    "plotly": "report",
    "jinja2": "report",
    "viser": "report",
    "matplotlib": "report",
    "ray": "cluster",
}
_KNOWN_AS = {
    "dartpy": "DART",
    "mujoco": "MuJoCo",
    "pybullet": "Bullet",
    "gymnasium": "Gymnasium",
    "sklearn": "scikit-learn",
    "ray": "Ray",
}


def needs(what: str, *modules: str) -> str:
    """The sentence that `what` needs these modules, with the one command that brings all of them."""
    names = [_KNOWN_AS.get(module, module) for module in dict.fromkeys(modules)]
    together = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    extras = ",".join(dict.fromkeys(EXTRAS[module] for module in modules))
    return f"{what} needs {together}: pip install 'stiction[{extras}]'."


def require(what: str, *modules: str) -> None:
    """Refuse work for which modules are missing, all of them named at once, before it has gone on for minutes."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        from stiction.basics.checks import InputError  # brings numpy, for which help need not wait

        raise InputError(needs(what, *missing))


# What a result was made with: versions of the installed packages, and the commit where there is one.


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of stiction and of `packages`, as installed."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in ("stiction", *packages)}}


def version_of(package: str) -> str:
    """The version of a package, as installed."""
    try:
        return version(package)
    except PackageNotFoundError:  # run from the sources
        return "not installed"


def commit() -> str | None:
    """The commit that this code is checked out from, "+" if files differ from it; None for an installed package."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", Path(__file__).name):  # some other repository around an environment
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", ":/src", ":/core")
        return git("rev-parse", "--short=7", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


# Memory: what needs more than there is gets a sentence instead of a killed process.


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
