"""What a result was made with: versions of the installed packages, and the commit where there is one."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


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
