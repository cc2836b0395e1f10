"""Laws for pairs of geoms: what a key of `laws` names, which law holds between two geoms, and warnings about them.

A key is a body (by name or number), a geom, a MuJoCo material or a default class by name, or a pair of these; "*" is
anything. "body:NAME", "geom:NAME", "material:NAME" and "class:NAME" distinguish names that several of them have.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stiction.basics import checks
from stiction.mujoco.mjcf import body_number, mujoco

ANYTHING = "*"
_KINDS = ("geom", "body", "material", "class")  # from the most specific to the most general


@dataclass(frozen=True)
class Side:
    """The geoms and bodies that one half of a key names, and how specific the name is (0: anything)."""

    geoms: frozenset[int]
    rank: int
    bodies: tuple[int, ...]

    @property
    def only_body(self) -> int | None:
        """Its body; None where there are several."""
        return self.bodies[0] if len(self.bodies) == 1 else None


def side_of(model: Any, name: Hashable, classes: Mapping[str, set[int]]) -> Side:
    """The geoms that one half of a key names. classes: geoms of each default class, where these are known"""
    if name == ANYTHING:
        return Side(frozenset(range(model.ngeom)), 0, ())
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return _of("body", body_number(model, int(name)), model, classes)
    if not isinstance(name, str):
        raise checks.InputError(
            f"A key of laws must be a name, the number of a body, or a pair of these, got {checks.shown(name)}."
        )
    kind, _, rest = name.partition(":")
    if rest and kind in _KINDS:
        found = _number(model, kind, rest, classes)
        if found is None:
            raise checks.InputError(f"The model has no {kind} {rest!r}.{_hint(model, kind, classes)}")
        return _of(kind, found, model, classes)
    for kind in ("body", "geom", "material", "class"):
        found = _number(model, kind, name, classes)
        if found is not None:
            return _of(kind, found, model, classes)
    known = _hint(model, "body", classes) + _hint(model, "geom", classes)
    raise checks.InputError(f"The model has no body, geom, material or class {name!r}.{known}")


def names_a_body(model: Any, key: Hashable, classes: Mapping[str, set[int]]) -> bool:
    """Whether a key names one body, and not a geom, a material, a class or a pair."""
    return not isinstance(key, tuple) and side_of(model, key, classes).rank == _rank("body")


def _rank(kind: str) -> int:
    return len(_KINDS) - _KINDS.index(kind)


def _number(model: Any, kind: str, name: str, classes: Mapping[str, set[int]]) -> int | str | None:
    if kind == "class":
        return name if name in classes else None
    kind_of = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
    found = mujoco.mj_name2id(model, kind_of, name) if name.isprintable() else -1  # MuJoCo takes no other text
    return found if found >= 0 else None


def _of(kind: str, number: Any, model: Any, classes: Mapping[str, set[int]]) -> Side:
    if kind == "geom":
        geoms = {number}
    elif kind == "body":
        geoms = set(np.flatnonzero(model.geom_bodyid == number).tolist())
    elif kind == "material":
        geoms = set(np.flatnonzero(model.geom_matid == number).tolist())
    else:
        geoms = set(classes[number])
    bodies = tuple(sorted({int(model.geom_bodyid[g]) for g in geoms} | ({number} if kind == "body" else set())))
    return Side(frozenset(geoms), _rank(kind), bodies)


def _hint(model: Any, kind: str, classes: Mapping[str, set[int]]) -> str:
    if kind == "class":
        names = sorted(classes) or ["(none: classes are known only where an MjSpec is given)"]
    else:
        count, of = {
            "body": (model.nbody, model.body),
            "geom": (model.ngeom, model.geom),
            "material": (model.nmat, model.mat),
        }[kind]
        names = [name for k in range(count) if (name := of(k).name)]
    what = {"body": "bodies", "geom": "geoms", "material": "materials", "class": "classes"}[kind]
    return f" Its {what} are {', '.join(names)[:200] or '(unnamed)'}."


@dataclass(frozen=True)
class Pairs:
    """Which law holds between geoms: see the core's PairTable.

    sides: of each law, what its key names
    unnamed: number of classes of geoms that no key names; they come first
    """

    class_of: list[int]
    classes: int
    table: list[int]
    sides: tuple[tuple[Side, Side], ...]
    unnamed: int

    def covers(self, geom1: int, geom2: int) -> bool:
        """Whether a law holds between two geoms."""
        return self.law(geom1, geom2) is not None

    def law(self, geom1: int, geom2: int) -> int | None:
        """The number of the law that holds between two geoms, or None."""
        found = self.table[self.class_of[geom1] * self.classes + self.class_of[geom2]]
        return found // 2 if found >= 0 else None


def pairs_of(
    model: Any,
    keys: Sequence[Hashable],
    classes: Mapping[str, set[int]],
    grounds: Mapping[Hashable, frozenset[int]] | None = None,
) -> Pairs:
    """The table for these keys; the most specific key that fits a pair wins.

    grounds: of the keys whose laws are not of pairs, but of a body on the ground: the geoms of that ground. Where such
        a key wins, no law of a pair holds.
    """
    grounds = grounds or {}
    claims: list[_Claim] = []
    sides: list[tuple[Side, Side]] = []
    for key in keys:
        if key in grounds:
            claims.append(_Claim(side_of(model, key, classes), Side(grounds[key], 0, ()), None))
            continue
        first, second = _sides(model, key, classes)
        claims.append(_Claim(first, second, len(sides)))
        sides.append((first, second))
    both = [side for claim in claims for side in (claim.first, claim.second)]
    member = np.array([[g in side.geoms for side in both] for g in range(model.ngeom)], dtype=bool)
    named = np.array([side.rank > 0 and claim.law is not None for claim in claims for side in claim[:2]], dtype=bool)
    patterns, class_of = np.unique(member, axis=0, return_inverse=True)
    # First the classes of geoms without a law of their own, which only "*" names; there is one at least.
    has_law = (patterns & named).any(axis=1)
    if has_law.all():
        patterns, has_law = np.vstack([patterns, patterns[:1] & False]), np.append(has_law, False)
    order = np.argsort(has_law, kind="stable")
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    patterns = patterns[order]
    table = [_law_of(a, b, claims) for a in patterns for b in patterns]
    unnamed = int((~has_law).sum())
    return Pairs(place[class_of.reshape(-1)].tolist(), len(patterns), table, tuple(sides), unnamed)


class _Claim(NamedTuple):
    """What a key names, and the number of its law among those of pairs."""

    first: Side
    second: Side
    law: int | None


def _sides(model: Any, key: Hashable, classes: Mapping[str, set[int]]) -> tuple[Side, Side]:
    if isinstance(key, tuple) and len(key) != 2:
        raise checks.InputError(f"A pair needs two names, got {len(key)}: {key!r:.80}.")
    names = key if isinstance(key, tuple) else (key, ANYTHING)
    first, second = (side_of(model, name, classes) for name in names)
    if not first.geoms or not second.geoms:
        raise checks.InputError(f"The key {key!r} names no geom.")
    return first, second


def _law_of(a: Any, b: Any, claims: Sequence[_Claim]) -> int:
    """2 law + (0 if the first geom is the law's first, else 1), or -1, for geoms of two patterns."""
    best, rank = -1, -1
    for k, (first, second, law) in enumerate(claims):
        straight, crossed = a[2 * k] and b[2 * k + 1], b[2 * k] and a[2 * k + 1]
        # A pair that names both sides is more specific than one that leaves the other open; of equals the first wins.
        own = 10 * ((first.rank > 0) + (second.rank > 0)) + first.rank + second.rank
        if (straight or crossed) and own > rank:
            best, rank = -1 if law is None else 2 * law + (0 if straight else 1), own
    return best


def warn_of_model(model: Any, pairs: Pairs, keys: Sequence[Hashable]) -> None:
    """Warn of features of this model that the materials with these keys do not support."""
    _warn_of_contact_sensors(model)
    _warn_of_heightfields(model, pairs)
    for law, (key, (first, second)) in enumerate(zip(keys, pairs.sides)):
        few, many = sorted((first.geoms, second.geoms), key=len)
        others = np.isin(np.arange(model.ngeom), list(many))
        found = [(geom, collides_with(model, geom) & others) for geom in sorted(few)]
        if not any(with_geom.any() for _, with_geom in found):
            warnings.warn(
                f"The law of {key!r} never acts: by contype, conaffinity, exclusions and the joints of the model, none "
                "of its pairs of geoms can collide.",
                stacklevel=4,
            )
        elif not (first.rank and second.rank) and _all_smooth(model, pairs, law, found):
            warnings.warn(
                f"The friction of {key!r} never acts: all of its contacts have condim 1, which only a key that names "
                "both of a pair overrides.",
                stacklevel=4,
            )


def _all_smooth(model: Any, pairs: Pairs, law: int, found: Sequence[tuple[int, NDArray[np.bool_]]]) -> bool:
    """Whether a law with one open side has contacts, and all of them are frictionless by the model's condim."""
    has_contacts = False
    for geom, with_geom in found:
        for other in np.flatnonzero(with_geom).tolist():
            if pairs.law(geom, other) != law:
                continue
            if _condim(model, geom, other) > 1:
                return False
            has_contacts = True
    return has_contacts


def _condim(model: Any, geom: int, other: int) -> int:
    """The condim of contacts between two geoms, by MuJoCo's rules."""
    is_named = (model.pair_geom1 == geom) & (model.pair_geom2 == other)
    is_named |= (model.pair_geom1 == other) & (model.pair_geom2 == geom)
    if is_named.any():
        return int(model.pair_dim[is_named].max())
    both = np.array([geom, other])
    first = model.geom_priority[both] == model.geom_priority[both].max()
    return int(model.geom_condim[both][first].max())


def _warn_of_heightfields(model: Any, pairs: Pairs) -> None:
    """Warn once that bodies may not come to rest on a heightfield."""
    for geom in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD).tolist():
        if any(pairs.covers(geom, other) for other in np.flatnonzero(collides_with(model, geom)).tolist()):
            name = model.geom(geom).name or geom
            warnings.warn(
                f"Bodies with a material may creep or rock on the heightfield {name!r}, because MuJoCo detects points "
                "that jump along it: use planes, boxes or meshes where they must rest.",
                stacklevel=5,
            )
            return


def _warn_of_contact_sensors(model: Any) -> None:
    """Warn that sensors of single contacts do not measure contacts with materials."""
    fields = mujoco.mjtConDataField
    forces = (1 << int(fields.mjCONDATA_FORCE)) | (1 << int(fields.mjCONDATA_TORQUE))
    of_contacts = model.sensor_type == mujoco.mjtSensor.mjSENS_CONTACT
    if (model.sensor_intprm[of_contacts, 0] & forces).any():
        warnings.warn(
            "The model's contact sensors do not measure contacts with materials: read `contacts` of the simulation.",
            stacklevel=5,
        )


def collides_with(model: Any, geom: int) -> NDArray[np.bool_]:
    """Which geoms may touch this one, (ngeom,)."""
    found = _by_itself(model, geom)
    found[model.pair_geom2[model.pair_geom1 == geom]] = True
    found[model.pair_geom1[model.pair_geom2 == geom]] = True
    return found


def _by_itself(model: Any, geom: int) -> NDArray[np.bool_]:
    """The same without the model's named pairs, by MuJoCo's rules."""
    kinds, meets = model.geom_contype, model.geom_conaffinity
    found = ((kinds[geom] & meets) | (kinds & meets[geom])) != 0
    bodies, body = model.geom_bodyid, int(model.geom_bodyid[geom])
    welded = model.body_weldid
    carried_by = welded[model.body_parentid[welded]]
    own, others = welded[body], welded[bodies]
    found &= others != own
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        neighbours = (others == carried_by[body]) | (carried_by[bodies] == own)
        found &= ~(neighbours & (own != 0) & (others != 0))
    signatures = (np.minimum(bodies, body) << 16) + np.maximum(bodies, body)
    return found & ~np.isin(signatures, model.exclude_signature)


def warn_of_unsolved(unsolved: int, steps: int, when: str, *, stacklevel: int) -> bool:
    """Warn where more than a tenth of at least 100 steps with contact was not solved; whether it did."""
    if steps < 100 or unsolved <= 0.1 * steps:
        return False
    warnings.warn(
        f"In {unsolved} of {steps} steps with contact {when} no exact solution was found, as in piles of many bodies: "
        "impulses keep the limits of friction and add no energy there, but bodies at rest may slip or sink a little "
        "(`unsolved` counts such steps).",
        stacklevel=stacklevel + 1,
    )
    return True
