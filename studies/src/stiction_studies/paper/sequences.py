"""Contact event sequences: names of what touches the ground, sequences of them, and how alike two sequences are."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction_studies.paper.metrics import face_loops

NEAR = 1e-4  # [m] a vertex this low touches: a rocking box leaves and meets the ground many times within less
OTHER = "*"  # vertices that share no face: the body has sunk in
GAP = "·"


class Names:
    """Names of a box's features as in the paper: vertices 1-8, edges a-l, faces A-F, by numbers of body vertices."""

    def __init__(self, body: Body) -> None:
        faces = sorted(sorted(loop) for loop in face_loops(body))
        rings = [list(zip(loop, [*loop[1:], loop[0]])) for loop in face_loops(body)]
        edges = sorted({(min(a, b), max(a, b)) for ring in rings for a, b in ring})
        self.vertices = {str(k + 1): (k,) for k in range(len(body.vertices))}
        self.edges = {chr(ord("a") + k): edge for k, edge in enumerate(edges)}
        self.faces = {chr(ord("A") + k): tuple(face) for k, face in enumerate(faces)}
        self._by_vertices = {
            frozenset(vertices): name
            for features in (self.vertices, self.edges, self.faces)
            for name, vertices in features.items()
        }

    def name(self, touching: Sequence[int]) -> str:
        """Name of the smallest feature that holds all the vertices; none holds those of a body that has sunk in."""
        vertices = frozenset(int(k) for k in touching)
        if vertices in self._by_vertices:
            return self._by_vertices[vertices]
        return next((name for name, face in self.faces.items() if vertices <= set(face)), OTHER)


def event_sequence(names: Names, heights: NDArray[np.float64]) -> list[str]:
    """Names of what touches, one after the other, from the heights of all vertices over time, shape (steps, V) [m].

    A name counts once as long as nothing else touches in between, flight or not.
    """
    touching = heights <= NEAR
    changed = np.flatnonzero(np.r_[True, (touching[1:] != touching[:-1]).any(axis=1)])
    events: list[str] = []
    for step in changed:
        if touching[step].any():
            name = names.name(np.flatnonzero(touching[step]).tolist())
            if not events or events[-1] != name:
                events.append(name)
    return events


def edit_table(a: Sequence[str], b: Sequence[str]) -> NDArray[np.int64]:
    """Levenshtein distances of all beginnings of `a` and `b`, shape (len(a) + 1, len(b) + 1)."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            replaced = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(replaced, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return table


def edit_score(a: Sequence[str], b: Sequence[str]) -> float:
    """Edit distance over the length of the longer sequence: 0 for equal ones, 1 for those with nothing in common."""
    return float(edit_table(a, b)[-1, -1] / max(len(a), len(b), 1))


def align(truth: Sequence[str], other: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of events of the two sequences, with GAP where one has nothing to match: a cheapest way of editing."""
    table = edit_table(truth, other)
    i, j = len(truth), len(other)
    pairs = []
    while i or j:
        here = table[i, j]
        if i and j and here == table[i - 1, j - 1] + (truth[i - 1] != other[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((truth[i], other[j]))
        elif i and here == table[i - 1, j] + 1:
            i -= 1
            pairs.append((truth[i], GAP))
        else:
            j -= 1
            pairs.append((GAP, other[j]))
    return pairs[::-1]


def align_all(truth: Sequence[str], others: Sequence[Sequence[str]]) -> list[list[str]]:
    """All sequences as rows of equal length, the truth first, each of the others aligned with it."""
    inserted: list[list[list[str]]] = []  # of each other: what stands before each event of the truth, and after them
    matched: list[list[str]] = []
    for other in others:
        before, match = [[]], []
        for left, right in align(truth, other):
            if left == GAP:
                before[-1].append(right)
            else:
                match.append(right)
                before.append([])
        inserted.append(before)
        matched.append(match)
    rows: list[list[str]] = [[] for _ in range(1 + len(others))]
    for k in range(len(truth) + 1):
        width = max((len(before[k]) for before in inserted), default=0)
        last = k == len(truth)
        rows[0] += [GAP] * width + ([] if last else [truth[k]])
        for row, before, match in zip(rows[1:], inserted, matched):
            row += before[k] + [GAP] * (width - len(before[k])) + ([] if last else [match[k]])
    return rows
