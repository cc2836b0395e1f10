"""What a recorded motion does not say by itself: contact impulses, modes and kinds of patches, from its states."""

import numpy as np

from stiction.bodies.body import Body
from stiction.labels import label_steps
from stiction.patch import new_contacts
from stiction.stepping import Motion, Record, Setting, begin_step

_CHUNK = 1024  # steps labelled together


def recover(body: Body, setting: Setting, record: Record) -> None:
    """Impulses, modes and kinds of all throws from their motion: p = M (v' - v) - h tau, gyroscopic torque included."""
    steps = record.mode.shape[1]
    impulse, mode, kind = record.impulse.reshape(-1, 6), record.mode.reshape(-1), record.kind.reshape(-1)
    for begin in range(0, len(mode), _CHUNK):
        chunk = slice(begin, min(begin + _CHUNK, len(mode)))
        throw, t = np.divmod(np.arange(chunk.start, chunk.stop), steps)
        before = Motion(record.position[throw, t], record.quaternion[throw, t], record.twist[throw, t])
        contacts = new_contacts(body.hull, len(t))
        found = begin_step(setting, body.hull, contacts, before)
        label_steps(body.hull, contacts, found, record.twist[throw, t + 1], impulse[chunk], mode[chunk], kind[chunk])
