"""The process that runs one target: `python -m fuzz.child MODULE SEED CASES FILE` continues from the counts in FILE."""

import importlib
import os
import resource
import sys
import zlib
from pathlib import Path

import numpy as np

from fuzz.counts import Counts


def rng_of(module: str, seed: int, case: int) -> np.random.Generator:
    """The random numbers of one case, independent of other cases."""
    return np.random.default_rng([seed, zlib.crc32(module.encode()), case])


def main(name: str, seed: int, cases: int, file: Path) -> None:
    """Run the remaining cases."""
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, 16 * 2**30))  # so that more memory is a failure
    module = importlib.import_module(name)
    counts = Counts.at(file)
    watcher = os.getppid()
    while counts.done < cases and os.getppid() == watcher:  # stop if the watcher has died
        with counts.attempt():
            module.case(rng_of(name, seed, counts.done), counts)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
