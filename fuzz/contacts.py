"""Adversarial laws on random contacts of bodies from cube to needle: no law may break the physics."""

import numpy as np

from contact_states import random_contacts
from fuzz.counts import Counts
from fuzz.violations import BOUND, NAMES, violations
from fuzz.worst_laws import LAWS, random_body
from stiction import Mode


def case(rng: np.random.Generator, counts: Counts) -> None:
    """One law on one body, in 50 contacts."""
    label = str(rng.choice(list(LAWS)))
    body = random_body(rng)
    counts.trying(f"{label} on {body!r}")
    found = attack(label, body, 50, rng)
    for name, size in zip(NAMES, found):
        counts.violated(size, BOUND, name)


def attack(label: str, body, number: int, rng: np.random.Generator) -> np.ndarray:
    """The greatest violations of a law on random contacts of a body, in the order of NAMES."""
    contacts = random_contacts(body, number, rng)
    law = LAWS[label](body, int(rng.integers(2**31)))
    law.native.respond(contacts)
    p = contacts.record["impulse"]
    if not np.isfinite(p).all():
        raise AssertionError("an impulse is not finite")
    if not np.isin(contacts.record["mode"], (Mode.STATIC, Mode.DYNAMIC, Mode.DETACH)).all():
        raise AssertionError("a mode is NONE")
    found = violations(contacts, p, contacts.record["friction"])
    if label == "random answers of five numbers":  # which may not move the centre of pressure out of the patch
        pull = NAMES.index("pull")
        found[pull] = max(found[pull], violations(contacts, p)[pull])
    return found
