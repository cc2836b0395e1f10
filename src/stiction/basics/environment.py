"""Installed packages and their extras, versions for result files, and free memory."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from stiction.basics.errors import InputError

# Distribution -> importable module -> the smallest extra that installs it; a test compares this with pyproject.toml.
EXTRAS = {
    "stiction": {
        "pyarrow": "data",
        "joblib": "data",
        "cloudpickle": "data",
        "mcap": "record",
        "mcap_ros2": "record",
        "torch": "train",
        "sklearn": "train",
        "dartpy": "dart",
        "mujoco": "mujoco",
        "gymnasium": "gym",
        "plotly": "report",
        "jinja2": "report",
        "viser": "report",
        "matplotlib": "report",
        "ray": "cluster",
    },
    "stiction-studies": {"pybullet": "engines", "tabulate": "engines"},
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
    """The sentence that `what` needs these modules, with the command that installs all of them."""
    names = [_KNOWN_AS.get(module, module) for module in dict.fromkeys(modules)]
    together = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    packages = []
    for distribution, extras in EXTRAS.items():
        wanted = dict.fromkeys(extras[module] for module in modules if module in extras)
        packages += [f"'{distribution}[{','.join(wanted)}]'"] if wanted else []
    return f"{what} needs {together}: pip install {' '.join(packages)}."


def require(what: str, *modules: str) -> None:
    """Raise an InputError that names all of these modules that are not installed, before long work starts."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise InputError(needs(what, *missing))


def versions(*packages: str) -> dict[str, str]:
    """Installed versions of Python, stiction and `packages`."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in ("stiction", *packages)}}


def version_of(package: str) -> str:
    """The installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:  # run from the sources
        return "not installed"


def commit() -> str | None:
    """The short hash of the checked-out commit, with "+" if files were changed; None for an installed package."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", Path(__file__).name):  # an unrelated repository around an environment
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", ":/src", ":/core")
        return git("rev-parse", "--short=7", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def check_memory(what: str, needed: int, remedy: str) -> None:
    """Raise an InputError if `needed` bytes would take more than 90 % of the free memory.

    what: subject of the sentence, such as "These 5 motions"; remedy: its end, such as "keep fewer states with every="
    """
    if needed < 2**28:  # asking the system would take longer than a short motion
        return
    free = free_memory()
    if needed > 0.9 * free:
        size = f"{needed / 1e9:,.3g}" if needed < 10**18 else "more than 1e+09"
        raise InputError(f"{what} would need {size} GB of memory, of which {free / 1e9:,.3g} GB are free; {remedy}.")


def free_memory() -> int:
    """Bytes that this process can still allocate: the least that the system, its container and its limits leave."""
    import psutil

    free = [psutil.virtual_memory().available]
    try:  # psutil reports the machine, not the control group of a container
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        free += [] if limit == "max" else [int(limit) - int(used)]
    except (OSError, ValueError):
        pass
    process = psutil.Process()
    if hasattr(process, "rlimit"):  # Linux
        limit, used = process.rlimit(psutil.RLIMIT_AS)[0], process.memory_info().vms
        free += [] if limit == psutil.RLIM_INFINITY else [limit - used]
    return max(min(free), 0)
