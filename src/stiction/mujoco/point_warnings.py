"""What users of materials in MuJoCo are warned of: what their model cannot have, and steps that were not solved."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.pairs import Pairs

_SLIDING = 3  # condim of contacts with sliding friction; more have torsional and rolling friction, too
_LEAST_STEPS, _MANY = 100, 0.1  # steps with contact, and the share of them without a solution that is told
_LEVEL = 5  # from here to the line that made the simulation


def tell_of_model(model: Any, pairs: Pairs, keys: Sequence[Hashable]) -> None:
    """Warn of what the materials with these keys do not bring to this model."""
    _tell_of_contact_sensors(model)
    _tell_of_condim(model, pairs)
    for key, (first, second) in zip(keys, pairs.sides):
        few, many = sorted((first.geoms, second.geoms), key=len)
        others = np.isin(np.arange(model.ngeom), list(many))
        if not any((_collides_with(model, geom) & others).any() for geom in sorted(few)):
            warnings.warn(
                f"The law of {key!r} never acts: by contype, conaffinity, exclusions and the joints of the model, none "
                "of its pairs of geoms can collide.",
                stacklevel=_LEVEL - 1,
            )


def _tell_of_contact_sensors(model: Any) -> None:
    """Say that sensors which tell the forces of single contacts do not feel contacts with laws."""
    fields = mujoco.mjtConDataField
    forces = (1 << int(fields.mjCONDATA_FORCE)) | (1 << int(fields.mjCONDATA_TORQUE))
    of_contacts = model.sensor_type == mujoco.mjtSensor.mjSENS_CONTACT
    if (model.sensor_intprm[of_contacts, 0] & forces).any():
        warnings.warn(
            "The model's contact sensors tell no forces of contacts with materials: read `contacts` of the simulation.",
            stacklevel=_LEVEL,
        )


def _tell_of_condim(model: Any, pairs: Pairs) -> None:
    """Say once that torsional and rolling friction is lost."""
    geom = _loses_friction(model, pairs)
    if geom is None:
        return
    body = int(model.geom_bodyid[geom])
    name = model.geom(geom).name or f"{geom} of body {model.body(body).name or body!r}"
    warnings.warn(
        f"The geom {name!r} has condim {model.geom_condim[geom]}, but a material has sliding friction only: contacts "
        "with a law have no torsional and no rolling friction.",
        stacklevel=_LEVEL,
    )


def _loses_friction(model: Any, pairs: Pairs) -> int | None:
    """A geom with a law whose contacts would have torsional or rolling friction without it."""
    for k in np.flatnonzero(model.pair_dim > _SLIDING):
        if pairs.covers(int(model.pair_geom1[k]), int(model.pair_geom2[k])):
            return int(model.pair_geom1[k])
    table = np.array(pairs.table).reshape(pairs.classes, pairs.classes) >= 0
    class_of = np.array(pairs.class_of, dtype=int)
    for geom in np.flatnonzero(model.geom_condim > _SLIDING):
        # Of two geoms, that with the higher priority decides, of equals the greater condim.
        decides = model.geom_priority <= model.geom_priority[geom]
        covered = table[class_of[geom]][class_of]
        if (covered & decides & _by_itself(model, int(geom))).any():
            return int(geom)
    return None


def _collides_with(model: Any, geom: int) -> NDArray[np.bool_]:
    """Which geoms may touch this one, (ngeom,)."""
    found = _by_itself(model, geom)
    found[model.pair_geom2[model.pair_geom1 == geom]] = True
    found[model.pair_geom1[model.pair_geom2 == geom]] = True
    return found


def _by_itself(model: Any, geom: int) -> NDArray[np.bool_]:
    """The same without the pairs that the model names, by MuJoCo's rules."""
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


def tell_of_unsolved(unsolved: int, steps: int, when: str, *, stacklevel: int) -> bool:
    """Warn where many of the steps with contact were not solved; whether it did."""
    if steps < _LEAST_STEPS or unsolved <= _MANY * steps:
        return False
    warnings.warn(
        f"In {unsolved} of {steps} steps with contact {when} no exact solution was found, as in piles of many bodies: "
        "impulses keep to the limits of friction and add no energy there, but bodies may slip or sink a little where "
        "they should rest (`unsolved` counts such steps).",
        stacklevel=stacklevel + 1,
    )
    return True
