"""Recorded tosses: `stiction.recordings.read` reads and checks them. Needs the extra `record`."""

from stiction.learning.recordings.folder import load_recordings as load
from stiction.learning.recordings.folder import save_recordings as save
from stiction.learning.recordings.poses import Conventions
from stiction.learning.recordings.read import import_recordings as read
from stiction.learning.recordings.recorded import Recordings, split
from stiction.learning.recordings.tosses import Toss, Tosses

__all__ = ["Conventions", "Recordings", "Toss", "Tosses", "load", "read", "save", "split"]
