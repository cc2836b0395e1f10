"""Which contacts of a model follow which law: the native step for them, and the changes of the model that it needs."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stiction import _core
from stiction.basics import checks
from stiction.laws.law import Law
from stiction.laws.material import Material
from stiction.mujoco import body_fit, mjcf
from stiction.mujoco.contact_reports import BodyContact, Contacts, PairContact
from stiction.mujoco.engine import engine_of
from stiction.mujoco.ground import Ground, find_ground, fixed_ground, has_active_surface
from stiction.mujoco.links import Links, Method, solve_powell
from stiction.mujoco.mjcf import mujoco
from stiction.mujoco.pairs import Pairs, pairs_of, warn_of_model
from stiction.mujoco.smooth_meshes import SmoothMesh, smooth_meshes

# Gaps of the geoms and pairs of models before they were raised, for a second simulation on the same model.
_model_gaps: WeakKeyDictionary[Any, tuple[list[float], list[float]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Options:
    """Options of a simulation: see `Simulation`."""

    softness: float
    gap: float | None
    smooth: float
    method: Method
    tolerance: float
    fit: float


@dataclass(frozen=True)
class Plan:
    """How laws act in a model that is prepared for them.

    pairs: where materials hold; None if there are none
    gaps: of each geom [m], before they were raised; pair_gaps: of the model's named pairs
    fits: poses of the laws' bodies in the model's; ground: what these bodies stand on; None if there are none
    smooth: meshes that stand for smooth surfaces, by their geoms
    """

    options: Options
    pairs: Pairs | None
    gaps: list[float]
    pair_gaps: list[tuple[int, int, float]]
    fits: list[body_fit.Fit]
    ground: Ground | None
    smooth: dict[int, SmoothMesh]

    def start(self, model: Any, data: Any, laws: Mapping[Hashable, Any]) -> tuple[_core.Step, Contacts]:
        """The native step, and the contacts of each key."""
        materials, learned = divided(laws)
        sides = self.pairs.sides if self.pairs else ()
        core = _core.Step(
            engine=engine_of(model, data),
            laws=[
                _pair_law(material, first.rank > 0 and second.rank > 0)
                for material, (first, second) in zip(materials.values(), sides)
            ],
            table=self._table(),
            links=self._links(model, list(learned.values())),
            softness=self.options.softness,
            tolerance=self.options.tolerance,
            max_substep=max_substep(learned.values()),
        )
        core.set_touch_sensors(_touch_sensors(model))
        both: dict[Hashable, Any] = {
            key: PairContact(core, k, data, (first.only_body, second.only_body))
            for k, (key, (first, second)) in enumerate(zip(materials, sides))
        }
        both |= {key: BodyContact(core, k) for k, key in enumerate(learned)}
        return core, Contacts((key, both[key]) for key in laws)

    def _table(self) -> _core.PairTable:
        pairs = self.pairs
        if pairs is None:
            return _core.PairTable()
        table = _core.PairTable(
            class_of=pairs.class_of,
            n_classes=pairs.classes,
            n_unnamed=pairs.unnamed,
            laws=pairs.table,
            gaps=self.gaps,
            pair_gaps=self.pair_gaps,
        )
        for geom, mesh in self.smooth.items():
            table.add_curved(geom=geom, normals=mesh.normals, offsets=mesh.offsets, curvatures=mesh.curvatures)
        return table

    def _links(self, model: Any, laws: list[Law]) -> _core.LinkSetup:
        if self.ground is None:
            return _core.LinkSetup()
        links = Links(laws, method=self.options.method, tolerance=self.options.tolerance)
        return _core.LinkSetup(
            links=links.core,
            bodies=[one.body for one in self.fits],
            frames=np.array([one.turn for one in self.fits]),
            ground=self.ground.core,
            plane_geoms=[sorted(plane.geoms) for plane in self.ground.planes],
            spins=mjcf.spins(model),
            solver=partial(solve_powell, links.core) if links.method == "powell" else None,
        )


def plan_of(model: Any, laws: Mapping[Hashable, Any], classes: Mapping[str, set[int]], options: Options) -> Plan:
    """The plan for these laws; the model is changed for it, after everything that may be refused has been checked."""
    materials, learned = divided(laws)
    pairs, ground, fits = None, None, []
    gaps, pair_gaps = [], []
    for key in learned:
        if isinstance(key, tuple):
            raise checks.InputError(
                f"The law of {key!r} was learned for one body on the ground: its key must be that body, not a pair."
            )
    if materials:
        fixed = frozenset(fixed_ground(model)) if learned else frozenset()
        pairs = pairs_of(model, list(laws), classes, {key: fixed for key in learned})
    if learned:
        fits = [_fit(model, key, law, options.fit) for key, law in learned.items()]
        _check_surfaces(model, learned, fits)
        check_timestep(model.opt.timestep, learned)
        ground = find_ground(model, [one.body for one in fits], pairs.covers if pairs else None)
        # Refuses laws that the method cannot solve.
        Links(list(learned.values()), method=options.method, tolerance=options.tolerance)
    if pairs:
        default = max(0.02, 5.0 * model.opt.timestep)  # [m]: with 1 mm, robots penetrated 29 mm; 5 m/s in any time step
        gap = default if options.gap is None else checks.positive("gap [m]", options.gap)
        checks.non_negative("softness", options.softness)
        warn_of_model(model, pairs, list(materials))
        gaps, named = _model_gaps.setdefault(model, (model.geom_gap.tolist(), model.pair_gap.tolist()))
        pair_gaps = list(zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), named))
        _raise_gaps(model, pairs, gap)
    if ground and ground.is_one_plane:  # else each step finds which plane is touched
        geoms = {g for one in fits for g in mjcf.contact_geoms(model, one.body)}
        mjcf.exclude_contacts(model, geoms, ground.planes[0].geoms)
    return Plan(options, pairs, gaps, pair_gaps, fits, ground, _smooth(model, pairs, options.smooth))


def _fit(model: Any, key: Any, law: Law, tolerance: float) -> body_fit.Fit:
    """The pose of the law's body in the model's, or an error that says what else would do."""
    try:
        return body_fit.fit(model, key, law.body, tolerance)
    except checks.InputError as error:
        if not hasattr(law, "as_material"):
            raise
        raise checks.InputError(
            f"{str(error).rstrip('.')}; take the body as it was identified, from stiction.mujoco.to_mjcf(law) or "
            "found.mjcf(), give the result of stiction.identify itself, which brings its mass properties, or use "
            "law.as_material(), which holds for any body."
        ) from None


def _check_surfaces(model: Any, learned: Iterable[Hashable], fits: Iterable[body_fit.Fit]) -> None:
    """Refuse learned laws of bodies whose surfaces move over them, or stick."""
    active = has_active_surface(model)
    for key, one in zip(learned, fits):
        if active[mjcf.contact_geoms(model, one.body)].any():
            raise checks.InputError(
                f"The law of {key!r} was learned for a passive surface, but geoms of its body have surfacevel or "
                "adhesion: use a material, such as law.as_material() or a coefficient of friction."
            )


def divided(laws: Mapping[Hashable, Any]) -> tuple[dict[Hashable, Material], dict[Hashable, Law]]:
    """The materials, and the learned laws of bodies."""
    materials = {key: law for key, law in laws.items() if isinstance(law, Material)}
    return materials, {key: law for key, law in laws.items() if key not in materials}


def max_substep(laws: Iterable[Law]) -> float:
    """Longest step [s] of laws that divide their steps into several equal parts; 0: none does.

    MuJoCo's steps are divided into equal sub-steps that are no longer; they cannot be cut at impacts.
    """
    return min((law.timestep / law.substeps for law in laws if law.substeps > 1), default=0.0)


def check_timestep(timestep: float, laws: Mapping[Any, Law]) -> None:
    """Refuse a time step with which a law cannot be evaluated. Laws that divide their own steps take any."""
    count = _core.substeps_of(timestep, max_substep(laws.values()))
    for name, law in laws.items():
        if law.substeps <= 1 and abs(law.timestep - timestep) > 1e-12:
            raise checks.InputError(
                f"The law of {name!r} is for steps of {law.timestep:g} s, the model has {timestep:g} s."
            )
        if count > 1 and not law.any_timestep:
            raise checks.InputError(
                f"The law of {name!r} holds for steps of {law.timestep:g} s only, and another law divides them into "
                f"{count} sub-steps: use laws that hold for any time step, or none that divides steps."
            )


def _smooth(model: Any, pairs: Pairs | None, angle: float) -> dict[int, SmoothMesh]:
    """Meshes that stand for smooth surfaces, of geoms with materials. angle: of smooth edges [degrees]; 0: none"""
    angle = checks.non_negative("smooth [degrees]", angle)
    if pairs is None or angle == 0.0:
        return {}
    table = np.array(pairs.table).reshape(pairs.classes, pairs.classes)
    has_law = [bool((row >= 0).any()) for row in table]
    return smooth_meshes(model, [g for g, number in enumerate(pairs.class_of) if has_law[number]], angle)


def _raise_gaps(model: Any, pairs: Pairs, gap: float) -> None:
    """Change the model so that MuJoCo lists contacts with materials before they touch.

    Which contacts are active stays as it is: MuJoCo lists those nearer than margin and gap together, and acts on those
    nearer than the margin.
    """
    # Gaps of two geoms add up. Between geoms that no key names there may be a law, too: by the key "*".
    class_of = np.array(pairs.class_of, dtype=int)
    table = np.array(pairs.table).reshape(pairs.classes, pairs.classes)
    unnamed = gap / 2 * (table[: pairs.unnamed, : pairs.unnamed] >= 0).any(axis=1)
    wanted = np.append(unnamed, np.full(pairs.classes - pairs.unnamed, gap))[class_of]
    model.geom_gap[:] = np.maximum(model.geom_gap, wanted)
    np.maximum.at(model.body_margin, model.geom_bodyid, model.geom_margin + model.geom_gap)
    for k in range(model.npair):
        if pairs.covers(int(model.pair_geom1[k]), int(model.pair_geom2[k])):
            model.pair_gap[k] = max(model.pair_gap[k], gap)


def _pair_law(material: Material, names_both: bool) -> _core.PairLaw:
    """names_both: whether its key names both geoms of a pair, neither by "*" nor by leaving it out."""
    if len(material.texture):
        raise checks.InputError("A material with a texture serves one body on the ground, not the geoms of a model.")
    bounce = material.restitution
    return _core.PairLaw(
        map=material.native,
        e0=bounce.e0,
        fall=bounce.fall,
        threshold=bounce.threshold,
        body_axes=material.axes == "body",
        n_sub_impacts=material.parts,
        impact_time=bounce.duration,
        lever=bounce.lever,
        lag=bounce.lag,
        names_both=names_both,
        even_faces=material.face == "even",
    )


def _touch_sensors(model: Any) -> list[tuple[int, int, int, int, float]]:
    """Touch sensors without delay: addresses in sensordata, sites, bodies, shapes of the sites, cutoffs [N].

    MuJoCo fills them, but without contacts that have a material, which the core adds.
    """
    found = []
    for k in np.flatnonzero(model.sensor_type == mujoco.mjtSensor.mjSENS_TOUCH):
        if model.sensor_historyadr[k] >= 0 or model.sensor_interval[k].any():
            continue
        site = int(model.sensor_objid[k])
        shape, body = int(model.site_type[site]), int(model.site_bodyid[site])
        found.append((int(model.sensor_adr[k]), site, body, shape, float(model.sensor_cutoff[k])))
    return found
