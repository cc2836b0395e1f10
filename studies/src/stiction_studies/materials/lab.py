"""Train and evaluate the laws of the study of materials; data sets, models and figures are cached in its folder."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from scipy.optimize import minimize_scalar

from stiction.bodies.state import Mode
from stiction.data.collecting import collect
from stiction.data.collection_plan import Plan
from stiction.data.dataset import DataSet
from stiction.data.ground_truth import to_truth
from stiction.evaluation.single_steps import Fresh, friction_error
from stiction.fit.train_material import train_material
from stiction.laws.coulomb import DART_SOFTNESS, CoulombCone, CoulombLaw
from stiction.laws.law import GRAVITY
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.training.examples import contacts_of, read_instances
from stiction.training.from_data import train
from stiction_studies.materials.grounds import Setup
from stiction_studies.paper import metrics
from stiction_studies.paper.metrics import EvaluationSet
from stiction_studies.study import kept

COULOMB, AUGMENTED, PDD, MATERIAL = "Coulomb", "augmented", "PDD", "material"
ON_MATERIAL = "augmented on material"  # networks that correct a material instead of a fitted Coulomb guess
LAWS = (COULOMB, AUGMENTED, PDD, MATERIAL)
PERTURBATIONS = (1e-6, 1e-4)  # of the start, for the error that chaos causes [m, rad, m/s, rad/s]


@dataclass(frozen=True)
class Source:
    """The throws that a law is trained on.

    name: of the cached files
    truth: ground truth as for `stiction.collect`; friction: for one that is given by its name
    """

    name: str
    truth: Any
    setup: Setup
    friction: float | None = None


@dataclass(frozen=True)
class Scale:
    """How much is done.

    throws: training throws; steps: optimiser steps of each network
    contacts: fresh ones of each kind of patch; tests: fresh throws
    grounds: names of ground truths; networks: those of them for which networks are trained too
    places: how many other bodies and time steps a material is used on
    counts: numbers of training throws, and `efficient` the grounds, for data efficiency
    dart: numbers of training throws in DART
    """

    throws: int
    steps: int
    contacts: int
    tests: int
    grounds: tuple[str, ...]
    networks: tuple[str, ...]
    places: int
    counts: tuple[int, ...]
    efficient: tuple[str, ...]
    dart: tuple[int, ...]


def plan_for(setup: Setup, truth: Any, seed: int, friction: float | None = None) -> Plan:
    """The plan of throws of a setup on a ground truth; `friction` for a ground truth given by its name."""
    known = to_truth(truth, setup.body, friction=friction, timestep=setup.timestep, gravity=GRAVITY)
    return Plan(setup.body, known, 1, setup.steps, seed, timestep=setup.timestep)


class Lab:
    """Trains and evaluates laws, unless the folder already contains the results.

    report: called with a description of the work under way
    """

    def __init__(self, folder: Path, size: Scale, seed: int, report: Callable[[str], None]) -> None:
        self.folder, self.size, self.seed, self.report = folder, size, seed, report
        self._tests: tuple[str, EvaluationSet] | None = None

    def figures(self, source: Source, law: str, plan: Plan, throws: int | None = None) -> dict[str, Any]:
        """Figures of a law trained on the source, in the throws of a plan, with facts about the law."""
        throws = throws or self.size.throws
        key = ["law", law, throws, source.name, source.setup.title, self._key(plan)]
        if law in (AUGMENTED, PDD, ON_MATERIAL):
            key.append(self.size.steps)

        def measure() -> dict[str, Any]:
            trained, facts = self.train(source, law, throws)
            self.report(f"{source.name}: evaluating {law}")
            if isinstance(trained, Material):
                softness = DART_SOFTNESS if isinstance(source.truth, str) else 0.0
                trained = trained.on(plan.body, timestep=plan.timestep, softness=softness)
            return self._test_set(plan).evaluate(trained, self.seed) | {"law": facts}

        return kept(self.folder / "figures", key, measure)

    def shipped_figures(self, name: str, plan: Plan) -> dict[str, Any]:
        """Figures of a shipped law."""
        key = ["given", name, self._key(plan)]
        return kept(self.folder / "figures", key, lambda: self._test_set(plan).evaluate(load(name), self.seed))

    def chaos(self, plan: Plan) -> dict[str, Any]:
        """Errors of the ground truth against itself from perturbed starts: a lower bound on the error of any law."""

        def measure() -> dict[str, Any]:
            tests = self._test_set(plan)
            runs = metrics.perturbed_throws(plan, tests.start, PERTURBATIONS, plan.steps, self.seed)
            return {f"{size:g}": tests.compare_ends(run, self.seed) for size, run in zip(PERTURBATIONS, runs)}

        return kept(self.folder / "figures", ["floor", self._key(plan)], measure)

    def train(self, source: Source, law: str, throws: int) -> tuple[Any, dict[str, Any]]:
        """A law or a material trained on `throws` throws of the source (half as many again for PDD), and facts."""
        data = self.data(source, round(1.5 * throws) if law == PDD else throws)
        self.report(f"{source.name}: training {law} on {data.plan.throws} throws")
        started = time.perf_counter()
        facts: dict[str, Any] = {"throws": data.plan.throws}
        if law == COULOMB:
            trained, found = best_coulomb(data, self.seed)
            facts |= found
        elif law == MATERIAL:
            trained = self.material(source, throws)
            known = ("structure", "held_out", "warning")
            facts |= {name: trained.info[name] for name in known if name in trained.info}
        else:
            kind = "statistical" if law == PDD else "augmented"
            guess = self.material(source, throws) if law == ON_MATERIAL else None
            trained = train(data, law=kind, steps=self.size.steps, seed=self.seed, material=guess, progress=False)
            facts["dropped"] = list(getattr(trained, "dropped", ()))
        return trained, facts | {"seconds": round(time.perf_counter() - started, 1)}

    def material(self, source: Source, throws: int | None = None) -> Material:
        """The material learned from `throws` throws of the source."""
        data = self.data(source, throws or self.size.throws)
        path = self.folder / "models" / f"{source.name}-{data.fingerprint[:12]}-{self.seed}.safetensors"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            train_material(data, seed=self.seed).save(path)
        return load(path)

    def data(self, source: Source, throws: int) -> DataSet:
        """A data set of `throws` throws of the source."""
        self.report(f"{source.name}: {throws} throws")
        out = self.folder / "data" / f"{source.name}-{throws}-{self.seed}"
        setup = source.setup
        return collect(
            setup.body, source.truth, throws=throws, steps=setup.steps, seed=self.seed, out=out,
            friction=source.friction, timestep=setup.timestep, progress=False,
        )  # fmt: skip

    def _test_set(self, plan: Plan) -> EvaluationSet:
        if self._tests is None or self._tests[0] != plan.fingerprint:  # only the last one is kept: they are large
            self.report("Simulating the ground truth")
            size = self.size
            tests = EvaluationSet.drawn(plan, contacts=size.contacts, throws=size.tests, seed=self.seed)
            self._tests = plan.fingerprint, tests
        return self._tests[1]

    def _key(self, plan: Plan) -> dict[str, Any]:
        return {"plan": plan.fingerprint, "contacts": self.size.contacts, "tests": self.size.tests, "seed": self.seed}


def best_coulomb(data: DataSet, seed: int) -> tuple[CoulombLaw, dict[str, Any]]:
    """The CoulombLaw with the smallest friction error on held-out throws, and its parameters.

    Candidates are both cones, each with one coefficient and with one along each axis. Coefficients are fitted to three
    quarters of the throws and compared on the others, then fitted once more to all of them, on at most 1,000 sliding
    contacts.
    """
    instances = read_instances(data, 600_000, seed)
    sliding = np.flatnonzero(instances.mode == Mode.DYNAMIC)
    instances = instances[np.sort(np.random.default_rng(seed).permutation(sliding)[:1000])]
    held = instances.throw % 4 == 3
    parts = [instances, instances[np.flatnonzero(~held)], instances[np.flatnonzero(held)]]
    if not all(len(part) for part in parts):
        parts = [instances] * 3
    everything, fitting, testing = (Fresh(contacts_of(data.body, part, data.setting), part) for part in parts)

    def law(mu: tuple[float, float], cone: CoulombCone) -> CoulombLaw:
        return CoulombLaw(data.body, mu, cone=cone, softness=0.0, timestep=data.plan.timestep)

    candidates = []
    for cone in get_args(CoulombCone):
        for fit in (_fit_one, _fit_two):
            mu = fit(lambda mu, cone=cone: friction_error(law(mu, cone), fitting))
            candidates.append((friction_error(law(mu, cone), testing), cone, fit))
    error, cone, fit = min(candidates, key=lambda one: one[0])
    mu = fit(lambda mu: friction_error(law(mu, cone), everything))
    return law(mu, cone), {"cone": cone, "friction": list(mu), "held_out_error": error}


Objective = Callable[[tuple[float, float]], float]


def _minimise(objective: Callable[[float], float]) -> float:
    found = minimize_scalar(objective, bounds=(0.02, 3.0), method="bounded", options={"xatol": 1e-3})
    return float(found["x"])  # type: ignore[index]


def _fit_one(objective: Objective) -> tuple[float, float]:
    mu = _minimise(lambda mu: objective((mu, mu)))
    return mu, mu


def _fit_two(objective: Objective) -> tuple[float, float]:
    """Coordinate descent, from one coefficient for both axes."""
    mu_x, mu_y = _fit_one(objective)
    for _ in range(2):
        mu_x = _minimise(lambda mu, y=mu_y: objective((mu, y)))
        mu_y = _minimise(lambda mu, x=mu_x: objective((x, mu)))
    return mu_x, mu_y
