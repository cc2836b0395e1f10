"""Whole throws: box, pentagon prism and planar rectangle, each law and its baseline against DART.

The paper's metrics (final distance, final orientation, first collision impulse) and what they leave out: the final
position, the face that ends below, drift at rest, penetration, energy; and how far DART is from itself when the start
is moved a little, below which no law can come.
"""

from dataclasses import replace
from pathlib import Path

from stiction.basics import checks
from stiction.laws.modelfile import load, load_law
from stiction_studies.page.section import Section
from stiction_studies.paper import motion_tables, motions
from stiction_studies.paper.motions import Case
from stiction_studies.study import Study, joined

THROWS = {"quick": 8, "usual": 100, "full": 200}  # of each body
WATCHED = {"quick": 2, "usual": 10, "full": 30}  # of them, followed for drift
CASES = (
    Case("Box", "box", "box-pdd", replays=2),
    Case("Pentagon prism", "prism", "prism-pdd"),
    Case("Rectangle (2D)", "rectangle", "rectangle-pdd"),
)
_TEXT = [
    "Bodies are thrown with random height, orientation, velocity and spin, and followed for 800 steps of 2 ms: "
    "impacts, rolling, sliding, rest. The ground truth is DART, the paper's. The law has learned from other throws of "
    "the same kind; so has PDD, the purely data-driven baseline, which gets the same inputs and half as much data "
    "again but no physics: it predicts the impulse outright.",
    "A throw is a chain of impacts, and each one multiplies small differences. The grey lines show by how much: they "
    "are DART itself, started a millionth, a ten-thousandth and a thousandth elsewhere.",
]


def run(out: Path, *, scale: str = "usual", seed: int = 0, law: Path | None = None) -> None:
    """Throw all bodies, print the tables, write results and publish the section.

    law: a model file to be judged instead of the shipped laws, beside the baseline of the same body
    """
    cases = CASES if law is None else (_own_case(law),)
    run_cases(Study(out, "trajectories", scale, seed), cases, "Whole throws", _TEXT)


def _own_case(law: Path) -> Case:
    body = load_law(law).body
    for case in CASES:
        if body.same_as(load(case.baseline).body):
            return replace(case, title=f"{case.title}, {law.name}", law=str(law))
    bodies = ", ".join(case.title for case in CASES)
    raise checks.InputError(
        f"--law must be a law of a body with a shipped baseline ({bodies}), got one of {body.shape}."
    )


def run_cases(study: Study, cases: tuple[Case, ...], title: str, text: list[str]) -> None:
    """The study of `cases`; `nsgs` is one too."""
    found = [motions.follow(case, THROWS[study.scale], WATCHED[study.scale], study.seed) for case in cases]
    summaries = [motions.summary(one, study.seed) for one in found]
    tables = [motion_tables.overview(summaries, [one.case.truth for one in found])]
    tables += [motion_tables.details(summary, one.case.truth) for summary, one in zip(summaries, found)]
    plots = [motion_tables.distribution_plot(one) for one in found] + [motion_tables.parting_plot(found[0])]
    replays = [replay for one in found for replay in motions.replays(one)]
    section = Section(study.name, title, text, study.command, tables, plots, replays)
    study.finish(section, {"cases": summaries}, joined(motions.rows(found)), "dartpy")
