"""Print the size of each extra of stiction in the current environment: python docs/_site/install_sizes.py"""

import re
from importlib.metadata import Distribution, distributions

from packaging.requirements import Requirement

EXTRAS = ("mujoco", "data", "record", "report", "dart", "train", "gym", "bullet", "cluster")


def known_as(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


INSTALLED = {known_as(one.metadata["Name"]): one for one in distributions()}


def needed(name: str, extras: set[str], found: set[tuple[str, frozenset]]) -> set[str]:
    """Return the names of all packages that this one requires with these extras, itself included."""
    key = known_as(name), frozenset(extras)
    if key in found or key[0] not in INSTALLED:
        return set()
    found.add(key)
    names = {key[0]}
    for line in INSTALLED[key[0]].requires or []:
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            names |= needed(one.name, one.extras, found)
    return names


def megabytes(names: set[str]) -> float:
    return sum(_size(INSTALLED[name]) for name in names if name != "stiction") / 1e6


def _size(package: Distribution) -> int:
    places = (file.locate() for file in package.files or [])
    return sum(place.stat().st_size for place in places if place.exists())


core = needed("stiction", set(), set())
print("| extra | MB |\n|---|---:|")
print(f"| none, besides stiction itself | {megabytes(core):.0f} |")
for extra in EXTRAS:
    print(f"| `{extra}` | {megabytes(needed('stiction', {extra}, set()) - core):.0f} more |")
