"""Recorded tosses: read and check them, forecast them, and see whether a law knows its own uncertainty.

    cube = stiction.Body.box((0.1, 0.1, 0.1), mass=0.37)
    recordings = stiction.recordings.read("tosses.csv", cube)  # checked against mechanics
    toss = recordings[3]
    state = toss.start()  # fitted to its free flight
    run = toss.forecast("cube", samples=64)  # of the law, from that start; batch axis: the samples
    stiction.recordings.coverage("cube", recordings)  # share of the tosses inside the law's 50 % and 90 % regions

`stiction.identify(recordings)` finds the body and its law. Needs the extra `record`.
"""

from stiction.learning.identify.call import coverage
from stiction.learning.recordings.folder import load_recordings as load
from stiction.learning.recordings.folder import save_recordings as save
from stiction.learning.recordings.poses import Conventions
from stiction.learning.recordings.read import import_recordings as read
from stiction.learning.recordings.recorded import Recordings, split
from stiction.learning.recordings.tosses import Toss, Tosses

__all__ = ["Conventions", "Recordings", "Toss", "Tosses", "coverage", "load", "read", "save", "split"]
