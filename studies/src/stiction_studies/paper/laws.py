"""How well each shipped law, and its data-driven baseline, predicts single contacts that it has never seen."""

from pathlib import Path
from typing import Any

from stiction.basics.progress import bar
from stiction.evaluation import single_steps
from stiction.laws.learned import KINDS, AugmentedLaw, StatisticalLaw
from stiction.laws.modelfile import load, load_law, shipped_laws
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.study import Study

CONTACTS = {"quick": 500, "usual": 10_000, "full": 40_000}  # of each kind of patch


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Evaluate every shipped law that was trained on throws, print the table and publish the section."""
    study = Study(out, "laws", scale, seed)
    contacts = CONTACTS[study.scale]
    trained = [name for name in shipped_laws() if isinstance(load(name), AugmentedLaw | StatisticalLaw)]
    found: dict[str, dict[str, Any]] = {}
    with bar("Evaluating laws", len(trained)) as progress:
        for name in sorted(trained, key=lambda name: (name.endswith("-pdd"), name)):
            progress.rename(f"Evaluating {name}")
            law = load_law(name)
            fresh = single_steps.fresh_contacts(single_steps.plan_of(law), contacts, seed)
            found[name] = {k.name.lower(): single_steps.evaluate(law, fresh[k]) for k in KINDS if k in fresh}
            progress.advance()
    text = [
        "Fresh throws in the ground truth of each law give contacts that no training has seen. A name that ends with "
        "-pdd is the paper's purely data-driven baseline: the same inputs, half as many throws again, no physics.",
    ]
    tables, plots = [_table(found, contacts)], [_plot(found)]
    section = Section(study.name, "Fresh contacts", text, study.command, tables, plots)
    rows = [
        {"law": name, "patch": kind, "figure": key, "value": float(value)}
        for name, kinds in found.items()
        for kind, figures_of_kind in kinds.items()
        for key, value in figures_of_kind.items()
        if isinstance(value, int | float)
    ]
    study.finish(section, {"contacts_of_each_kind": contacts, "laws": found}, rows)


def _table(found: dict[str, dict[str, Any]], contacts: int) -> Table:
    columns = [  # key of `single_steps.evaluate`, heading, decimals of a percentage
        ("accuracy", "Right mode [%]", 2),
        ("detach_recall", "Detach recall [%]", 2),
        ("friction_error", "Friction [%]", 3),
        ("spin_error", "Spin torque [%]", 3),
        ("impulse_error", "Impulse [%]", 3),
    ]
    rows = []
    for name, kinds in found.items():
        cells = []
        for key, _, digits in columns:
            shares = [of_kind.get(key) for of_kind in kinds.values()]
            shown = ["-" if share is None else f"{100 * share:.{digits}f}" for share in shares]
            cells.append(" / ".join(shown) if any(share is not None for share in shares) else "-")
        rows.append([name, *cells])
    note = (
        f"{contacts:,} contacts of each kind of patch: point / line / surface (a planar body has no surface). Errors: "
        "mean size of the error over the mean size of the true value, for the friction of sliding contacts, its spin "
        "torque, and the impulse of the whole law."
    )
    return Table("Laws that ship, on fresh contacts", ["", *(heading for _, heading, _ in columns)], rows, note)


def _plot(found: dict[str, dict[str, Any]]) -> Plot:
    plot = figures.figure("Error of the whole impulse", "", "mean error / mean size", barmode="group")
    for kind in ("point", "line", "surface"):
        plot.add_bar(x=list(found), y=[kinds.get(kind, {}).get("impulse_error") for kinds in found.values()], name=kind)
    plot.update_yaxes(type="log")
    return Plot(plot, "By kind of patch.")
