"""The studies that `stiction reproduce` offers: what each is about and which packages it needs.

Help and shell completion read this table, so it imports nothing heavy.
"""

from dataclasses import dataclass

_LEARNING = ("torch", "sklearn", "joblib")


@dataclass(frozen=True)
class Entry:
    """A study in the catalogue.

    about: one line for the help
    packages: importable names of the packages it needs besides those of the core and the page
    """

    about: str
    packages: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Importable names of all packages it needs besides those of the core."""
        return (*self.packages, "pyarrow", "plotly", "jinja2", "viser")


# In the order in which `all` runs them and the page shows them: what users do, which grasps hold, that the physics
# is right, what the law does, where it goes beyond the paper.
STUDIES = {
    "take": Entry("a tracker's take of a part, thrown in MuJoCo, to its law and a grasp", ("mujoco", "matplotlib")),
    "grasp": Entry("grasps, a stack and slopes, held for a minute by us and by others", ("mujoco",)),
    "agreement": Entry("our stepping with Coulomb's law against DART, step by step", ("dartpy",)),
    "laws": Entry("each law that ships, and its baseline, on contacts that it has never seen", ("dartpy",)),
    "trajectories": Entry("whole throws of three bodies: learned laws and their baseline against DART", ("dartpy",)),
    "events": Entry("sequences of contact events in throws of a box", ("dartpy",)),
    "anisotropy": Entry("a box sent off in eight directions on ground with unequal friction", ("mujoco",)),
    "nsgs": Entry("whole throws with DART's NSGS solver as ground truth", ("dartpy",)),
    "slope": Entry("a block at rest on slopes, beside MuJoCo, Bullet and DART", ("dartpy", "mujoco")),
    "efficiency": Entry("error against the number of training throws, by approximator", ("dartpy", *_LEARNING)),
    "ablation": Entry("what each choice in learning a law is worth", ("dartpy", *_LEARNING)),
    "materials": Entry(
        "friction that no Coulomb law expresses, learned and carried to other bodies",
        ("dartpy", *_LEARNING, "matplotlib"),
    ),
    "frictions": Entry(
        "frictions inside and outside the family of materials: what is learned, kept and warned of", _LEARNING
    ),
    "chain": Entry("a three-link chain swings to the ground; its last link has a learned law", ("dartpy", "mujoco")),
    "robot": Entry("a quadruped with learned feet stands and walks for a minute", ("mujoco",)),
    "robots": Entry("heaps, hands, humanoids and robots of other packages, beside MuJoCo", ("dartpy", "mujoco")),
    "testbed": Entry(
        "identification of parts thrown in MuJoCo, Bullet and DART: coverage and forecasts",
        ("mujoco", "pybullet", "dartpy"),
    ),
    "tosses": Entry("our law and simulators, all fitted to recorded tosses (--data)"),
}
ORDER = (*STUDIES, "square", "elbow")  # sections of the page; `tosses` writes the last two as well
ALL = "all"
ABOUT = {name: study.about for name, study in STUDIES.items()}
ABOUT |= {ALL: "all of these, on one page: tosses only with --data, ablation only with --quick"}
