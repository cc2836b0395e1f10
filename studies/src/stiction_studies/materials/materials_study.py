"""Friction that no Coulomb law expresses: learned as a material, by the paper's networks and by others, and evaluated.

A material is friction at a point of contact as a function of slip direction, slip speed and load. Learned from throws
of one box, it is used on other bodies, masses and time steps.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from stiction.fit.report import plot_material
from stiction.laws.modelfile import load
from stiction_studies import figures
from stiction_studies.materials import frictions_study
from stiction_studies.materials.grounds import ELSEWHERE, GROUNDS, HOME, LONG, PRISM, Ground, Setup, ground
from stiction_studies.materials.lab import (
    AUGMENTED,
    COULOMB,
    LAWS,
    MATERIAL,
    ON_MATERIAL,
    PERTURBATIONS,
    Lab,
    Scale,
    Source,
    plan_for,
)
from stiction_studies.page.section import Picture, Plot, Section, Table
from stiction_studies.study import Study, number, percent

Rows = list[dict[str, Any]]
PATCHES = ("point", "line", "surface")
_ALL = tuple(one.name for one in GROUNDS)
SCALES = {
    "quick": Scale(16, 100, 300, 10, ("direction", "creeping"), ("direction",), 1, (8,), ("direction",), (16,)),
    "usual": Scale(128, 1000, 3000, 50, _ALL, _ALL, len(ELSEWHERE), (8, 32, 128), ("direction", "speed"), (64, 128)),
    "full": Scale(
        400, 3000, 10_000, 200, _ALL, _ALL, len(ELSEWHERE),
        (8, 16, 32, 64, 128, 400), ("direction", "speed"), (64, 400),
    ),
}  # fmt: skip


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Train and evaluate what is not in the folder yet; print the tables, write the results, publish the section."""
    study = Study(out, "materials", scale, seed)
    with Console(stderr=True).status("") as status:
        lab = Lab(study.folder, SCALES[scale], study.seed, status.update)
        found = {"grounds": grounds(lab), "transfer": transfer(lab), "dart": dart(lab), "efficiency": efficiency(lab)}
        pictures = _pictures(lab)
    size = lab.size
    text = [
        "The unknown part of friction is how a point of contact resists as it slips: in which direction, how fast, "
        "under which load. How the points of a rigid patch act together is physics, and is solved. A material is that "
        "function, learned from throws. It belongs to two surfaces, not to a body.",
        "One box is thrown on eight ground truths, none of which Coulomb's law expresses. Six have friction at points. "
        "Two do not: a ground on which everything creeps, and soft pads, which resist spinning about a single corner. "
        "Coulomb's law is the best one by held-out throws; `augmented` are the paper's networks; PDD is the purely "
        "data-driven baseline, with half as many throws again. `augmented on material` are networks that correct a "
        "material instead of a fitted Coulomb guess.",
        "Then the materials are used on bodies and time steps that they have never seen, and one that was learned from "
        "the box in DART is compared with networks that were trained on each body there.",
        f"{size.throws} training throws of 1.6 s, {size.steps:,} optimiser steps a network, {size.contacts:,} fresh "
        f"contacts of each kind of patch and {size.tests} fresh throws for the evaluation.",
    ]
    tables = [
        _grounds_table(found["grounds"]),
        _structure_table(found["grounds"]),
        _transfer_table(found["transfer"]),
        _dart_table(found["dart"]),
        _efficiency_table(found["efficiency"]),
    ]
    tables = [table for table in tables if table.rows]
    plots = [_efficiency_plot(found["efficiency"])] if found["efficiency"] else []
    section = Section(study.name, "Materials", text, study.command, tables, plots, pictures=pictures)
    rows = [row for name, part in found.items() for row in flat_rows(name, part)]
    content: dict[str, Any] = {"size": asdict(size), **found}
    study.finish(section, content, rows)
    frictions_study.run(out, scale=scale, seed=seed, by=study.name)


def _pictures(lab: Lab) -> list[Picture]:
    """The learned friction maps, also as files in the folder of the study."""
    pictures = []
    for one in map(ground, lab.size.grounds):
        path = lab.folder / f"map-{one.name}.png"
        plot_material(lab.material(_source(one)), path, truth=one.truth, title=one.title)
        caption = f"{one.title}: friction over direction, speed and load, with 95 % bands. Shaded: range of the data."
        pictures.append(Picture(path.read_bytes(), f"Friction map, true and learned: {one.title}", caption))
    return pictures


# The four questions, each answered by rows of figures.


def _source(one: Ground) -> Source:
    return Source(one.name, one.truth, HOME)


def grounds(lab: Lab) -> Rows:
    """How well each law learns each ground truth, on the body of the training throws."""
    rows = []
    for one in map(ground, lab.size.grounds):
        plan = plan_for(HOME, one.truth, lab.seed)
        names = LAWS if one.name in lab.size.networks else (COULOMB, MATERIAL)
        if not one.of_points and one.name in lab.size.networks:
            names += (ON_MATERIAL,)
        laws = {law: lab.figures(_source(one), law, plan) for law in names}
        row = {"ground": one.name, "title": one.title, "of_points": one.of_points, "laws": laws}
        rows.append(row | {"floor": lab.chaos(plan)})
    return rows


def transfer(lab: Lab) -> Rows:
    """How well a material learned from the box predicts other bodies and time steps."""
    rows = []
    for one in map(ground, lab.size.grounds):
        for setup in ELSEWHERE[: lab.size.places] if one.of_points else ():
            plan = plan_for(setup, one.truth, lab.seed)
            laws = {MATERIAL: lab.figures(_source(one), MATERIAL, plan)}
            row = {"ground": one.name, "title": one.title, "place": setup.title, "laws": laws}
            rows.append(row | {"floor": lab.chaos(plan)})
    return rows


def dart(lab: Lab) -> Rows:
    """A material learned from DART's box, on three bodies, beside networks trained on each of them."""

    def source(setup: Setup) -> Source:
        return Source(f"dart-{setup.title.split()[0].strip(',')}", "dantzig", setup, 1.0)

    rows = []
    for setup in (HOME, PRISM, LONG) if lab.size.dart else ():
        plan = plan_for(setup, "dantzig", lab.seed, 1.0)
        laws = {
            f"{MATERIAL}, {throws} throws of the box": lab.figures(source(HOME), MATERIAL, plan, throws)
            for throws in lab.size.dart
        }
        shipped = next((name for name in ("box", "prism") if load(name).body.same_as(setup.body)), None)
        if shipped:
            laws[f"networks, shipped ({shipped})"] = lab.shipped_figures(shipped, plan)
        elif lab.size.networks:
            laws[f"networks, {lab.size.throws} throws of its own"] = lab.figures(source(setup), AUGMENTED, plan)
        rows.append({"place": setup.title, "laws": laws, "floor": lab.chaos(plan)})
    return rows


def efficiency(lab: Lab) -> Rows:
    """Errors against the number of training throws."""
    rows = []
    for one in map(ground, lab.size.efficient):
        plan = plan_for(HOME, one.truth, lab.seed)
        for throws in lab.size.counts:
            laws = [COULOMB, MATERIAL]
            if one.name in lab.size.networks and throws in lab.size.counts[1::2]:
                laws.append(AUGMENTED)
            for law in laws:
                row = {"ground": one.name, "title": one.title, "learned_from": throws, "name": law}
                rows.append(row | lab.figures(_source(one), law, plan, throws))
    return rows


_COLUMNS = [
    "", "Friction: point", "line", "surface", "Right mode", "Position, mean", "Position, median", "Right face",
]  # fmt: skip


def _grounds_table(rows: Rows) -> Table:
    note = (
        "Friction: mean size of the error over mean size of friction of sliding contacts. Right mode: the lowest of "
        "the three kinds of patch. Position: error at the end of a throw as a share of the mean distance, with the "
        "95 % interval of a bootstrap over the throws. ± 1e-6 and ± 1e-4: the ground truth itself, with position [m], "
        "orientation [rad], velocity [m/s] and spin [rad/s] of the start each perturbed by that much."
    )
    return Table("Learned from throws of the box", _COLUMNS, _law_cells(rows, "title"), note)


def _dart_table(rows: Rows) -> Table:
    note = "Friction 1.0, Dantzig solver."
    return Table("DART: a material learned from the box alone", _COLUMNS, _law_cells(rows, "place"), note)


def _law_cells(rows: Rows, key: str) -> list[list[str]]:
    """Cells of each law, and of the ground truth from perturbed starts."""
    cells = []
    for row in rows:
        cells += [[f"{row[key]}: {name}", *cells_of(found)] for name, found in row["laws"].items()]
        for size in PERTURBATIONS:
            name = f"{row[key]}: itself, ± {size:.0e}".replace("e-0", "e-")
            cells.append([name, *["–"] * 4, *_throw_cells(row["floor"][f"{size:g}"])])
    return cells


def _structure_table(rows: Rows) -> Table:
    """The variables that each material was found to depend on, and its held-out error."""
    cells = []
    for row in rows:
        law = row["laws"][MATERIAL]["law"]
        held = law["held_out"]["all"]
        cells.append(
            [
                row["title"],
                law["structure"]["depends_on"],
                law["structure"]["switches"],
                percent(held["friction_error"]) if "friction_error" in held else "–",
                "–" if held.get("noise_floor") is None else percent(held["noise_floor"]),
                "yes" if law["warning"] else "no",
                f"{number(law['seconds'])} s",
            ]
        )
    columns = ["", "Depends on", "Switches", "Held-out residual", "Of it noise", "Warns", "Learning"]
    note = (
        "Held-out residual: error of friction in throws outside the training data. A material warns where it is large "
        "and more than noise explains: then the truth is not, or not only, friction at points."
    )
    return Table("Structure and held-out error of each material", columns, cells, note)


def _transfer_table(rows: Rows) -> Table:
    cells = []
    for row in rows:
        mean, _median, face = _throw_cells(row["floor"][f"{PERTURBATIONS[1]:g}"])
        cells.append([f"{row['title']}: {row['place']}", *cells_of(row["laws"][MATERIAL]), mean, face])
    note = (
        "Each material was learned from the box of 1 kg at steps of 2 ms. A kind of patch that never slides, or never "
        "occurs, has no error. The last two columns are of the ground truth itself, its start perturbed by 1e-4: a "
        "stone of many small faces seldom ends on the same one."
    )
    return Table("Carried to other bodies and time steps", [*_COLUMNS, "± 1e-4: mean", "right face"], cells, note)


def _efficiency_table(rows: Rows) -> Table:
    ordered = sorted(rows, key=lambda row: (row["ground"], row["name"], row["learned_from"]))
    cells = [[f"{row['title']}: {row['name']}, {row['learned_from']} throws", *cells_of(row)] for row in ordered]
    return Table("How much data", _COLUMNS, cells)


def cells_of(found: dict[str, Any]) -> list[str]:
    """The cells of one law after its name."""
    kinds = [found["kinds"].get(kind, {}) for kind in PATCHES]
    friction = [percent(kind["friction_error"]) if "friction_error" in kind else "–" for kind in kinds]
    modes = [kind["accuracy"] for kind in kinds if "accuracy" in kind]
    return [*friction, f"{100 * min(modes):.2f} %" if modes else "–", *_throw_cells(found["throws"])]


def _throw_cells(found: dict[str, Any]) -> list[str]:
    if "mean" not in found:
        return ["diverged"] * 3
    cells = []
    for name in ("mean", "median"):
        low, high = (number(100 * limit) for limit in found[f"{name}_95"])
        cells.append(f"{percent(found[name])} ({low}–{high})")
    diverged = f" ({found['lost']} diverged)" if found["lost"] else ""
    return [*cells, f"{100 * found['right_face']:.1f} %{diverged}"]


def flat_rows(part: str, rows: Sequence[dict[str, Any]]) -> Rows:
    """One row a law, for the Parquet file."""
    flat = []
    for row in rows:
        for name, found in row.get("laws", {row.get("name"): row}).items():
            one = {"part": part, "ground": row.get("ground", "dart"), "place": row.get("place", HOME.title)}
            one |= {"law": name, "throws": found.get("law", {}).get("throws")}
            for kind in PATCHES:
                of_kind = found["kinds"].get(kind, {})
                one[f"{kind}_friction_error"] = of_kind.get("friction_error")
                one[f"{kind}_accuracy"] = of_kind.get("accuracy")
            for key in ("mean", "median", "right_face", "lost"):
                one[f"position_{key}" if key in ("mean", "median") else key] = found["throws"].get(key)
            flat.append(one)
    return flat


def _efficiency_plot(rows: Rows) -> Plot:
    """Error of whole throws against the number of training throws."""
    series = {}
    for title, colour in zip(dict.fromkeys(row["title"] for row in rows), figures.SERIES):
        for law, dash in {MATERIAL: "solid", COULOMB: "dot", AUGMENTED: "dash"}.items():
            some = [row for row in rows if (row["title"], row["name"]) == (title, law) and "mean" in row["throws"]]
            if some:
                x, y = [row["learned_from"] for row in some], [100 * row["throws"]["mean"] for row in some]
                series[f"{title}: {law}"] = x, y, {"color": colour, "dash": dash}
    figure = figures.against_throws("How much data: mean error of the final position", series, lowest=-5)
    return Plot(figure, "Solid: material. Dotted: Coulomb's law. Dashed: the paper's networks.")
