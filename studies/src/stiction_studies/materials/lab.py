"""Where laws are learned: data sets, models and figures, all kept in the folder of the study."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stiction.data.collecting import collect
from stiction.data.dataset import DataSet
from stiction.data.plan import Plan
from stiction.fit.train_material import train_material
from stiction.laws.coulomb import DART_SOFTNESS
from stiction.laws.law import NativeLaw
from stiction.laws.material import Material
from stiction.laws.modelfile import load
from stiction.training.from_data import train
from stiction_studies.materials.coulomb import best_coulomb
from stiction_studies.materials.exam import Exam, chaos_floor, judge, make_exam
from stiction_studies.materials.places import Place
from stiction_studies.study import kept

COULOMB, AUGMENTED, PDD, MATERIAL = "Coulomb", "augmented", "PDD", "material"
ON_MATERIAL = "augmented on material"  # networks that correct a material instead of a fitted Coulomb guess
LAWS = (COULOMB, AUGMENTED, PDD, MATERIAL)
NETWORKS = (AUGMENTED, PDD, ON_MATERIAL)
_MORE = 1.5  # times as many throws for the purely data-driven baseline


@dataclass(frozen=True)
class Source:
    """What is learned from: a ground truth, and its friction if it is one that has a name.

    name: of the files that are kept
    """

    name: str
    truth: Any
    place: Place
    friction: float | None = None


@dataclass(frozen=True)
class Size:
    """How much is done.

    throws: that laws learn from
    steps: of the optimiser, of each network
    contacts: fresh ones of each kind of patch; tests: fresh throws
    grounds: names of ground truths; networks: those of them for which networks are trained too
    places: how many other bodies and time steps a material is carried to
    counts: numbers of throws, and `efficient` the grounds, for the question of how much data is needed
    dart: numbers of throws in DART
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


class Lab:
    """Learns and judges laws; what the folder has already is taken from there.

    say: told what is under way
    """

    def __init__(self, folder: Path, size: Size, seed: int, say: Callable[[str], None]) -> None:
        self.folder, self.size, self.seed, self.say = folder, size, seed, say
        self._exams: dict[str, Exam] = {}

    def figures(self, source: Source, law: str, plan: Plan, throws: int | None = None) -> dict[str, Any]:
        """Figures of a law that was learned from the source, in the throws of a plan, with facts about the law."""
        throws = throws or self.size.throws
        what = ["law", law, throws, source.name, source.place.title, self._about(plan)]
        if law in NETWORKS:
            what.append(self.size.steps)

        def measure() -> dict[str, Any]:
            learned, facts = self.learn(source, law, throws)
            self.say(f"{source.name}: judging {law}")
            if isinstance(learned, Material):
                learned = learned.on(plan.body, timestep=plan.timestep, softness=softness_of(source))
            return judge(learned, self._exam(plan), self.seed) | {"law": facts}

        return kept(self.folder / "figures", what, measure)

    def judged(self, law: NativeLaw, name: str, plan: Plan) -> dict[str, Any]:
        """Figures of a law that needs no learning."""
        what = ["given", name, self._about(plan)]
        return kept(self.folder / "figures", what, lambda: judge(law, self._exam(plan), self.seed))

    def floor(self, plan: Plan) -> dict[str, Any]:
        """The chaos floor of a plan's throws."""
        what = ["floor", self._about(plan)]
        return kept(self.folder / "figures", what, lambda: chaos_floor(self._exam(plan), self.seed))

    def learn(self, source: Source, law: str, throws: int) -> tuple[Any, dict[str, Any]]:
        """A law or a material learned from so many throws of the source, and facts about it."""
        data = self.data(source, round(throws * _MORE) if law == PDD else throws)
        self.say(f"{source.name}: learning {law} from {data.plan.throws} throws")
        began = time.perf_counter()
        facts: dict[str, Any] = {"throws": data.plan.throws}
        if law == COULOMB:
            learned, found = best_coulomb(data, self.seed)
            facts |= found
        elif law == MATERIAL:
            learned = self.material(source, throws)
            facts |= about(learned)
        else:
            how = {"law": "statistical" if law == PDD else "augmented", "steps": self.size.steps}
            guess = self.material(source, throws) if law == ON_MATERIAL else None
            learned = train(data, seed=self.seed, material=guess, progress=False, **how)
            facts["dropped"] = list(getattr(learned, "dropped", ()))
        return learned, facts | {"seconds": round(time.perf_counter() - began, 1)}

    def material(self, source: Source, throws: int | None = None) -> Material:
        """The material that is learned from so many throws of the source."""
        data = self.data(source, throws or self.size.throws)
        path = self.folder / "models" / f"{source.name}-{data.fingerprint[:12]}-{self.seed}.safetensors"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            train_material(data, seed=self.seed).save(path)
        return load(path)

    def data(self, source: Source, throws: int) -> DataSet:
        """So many throws of the source."""
        self.say(f"{source.name}: {throws} throws")
        out = self.folder / "data" / f"{source.name}-{throws}-{self.seed}"
        place = source.place
        return collect(
            place.body, source.truth, throws=throws, steps=place.steps, seed=self.seed, out=out,
            friction=source.friction, timestep=place.timestep, progress=False,
        )  # fmt: skip

    def _exam(self, plan: Plan) -> Exam:
        if plan.fingerprint not in self._exams:
            self.say("Asking the ground truth")
            size = self.size
            self._exams = {
                plan.fingerprint: make_exam(plan, contacts=size.contacts, throws=size.tests, seed=self.seed)
            }  # only the last: they are large
        return self._exams[plan.fingerprint]

    def _about(self, plan: Plan) -> dict[str, Any]:
        return {"plan": plan.fingerprint, "contacts": self.size.contacts, "tests": self.size.tests, "seed": self.seed}


def softness_of(source: Source) -> float:
    """DART's contacts yield a little; those of our own ground truths do not."""
    return DART_SOFTNESS if isinstance(source.truth, str) else 0.0


def about(material: Material) -> dict[str, Any]:
    """What a learned material says of itself."""
    return {name: material.info[name] for name in ("structure", "held_out", "warning") if name in material.info}
