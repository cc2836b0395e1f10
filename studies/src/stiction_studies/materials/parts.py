"""The four questions of the study, each answered by figures that are kept."""

from typing import Any

from stiction.bodies.body import Body
from stiction.laws.modelfile import load
from stiction_studies.materials.exam import plan_for
from stiction_studies.materials.grounds import Ground, ground
from stiction_studies.materials.lab import AUGMENTED, COULOMB, LAWS, MATERIAL, ON_MATERIAL, Lab, Source
from stiction_studies.materials.places import ELSEWHERE, HOME, LONG, PRISM, Place

DART_FRICTION = 1.0


def source_of(one: Ground) -> Source:
    """The box, thrown on a ground."""
    return Source(one.name, one.truth, HOME)


def grounds(lab: Lab) -> list[dict[str, Any]]:
    """How well each law learns each ground truth, on the body that was thrown."""
    rows = []
    for one in map(ground, lab.size.grounds):
        plan = plan_for(HOME, one.truth, lab.seed)
        names = LAWS if one.name in lab.size.networks else (COULOMB, MATERIAL)
        if not one.of_points and one.name in lab.size.networks:
            names += (ON_MATERIAL,)
        laws = {law: lab.figures(source_of(one), law, plan) for law in names}
        rows.append({"ground": one.name, "title": one.title, "of_points": one.of_points, "laws": laws})
        rows[-1]["floor"] = lab.floor(plan)
    return rows


def transfer(lab: Lab) -> list[dict[str, Any]]:
    """How well a material learned from the box holds for other bodies and time steps."""
    rows = []
    for one in map(ground, lab.size.grounds):
        if not one.of_points:
            continue
        for place in ELSEWHERE[: lab.size.places]:
            plan = plan_for(place, one.truth, lab.seed)
            figures = lab.figures(source_of(one), MATERIAL, plan)
            rows.append({"ground": one.name, "title": one.title, "place": place.title})
            rows[-1] |= {"laws": {MATERIAL: figures}, "floor": lab.floor(plan)}
    return rows


def dart(lab: Lab) -> list[dict[str, Any]]:
    """A material learned from DART's box, on three bodies, beside networks that learned each of them."""
    rows = []
    for place in (HOME, PRISM, LONG) if lab.size.dart else ():
        plan = plan_for(place, "dantzig", lab.seed, DART_FRICTION)
        laws = {}
        for throws in lab.size.dart:
            laws[f"{MATERIAL}, {throws} throws of the box"] = lab.figures(_dart(HOME), MATERIAL, plan, throws)
        shipped = _shipped(place.body)
        if shipped:
            laws[f"networks, shipped ({shipped})"] = lab.judged(load(shipped), shipped, plan)
        elif lab.size.networks:
            laws[f"networks, {lab.size.throws} throws of its own"] = lab.figures(_dart(place), AUGMENTED, plan)
        rows.append({"place": place.title, "laws": laws, "floor": lab.floor(plan)})
    return rows


def _dart(place: Place) -> Source:
    return Source(f"dart-{place.title.split()[0].strip(',')}", "dantzig", place, DART_FRICTION)


def _shipped(body: Body) -> str | None:
    return next((name for name in ("box", "prism") if load(name).body.same_as(body)), None)


def efficiency(lab: Lab) -> list[dict[str, Any]]:
    """Errors against the number of training throws."""
    rows = []
    for one in map(ground, lab.size.efficient):
        plan = plan_for(HOME, one.truth, lab.seed)
        for throws in lab.size.counts:
            laws = [COULOMB, MATERIAL]
            if one.name in lab.size.networks and throws in lab.size.counts[1::2]:
                laws.append(AUGMENTED)
            for law in laws:
                figures = lab.figures(source_of(one), law, plan, throws)
                rows.append({"ground": one.name, "title": one.title, "learned_from": throws, "name": law} | figures)
    return rows
