"""What a recorded motion does not say by itself: contact impulses, modes and kinds of patches, from its states."""

import numpy as np

from stiction.bodies.body import Body
from stiction.simulation.motion import Motion, Record, Setting, contacts_at

_CHUNK = 1024  # steps labelled together


def recover(body: Body, setting: Setting, record: Record) -> None:
    """Impulses, modes and kinds of all throws from their motion: p = M (v' - v) - h tau, gyroscopic torque included."""
    steps = record.mode.shape[1]
    impulse, mode, kind = record.impulse.reshape(-1, 6), record.mode.reshape(-1), record.kind.reshape(-1)
    for begin in range(0, len(mode), _CHUNK):
        chunk = slice(begin, min(begin + _CHUNK, len(mode)))
        throw, t = np.divmod(np.arange(chunk.start, chunk.stop), steps)
        before = Motion(record.position[throw, t], record.quaternion[throw, t], record.twist[throw, t])
        contacts = contacts_at(body, before, setting)
        touching = begin + contacts.record["index"]
        after = record.twist[throw, t + 1][contacts.record["index"]]
        impulse[touching], mode[touching] = contacts.observe(after)
        kind[touching] = contacts.record["kind"]
