"""A kind of attempts for test_fuzz.py: each ends in another way."""

import os
import signal

from stiction import InputError


def case(rng, counts):
    counts.trying(f"way {counts.done}")
    match counts.done:
        case 1:
            raise InputError("It was refused.")
        case 2:
            raise InputError("two\nlines")
        case 3:
            raise KeyError("not ours")
        case 4:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 5:
            while True:
                pass
        case 6:
            counts.violated(1e-6, 1e-9, "energy")
