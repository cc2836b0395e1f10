"""`stiction.evaluate`: errors of a law on contacts or tosses that it was not trained on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stiction.basics import checks, files
from stiction.basics.environment import require
from stiction.laws.impact import ImpactLaw
from stiction.laws.modelfile import load, on_own_body

if TYPE_CHECKING:
    from stiction.recordings.tosses import Recordings


def evaluate(
    law: Any,
    *,
    contacts: int = 40_000,
    truth: Any = None,
    data: "Recordings | str | Path | None" = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure a law on fresh single contacts of its ground truth, or an identified one on recorded tosses.

    The figures are what `stiction evaluate --json` writes. For each kind of patch: the `accuracy` of the modes, and the
    errors of friction, of its spin torque and of the whole impulse, each mean size of the error / mean size of the true
    value. For an identified law: its errors along the tosses and the coverage of its regions.

    law: a law or a material, or the name or path of one; a user-defined law needs a `truth`
    contacts: contacts of each kind of patch
    truth: ground truth to ask, as for `stiction.collect`; by default the one that the law was trained on
    data: recordings to forecast with an identified law, or their path
    seed: of the fresh throws

        figures = stiction.evaluate("box", contacts=5000)
        print(figures["kinds"]["surface"]["friction_error"])
    """
    require("stiction.evaluate", "pyarrow")
    named = isinstance(law, str | Path)
    name = str(law) if named else repr(law)
    found = on_own_body(load(law) if named else law, name)
    if isinstance(found, ImpactLaw):
        from stiction.evaluation import toss_forecasts

        return toss_forecasts.figures_of(name, found, data, seed=checks.count("seed", seed, 0))
    if data is not None:
        raise checks.InputError(f"data is for laws that were identified from recordings, and {name} is none.")
    from stiction.evaluation import single_steps

    return single_steps.figures_of(name, found, contacts=contacts, truth=truth, seed=seed)


def run(
    law: str,
    *,
    contacts: int = 40_000,
    truth: str | None = None,
    data: Path | None = None,
    seed: int = 0,
    json: Path | None = None,
) -> None:
    """Evaluate a law by its name or path, print the figures and write them to `json`; arguments as of `evaluate`."""
    figures = evaluate(law, contacts=contacts, truth=truth, data=data, seed=seed)
    if "kinds" in figures:
        from stiction.evaluation.single_steps import show
    else:
        from stiction.evaluation.toss_forecasts import show
    show(figures)
    if json is not None:
        files.write_json(json, figures)
        print(f"Wrote {json}")
