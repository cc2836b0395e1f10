"""Two thousand throws at once: where a box comes to rest, and how well a learned and an analytic law agree.

    python examples/batch.py [THROWS]

A batch runs on all processor cores and has, to the last bit, the results of single throws.
"""

import sys
import time

import numpy as np

import stiction

throws = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
learned = stiction.load("box")  # learned from throws of this box in DART
analytic = stiction.CoulombLaw(learned.body, friction=1.0, cone="dart")
starts = stiction.State.random(learned.body, throws, seed=1)

start = time.perf_counter()
run = stiction.rollout(learned, starts, steps=800, every=100)  # keeps every 100th state
seconds = time.perf_counter() - start
print(f"{throws:,} throws of 800 steps in {seconds:.2f} s: {1e9 * seconds / (800 * throws):.0f} ns a step")

distance = np.linalg.norm(run.position[:, -1, :2] - run.position[:, 0, :2], axis=1)
low, median, high = np.quantile(distance, (0.05, 0.5, 0.95))
print(f"distance: median {median:.2f} m, 90 % between {low:.2f} and {high:.2f} m")
height = run.position[:, -1, 2]
for edge in (0.2, 0.3, 0.4):
    print(f"rests with its {edge} m edge upright: {np.mean(np.abs(height - edge / 2) < 0.003):6.1%}")

other = stiction.rollout(analytic, starts, steps=800, every=800)
apart = np.linalg.norm(other.position[:, -1] - run.position[:, -1], axis=1)
print(f"learned and analytic law end apart by {1e3 * np.median(apart):.3f} mm in the median")
alone = stiction.rollout(learned, starts[7], steps=800, every=100)
print(f"throw 7 alone has the same bits: {np.array_equal(alone.position, run.position[7])}")
