"""From recorded poses to a law: tosses of a cube are written to a file, read, checked, identified and forecast.

    python examples/identify.py [FILE.csv]

Without a file, the shipped law `cube` tosses a cube 24 times, each drawn from its uncertainty, with the noise of a good
tracker, so that the result can be compared with the truth. A file needs the columns toss, time, x, y, z, qw, qx, qy
and qz.
"""

import sys
from pathlib import Path

import numpy as np

import stiction

truth = stiction.load("cube")


def tosses(path: Path, number: int = 24, frames: int = 100) -> Path:
    """Tosses of the law `cube`, each drawn from its uncertainty, tracked at 148 Hz to 0.03 mm."""
    ranges = {"height": (0.1, 0.25), "horizontal": (-1, 1), "vertical": (-0.6, 0.2), "spin": (-8, 8)}
    start = stiction.State.random(truth.body, number, seed=3, ranges=ranges).raised(truth.ground)
    run = stiction.rollout(truth, start, steps=frames, samples=1, seed=5)[0]
    position = run.position + np.random.default_rng(4).normal(0, 3e-5, run.position.shape)
    toss, time = np.indices(position.shape[:2])
    columns = [toss[..., None], run.timestep * time[..., None], position, run.quaternion]
    rows = np.concatenate(columns, axis=-1).reshape(-1, 9)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, rows, "%.9g", delimiter=",", header="toss,time,x,y,z,qw,qx,qy,qz", comments="")
    return path


path = Path(sys.argv[1]) if len(sys.argv) > 1 else tosses(Path("build/tosses.csv"))
measured = stiction.Body.box(size=(0.1, 0.1, 0.1), mass=0.37)  # with a ruler and a scale
recordings = stiction.recordings.read(path, measured)
print(recordings)
print("\n".join(recordings.report))

found = stiction.identify(recordings, tosses=12, progress=False)
print(found)
true = {"friction": truth.material.friction, "restitution": float(truth.material.restitution_at(0.5))}  # at 0.5 m/s
for name, value in true.items() if len(sys.argv) == 1 else ():
    fitted = found.figures["parameters"][name]
    print(f"{name}: found {fitted['value']:.3f} +- {fitted['error']:.3f}, true {value:.3f}")

toss = recordings[0]
run = toss.forecast(found.law)
away = np.linalg.norm(toss.at_frames(run).position - toss.position, axis=1)
off = f"{1e3 * away.mean():.2f} mm on average, {1e3 * away[-1]:.2f} mm at the end"
print(f"{toss}: the forecast from its flight is off by {off}")
for level, share in stiction.recordings.coverage(found.law, recordings).items():
    print(f"its {level:.0%} regions hold the ends of {share:.0%} of the tosses")
