"""How well each law that ships predicts single contacts that it has never seen, beside its data-driven baseline."""

from pathlib import Path
from typing import Any

from stiction.basics.progress import bar
from stiction.evaluation import single_steps as singlestep
from stiction.laws.learned import KINDS, AugmentedLaw, StatisticalLaw
from stiction.laws.modelfile import load, load_law, shipped_laws
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study, joined

CONTACTS = {"quick": 500, "usual": 10_000, "full": 40_000}  # of each kind of patch
# What is told of each kind of patch: key of `singlestep.evaluate`, heading, decimals of a percentage.
_TOLD = [
    ("accuracy", "Right mode [%]", 2),
    ("detach_recall", "Detach recall [%]", 2),
    ("friction_error", "Friction [%]", 3),
    ("spin_error", "Spin torque [%]", 3),
    ("impulse_error", "Impulse [%]", 3),
]
_TEXT = [
    "Fresh throws in the ground truth of each law give contacts that no training has seen. A name that ends with -pdd "
    "is the paper's purely data-driven baseline: the same inputs, half as many throws again, no physics.",
]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Ask every shipped law that was trained on throws, print the table and publish the section."""
    study = Study(out, "laws", scale, seed)
    names = sorted(filter(_has_truth, shipped_laws()), key=lambda name: (name.endswith("-pdd"), name))
    found: dict[str, dict[str, Any]] = {}
    with bar("Asking laws", len(names)) as progress:
        for name in names:
            progress.rename(f"Asking {name}")
            found[name] = ask(name, CONTACTS[study.scale], seed)
            progress.advance()
    content = {"contacts_of_each_kind": CONTACTS[study.scale], "laws": found}
    section = Section(
        study.name, "Fresh contacts", _TEXT, study.command, [_table(found, CONTACTS[study.scale])], [_plot(found)], []
    )
    study.finish(section, content, joined(_rows(found)), "dartpy")


def ask(name: str, contacts: int, seed: int) -> dict[str, Any]:
    """Figures of one law by kind of patch."""
    law = load_law(name)
    fresh = singlestep.fresh_contacts(singlestep.plan_of(law), contacts, seed)
    return {kind.name.lower(): singlestep.evaluate(law, fresh[kind]) for kind in KINDS if kind in fresh}


def _has_truth(name: str) -> bool:
    return isinstance(load(name), AugmentedLaw | StatisticalLaw)


def _table(found: dict[str, dict[str, Any]], contacts: int) -> Table:
    rows = []
    for name, kinds in found.items():
        cells = []
        for key, _, digits in _TOLD:
            shares = [figures.get(key) for figures in kinds.values()]
            told = ["-" if share is None else f"{100 * share:.{digits}f}" for share in shares]
            cells.append(" / ".join(told) if any(share is not None for share in shares) else "-")
        rows.append([name, *cells])
    note = (
        f"{contacts:,} contacts of each kind of patch: point / line / surface (a planar body has no surface). Errors "
        "are the mean size of the error over the mean size of the true value: of friction where contacts slide, of its "
        "spin torque, and of the impulse of the whole law."
    )
    return Table("Laws that ship, on fresh contacts", ["", *(heading for _, heading, _ in _TOLD)], rows, note)


def _plot(found: dict[str, dict[str, Any]]) -> Plot:
    plot = figures.figure("Error of the whole impulse", "", "mean error / mean size", barmode="group")
    for kind in ("point", "line", "surface"):
        plot.add_bar(x=list(found), y=[kinds.get(kind, {}).get("impulse_error") for kinds in found.values()], name=kind)
    plot.update_yaxes(type="log")
    return Plot(plot, "By kind of patch.")


def _rows(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each law, kind of patch and figure that is a number."""
    return [
        {"law": name, "patch": kind, "figure": key, "value": float(value)}
        for name, kinds in found.items()
        for kind, told in kinds.items()
        for key, value in told.items()
        if isinstance(value, int | float)
    ]
