"""What a result was made with: versions of the installed packages."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of stiction and of `packages`, as installed."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in ("stiction", *packages)}}


def version_of(package: str) -> str:
    """The version of a package, as installed."""
    try:
        return version(package)
    except PackageNotFoundError:  # run from the sources
        return "not installed"
