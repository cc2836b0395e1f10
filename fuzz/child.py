"""The process in which one kind is tried: `python -m fuzz.child MODULE SEED CASES FILE` goes on where FILE says."""

import importlib
import os
import resource
import sys
import zlib
from pathlib import Path

import numpy as np

from fuzz.counts import Counts

_ADDRESSES = 16 * 2**30  # bytes that an attempt may reserve: more is a failure, not the end of the machine


def rng_of(module: str, seed: int, case: int) -> np.random.Generator:
    """What one case is drawn from: the same whatever came before it."""
    return np.random.default_rng([seed, zlib.crc32(module.encode()), case])


def main(name: str, seed: int, cases: int, file: Path) -> None:
    """Try what is left of the cases."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    module = importlib.import_module(name)
    counts = Counts.at(file)
    watcher = os.getppid()
    while counts.done < cases and os.getppid() == watcher:  # nobody is left to see what comes of it otherwise
        with counts.attempt():
            module.case(rng_of(name, seed, counts.done), counts)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
