"""Whole throws with DART's other solver as ground truth: NSGS, a round friction cone with coupled normal impulses."""

from pathlib import Path

from stiction_studies.paper.motions import Case
from stiction_studies.paper.trajectories import run_cases
from stiction_studies.study import Study

CASES = (Case("Box, NSGS", "box-nsgs", "box-nsgs-pdd", truth="NSGS"),)
_TEXT = [
    "Beyond the paper: the same throws of the box with another ground truth. DART's NSGS solver has a round friction "
    "cone, where the paper's Dantzig solver has a box along the world axes, and lets friction and normal impulses act "
    "on each other. Nothing in the method is told which of the two it learns from.",
    "NSGS iterates to a tolerance and begins each step with the answer of the step before, so that its impulse is not "
    "quite a function of the state: a law of the state alone cannot follow it to the last digit.",
]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Throw the box, print the tables, write results and publish the section."""
    run_cases(Study(out, "nsgs", scale, seed), CASES, "Another ground truth: NSGS", _TEXT)
