"""Run the fuzz tests: `python -m fuzz --seed 0`; `--quick` for a short version; exits with 1 on any failure.

`--only KIND --case 17` makes one attempt in this process, for a debugger.
"""

import argparse
import importlib
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import Progress

from fuzz import printed
from fuzz.child import rng_of
from fuzz.counts import Counts
from fuzz.kinds import KINDS
from fuzz.watch import watched


def main() -> int:
    """Run the command line and return the exit code."""
    asked = _arguments()
    if asked.case is not None:
        counts = Counts()
        module = f"fuzz.{asked.only[0]}"
        importlib.import_module(module).case(rng_of(module, asked.seed, asked.case), counts)
        print(counts)
        return 0
    start, names = time.monotonic(), asked.only or list(KINDS)
    stopped = threading.Event()
    with Progress(transient=True) as progress, ThreadPoolExecutor(asked.workers) as pool:

        def run(name: str) -> Counts:
            cases = max(1, round(asked.times * (KINDS[name].quick if asked.quick else KINDS[name].cases)))
            bar = progress.add_task(name, total=cases)

            def report(done: int) -> None:
                progress.update(bar, completed=done)
                if stopped.is_set():
                    raise KeyboardInterrupt

            return watched(f"fuzz.{name}", asked.seed, cases, report)

        try:
            found = dict(zip(names, pool.map(run, names), strict=True))
        except KeyboardInterrupt:
            stopped.set()
            raise
    printed.show(found)
    print(f"seed {asked.seed}, {time.monotonic() - start:.0f} s")
    if asked.out:
        printed.write(found, asked.out)
    return int(any(counts.failed for counts in found.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few of each, for continuous integration")
    parser.add_argument("--times", type=float, default=1.0, help="factor of the number of cases")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="kinds that run at the same time")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--case", type=int, help="one case of the one kind that --only names, in this process")
    parser.add_argument("--out", type=Path, help="a page, such as docs/hardening.md, whose table is filled")
    asked = parser.parse_args()
    if asked.case is not None and len(asked.only or ()) != 1:
        parser.error("--case needs one kind: --only KIND")
    return asked


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Stopped.")
