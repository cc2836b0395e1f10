"""Friction that no Coulomb law expresses: learned as a material, by the paper's networks and by others, and judged.

A material is friction at a point of contact as a function of slip direction, slip speed and load. Learned from throws
of one box, it is used on other bodies, masses and time steps.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from stiction.fit.report import plot_material
from stiction_studies.materials import parts, tables
from stiction_studies.materials.grounds import GROUNDS, ground
from stiction_studies.materials.lab import Lab, Size
from stiction_studies.materials.places import ELSEWHERE
from stiction_studies.materials.plots import efficiency_plot
from stiction_studies.page.section import Picture, Section
from stiction_studies.study import Study

_ALL = tuple(one.name for one in GROUNDS)
SCALES = {
    "quick": Size(16, 100, 300, 10, ("direction", "creeping"), ("direction",), 1, (8,), ("direction",), (16,)),
    "usual": Size(128, 1000, 3000, 50, _ALL, _ALL, len(ELSEWHERE), (8, 32, 128), ("direction", "speed"), (64, 128)),
    "full": Size(
        400, 3000, 10_000, 200, _ALL, _ALL, len(ELSEWHERE),
        (8, 16, 32, 64, 128, 400), ("direction", "speed"), (64, 400),
    ),
}  # fmt: skip
_TEXT = [
    "What is unknown about friction is how a point of contact resists as it slips: in which direction, how fast, under "
    "which load. How the points of a rigid patch act together is physics, and is solved. A material is that function, "
    "learned from throws. It belongs to two surfaces, not to a body.",
    "Eight ground truths, none of which Coulomb's law expresses, are thrown on with one box. Six are made of points. "
    "Two are not: a ground on which everything creeps, and soft pads, which resist being spun about a single corner. "
    "Coulomb's law is the best one that held-out throws choose; `augmented` are the paper's networks; PDD is the "
    "purely data-driven baseline, with half as many throws again. `augmented on material` are networks that correct "
    "a material instead of a fitted Coulomb guess.",
    "Then the materials are put on bodies and time steps that they have never seen, and one that was learned from the "
    "box in DART is compared with networks that learned each body there.",
]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Learn and judge what is not in the folder yet; print the tables, write results and publish the section."""
    study = Study(out, "materials", scale, seed)
    with Console(stderr=True).status("") as status:
        lab = Lab(study.folder, SCALES[scale], study.seed, status.update)
        found = {name: getattr(parts, name)(lab) for name in ("grounds", "transfer", "dart", "efficiency")}
        pictures = _pictures(lab)
    shown = [
        tables.grounds_table(found["grounds"]),
        tables.structure_table(found["grounds"]),
        tables.transfer_table(found["transfer"]),
        tables.dart_table(found["dart"]),
        tables.efficiency_table(found["efficiency"]),
    ]
    shown = [table for table in shown if table.rows]
    plots = [efficiency_plot(found["efficiency"])] if found["efficiency"] else []
    section = Section(study.name, "Materials", _text(lab.size), study.command, shown, plots, pictures=pictures)
    rows = [row for name, part in found.items() for row in tables.flat_rows(name, part)]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    content: dict[str, Any] = {"size": asdict(lab.size), **found}
    study.finish(section, content, columns, "torch", "scikit-learn", "scipy", "dartpy")


def _text(size: Size) -> list[str]:
    return [
        *_TEXT,
        f"{size.throws} throws of 1.6 s to learn from, {size.steps:,} optimiser steps a network, {size.contacts:,} "
        f"fresh contacts of each kind of patch and {size.tests} fresh throws to judge.",
    ]


def _pictures(lab: Lab) -> list[Picture]:
    """The learned maps, also as files in the folder of the study."""
    pictures = []
    for one in map(ground, lab.size.grounds):
        path = lab.folder / f"map-{one.name}.png"
        plot_material(lab.material(parts.source_of(one)), path, truth=one.truth, title=one.title)
        caption = f"{one.title}: friction over direction, speed and load, with bands of 95 %. Shaded: what was seen."
        pictures.append(Picture(path.read_bytes(), f"Friction map, true and learned: {one.title}", caption))
    return pictures
