"""Errors of a law on single contacts: fresh ones from its ground truth, never seen in training."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction import _core
from stiction.basics import checks
from stiction.basics.environment import versions
from stiction.bodies.state import Kind, Mode
from stiction.bodies.throws import drawn
from stiction.data.collection_plan import Plan
from stiction.data.ground_truth import to_truth
from stiction.data.instances import contact_instances
from stiction.data.store import Columns, chosen
from stiction.fit.report import titled_table
from stiction.laws.approximators import Network
from stiction.laws.law import Law, NativeLaw, as_law
from stiction.laws.learned import KINDS, AugmentedLaw
from stiction.simulation.motion import Setting
from stiction.training.examples import Instances, contacts_of, to_instances

FRESH = 1_000_003  # added to a data set's seed: throws that no training has seen
_MODES = (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)


@dataclass(frozen=True)
class Fresh:
    """Contacts of one kind, and the same as instances, with the impulses and modes of the ground truth."""

    contacts: _core.Contacts
    instances: Instances


def figures_of(name: str, law: Any, *, contacts: int = 40_000, truth: Any = None, seed: int = 0) -> dict[str, Any]:
    """Figures of any law on fresh contacts of a ground truth.

    truth: as for `stiction.collect`; by default the one that the law was trained on
    """
    law = as_law(law)
    checks.count("contacts", contacts, 1, 10**7)
    plan = plan_of(law, truth)
    fresh = fresh_contacts(plan, contacts, checks.count("seed", seed, 0))
    native = law if isinstance(law, NativeLaw) else _ByCallback(law)
    parameters: dict[str, Any] = {"contacts": contacts, "seed": seed}
    if truth is not None:
        parameters["truth"] = truth if isinstance(truth, str) else repr(truth)
    return {
        "law": str(name),
        "parameters": parameters,
        "versions": versions("numpy"),
        "kinds": {kind.name.lower(): evaluate(native, fresh[kind]) for kind in KINDS if kind in fresh},
    }


class _ByCallback(NativeLaw):
    """A law in plain Python, called through the core."""

    def __init__(self, law: Law) -> None:
        self.body, self.timestep, self.softness, self.whole = law.body, law.timestep, law.softness, law.whole
        self._native = law.native

    @property
    def native(self) -> _core.Law:
        return self._native


def plan_of(law: Law, truth: Any = None) -> Plan:
    """The plan of the data that the law was trained on, with another ground truth if one is given."""
    if "plan" in (info := getattr(law, "info", {})):
        plan = Plan.from_dict(info["plan"])
        if truth is None:
            return plan
        return replace(plan, truth=to_truth(truth, plan.body, timestep=plan.timestep, gravity=plan.gravity))
    if truth is None:
        raise checks.InputError("This law does not say what it was trained on: give a ground truth (truth).")
    asked = to_truth(truth, law.body, timestep=law.timestep, gravity=law.gravity)
    return Plan(law.body, asked, throws=1, timestep=law.timestep, gravity=law.gravity)


def fresh_contacts(plan: Plan, number: int, seed: int) -> dict[Kind, Fresh]:
    """At least `number` contacts of each kind (fewer where 20 times as many throws do not bring them)."""
    setting = Setting(plan.timestep, np.array(plan.gravity))
    parts: list[Columns] = []
    throws, batch = 0, 25
    most = max(50, 20 * number // 100)
    with Console(stderr=True).status("Asking the ground truth") as status:
        while throws < most and _fewest(parts) < number:
            start = drawn(plan.body, plan.ranges, plan.seed + seed + FRESH, range(throws, throws + batch))
            run = plan.truth.throw(
                plan.body, start, plan.steps, timestep=plan.timestep, gravity=plan.gravity, finite=False
            )
            parts.append(contact_instances(plan.body, run, setting))
            throws += batch
            status.update(f"Asking the ground truth: {throws} throws")
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    result = {}
    for kind in KINDS:
        rows = np.flatnonzero(whole["kind"] == kind)[:number]
        if len(rows):
            instances = to_instances(plan.body, chosen(whole, rows))
            result[kind] = Fresh(contacts_of(plan.body, instances, setting), instances)
    return result


def _fewest(parts: list[Columns]) -> int:
    """Number of contacts of the rarest kind that occurs at all; 0 if there are none."""
    counts = sum(np.bincount(part["kind"], minlength=4)[1:] for part in parts)
    return min((int(count) for count in np.atleast_1d(counts) if count), default=0)


def evaluate(law: NativeLaw, fresh: Fresh) -> dict[str, Any]:
    """Errors of a law on contacts of one kind; relative errors are mean |error| / mean |truth|.

    Friction is that of the regressor for sliding contacts; for a law without one, that in its impulses.
    """
    figures: dict[str, Any] = {"contacts": len(fresh.instances.mode)}
    slides = np.flatnonzero(fresh.instances.mode == Mode.DYNAMIC)
    if not law.whole:
        mode = _modes_of(law, fresh.contacts)
        figures |= _modes(fresh.instances.mode, mode)
    impulse = law.respond(fresh.contacts)[0]
    if isinstance(law, AugmentedLaw):
        mode = law.classify(fresh.contacts)
        p_f = law.friction(fresh.contacts, slides)[:, :3]
        figures |= _rounding(law, fresh.contacts, mode, slides, p_f)
    else:
        p_f = _friction_at_centre(fresh.contacts, slides, impulse[slides])
    figures |= _friction_errors(_friction_at_centre(fresh.contacts, slides, fresh.instances.impulse[slides]), p_f)
    wrong = np.linalg.norm(impulse[:, :3] - fresh.instances.impulse[:, :3], axis=1).mean()
    figures["impulse_error"] = float(wrong / np.linalg.norm(fresh.instances.impulse[:, :3], axis=1).mean())
    return figures


def _modes_of(law: NativeLaw, contacts: _core.Contacts) -> NDArray[np.int64]:
    """Modes (n,). A soft law never stops a patch exactly: its modes are found from the motion, as in a rollout."""
    if not law.softness:
        return law.classify(contacts)
    impulse = law.respond(contacts)[0]
    after = contacts.record.velocity + np.einsum("nij,nj->ni", contacts.inverse_inertia, impulse)
    return np.asarray(contacts.observe(after)[1])


def friction_error(law: NativeLaw, fresh: Fresh) -> float:
    """Mean size of the error of friction in a law's impulses, where contacts slide, relative to its mean size."""
    slides = np.flatnonzero(fresh.instances.mode == Mode.DYNAMIC)
    impulses = law.respond(fresh.contacts)[0], fresh.instances.impulse
    guess, truth = (_friction_at_centre(fresh.contacts, slides, impulse[slides]) for impulse in impulses)
    return _friction_errors(truth, guess)["friction_error"]


def _rounding(
    law: AugmentedLaw, contacts: _core.Contacts, mode: NDArray, slides: NDArray, p_f: NDArray
) -> dict[str, Any]:
    """Effect of single precision in the networks: the number of modes that double precision would change, and the
    change of friction, mean |difference| / mean |friction|."""
    kind = Kind(int(contacts.record.kind[0]))
    classifier, regressor = law.parts[kind]
    if law.material is not None or not (isinstance(classifier, Network) and isinstance(regressor, Network)):
        return {}
    inputs = contacts.record.features[:, : law.inputs.size(kind)]
    described = contacts.record.unit_impulse > 0
    exact = np.array(_MODES)[classifier.in_double(inputs).argmax(axis=1)]
    figures: dict[str, Any] = {"modes_rounded": int((exact != mode)[described].sum())}
    if len(slides):
        outputs = np.zeros((len(slides), 3))
        outputs[:, : regressor.sizes[-1]] = regressor.in_double(inputs[slides])
        exact_p_f = np.array([_core.friction_from(contacts, int(i), row) for i, row in zip(slides, outputs)])
        size = np.linalg.norm(p_f[:, :2], axis=1).mean()
        if size > 0:  # a network may return zero throughout
            figures["friction_rounded"] = float(np.linalg.norm((p_f - exact_p_f)[:, :2], axis=1).mean() / size)
    return figures


def _modes(truth: NDArray, guess: NDArray) -> dict[str, Any]:
    confusion = np.array([[np.sum((truth == a) & (guess == b)) for b in _MODES] for a in _MODES])
    totals = confusion.sum(axis=1)
    recall = np.diag(confusion)[totals > 0] / totals[totals > 0]
    return {
        "accuracy": float(np.trace(confusion) / totals.sum()),
        "balanced_accuracy": float(recall.mean()),
        "detach_recall": float(confusion[2, 2] / totals[2]) if totals[2] else None,
        "confusion_true_rows_static_dynamic_detach": confusion.tolist(),
    }


def _friction_at_centre(contacts: _core.Contacts, rows: NDArray, p: NDArray) -> NDArray[np.float64]:
    """(p_x, p_y, m_z) at the patch's centre of impulses p (k, 6)."""
    centre = contacts.record.centre[rows]
    return np.stack([p[:, 0], p[:, 1], p[:, 5] - (centre[:, 0] * p[:, 1] - centre[:, 1] * p[:, 0])], axis=1)


def _friction_errors(truth: NDArray, guess: NDArray) -> dict[str, Any]:
    figures: dict[str, Any] = {"dynamic": len(truth)}
    for name, columns in (("friction", slice(0, 2)), ("spin", slice(2, 3))):
        a, b = truth[:, columns], guess[:, columns]
        size = np.linalg.norm(a, axis=1).mean() if len(a) else 0.0
        if size > 1e-12:
            figures[f"{name}_error"] = float(np.linalg.norm(a - b, axis=1).mean() / size)
            if len(a) > 1:  # one alone has no variance
                figures[f"{name}_r2"] = float(1 - ((a - b) ** 2).sum() / ((a - a.mean(axis=0)) ** 2).sum())
    return figures


def show(content: dict[str, Any]) -> None:
    """Print the figures as a table."""
    figures: dict[str, dict[str, Any]] = content["kinds"]
    headings = ("patch", "number", "modes", "recall", "detach", "friction", "spin", "impulse")
    table = titled_table(f"{content['law']}: single contacts, fresh from the ground truth", headings, left=("patch",))
    for kind, f in figures.items():
        shares = [f.get(key) for key in ("accuracy", "balanced_accuracy", "detach_recall")]
        errors = [f.get(key) for key in ("friction_error", "spin_error", "impulse_error")]
        cells = [f"{value:.2%}" if value is not None else "-" for value in shares]
        cells += [f"{value:.3%}" if value is not None else "-" for value in errors]
        table.add_row(kind, f"{f['contacts']:,}", *cells)
    console = Console()
    console.print(table)
    console.print("modes: accuracy; recall: mean over the modes; detach: its recall. Errors / true size:")
    console.print("friction where it slides, its spin torque, the whole impulse of the law.")
    rounded = [f for f in figures.values() if "modes_rounded" in f]
    if rounded:
        changed, number = sum(f["modes_rounded"] for f in rounded), sum(f["contacts"] for f in rounded)
        most = max(f.get("friction_rounded", 0.0) for f in rounded)
        console.print(
            f"Networks in double instead of single precision would change {changed} of {number:,} modes and the mean "
            f"friction of a kind by {most:.1g} of its size at most."
        )
