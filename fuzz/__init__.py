"""Attempts to break stiction: seeded, counted, and kept. `python -m fuzz --seed 0` runs them all.

A kind of attempts is a module of this folder that is named in `kinds.py` and has one function,

    def case(rng: np.random.Generator, counts: Counts) -> None

It makes one attempt, drawn from `rng`: it tells what it does by `counts.trying("...")`, and then does it. If stiction
refuses, its `InputError` is let through. If stiction accepts, the function checks what came of it and tells breaches of
the physics by `counts.violation(...)`. Anything else that is raised, a crash, and more than two seconds are failures.
"""

import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is there: arrays need no threads of their own
    os.environ.setdefault(name, "1")
sys.path.append(str(Path(__file__).parents[1] / "tests"))  # whose contacts of all sorts are of use here, too
