"""Packages that only some of the work needs: which extra brings each, and one sentence for those that are missing."""

from importlib.util import find_spec

# Importable name -> the extra of stiction that brings it, the smallest of those in pyproject.toml.
EXTRAS = {
    "pyarrow": "data",
    "joblib": "data",
    "cloudpickle": "data",
    "mcap": "record",
    "torch": "train",
    "sklearn": "train",
    "dartpy": "dart",
    "mujoco": "mujoco",
    "tabulate": "sysid",
    "pybullet": "bullet",
    "gymnasium": "gym",
    "plotly": "report",
    "jinja2": "report",
    "viser": "report",
    "matplotlib": "report",
    "ray": "cluster",
}
_KNOWN_AS = {
    "dartpy": "DART",
    "mujoco": "MuJoCo",
    "pybullet": "Bullet",
    "gymnasium": "Gymnasium",
    "sklearn": "scikit-learn",
    "ray": "Ray",
}


def needs(what: str, *modules: str) -> str:
    """The sentence that `what` needs these modules, with the one command that brings all of them."""
    names = [_KNOWN_AS.get(module, module) for module in dict.fromkeys(modules)]
    together = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    extras = ",".join(dict.fromkeys(EXTRAS[module] for module in modules))
    return f"{what} needs {together}: pip install 'stiction[{extras}]'."


def require(what: str, *modules: str) -> None:
    """Refuse work for which modules are missing, all of them named at once, before it has gone on for minutes."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        from stiction.basics.checks import InputError  # brings numpy, for which help need not wait

        raise InputError(needs(what, *missing))
