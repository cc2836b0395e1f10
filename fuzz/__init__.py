"""Fuzz tests of stiction, seeded and counted. `python -m fuzz --seed 0` runs them all.

Each target is a module of this folder that is listed in `kinds.py` and has one function,

    def case(rng: np.random.Generator, counts: Counts) -> None

It makes one attempt, drawn from `rng`, which it first describes by `counts.trying("...")`. An `InputError` counts as
refused. If stiction accepts the input, the function checks the result and reports violations of physics by
`counts.violated(...)`. Any other exception, a crash, and more than two seconds of processor time are failures.
"""

import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is imported
    os.environ.setdefault(name, "1")
sys.path.append(str(Path(__file__).parents[1] / "tests"))  # for its random contacts
