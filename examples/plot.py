"""One throw from start to rest: simulate, save, load, plot, and list its contacts.

    python examples/plot.py [FOLDER]

Writes throw.npz and throw.png into the folder, by default build/.
"""

import sys
from pathlib import Path

import numpy as np

import stiction
from stiction import Kind, Mode

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build")
start = stiction.State.from_euler([0, 0, 0.6], [30, 20, 0], velocity=[1.5, 0, 0], angular_velocity=[0, 4, 0])
stiction.rollout("box", start, steps=800).save(folder / "throw.npz")

run = stiction.Trajectory.load(folder / "throw.npz")
run.plot(folder / "throw.png")
print(run, "ends at", run.state())

# Each sequence of steps with one kind of patch and one mode.
labels = np.stack([run.kind, run.mode], axis=1)
cuts = np.flatnonzero(np.any(labels[1:] != labels[:-1], axis=1)) + 1
for first, end in zip([0, *cuts], [*cuts, run.steps], strict=True):
    kind, mode = Kind(int(run.kind[first])), Mode(int(run.mode[first]))
    what = "flight" if kind == Kind.NONE else f"{kind.name.lower()} {mode.name.lower()}"
    pushed = run.impulse[first:end, 2].sum()
    print(f"{run.time[first]:.3f} to {run.time[end]:.3f} s  {what:16} pushed up by {pushed:6.3f} N s")
print(f"Wrote {folder / 'throw.npz'} and {folder / 'throw.png'}.")
