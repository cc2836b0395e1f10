"""Contact event sequences: names, sequences, edit distance and alignment."""

import numpy as np
import pytest

from stiction_studies.paper.events import (
    GAP,
    NEAR,
    OTHER,
    FeatureNames,
    align,
    align_all,
    edit_score,
    event_sequence,
)


@pytest.fixture(scope="module")
def names(box) -> FeatureNames:
    return FeatureNames(box)


def test_a_box_has_the_papers_names(names):
    assert "".join(names.vertices) == "12345678"
    assert "".join(names.edges) == "abcdefghijkl"
    assert "".join(names.faces) == "ABCDEF"


def test_edges_join_neighbours_and_faces_are_flat(box, names):
    for a, b in names.edges.values():
        assert np.count_nonzero(box.vertices[a] - box.vertices[b]) == 1
    for face in names.faces.values():
        assert len(face) == 4 and np.any(np.ptp(box.vertices[list(face)], axis=0) == 0)


def test_the_smallest_feature_names_what_touches(box, names):
    assert names.name([4]) == "5"
    assert names.name(names.edges["d"][::-1]) == "d"
    for letter, face in names.faces.items():
        assert names.name(face) == letter
        assert names.name(face[:3]) == letter  # three corners touch: the face
    opposite = [0, 7]
    assert np.all(box.vertices[0] == -box.vertices[7]) and names.name(opposite) == OTHER


def test_a_sequence_has_a_name_when_what_touches_changes(names):
    heights = np.ones((9, 8))
    a, b = names.edges["a"]
    heights[1:3, a] = 0.0  # a vertex
    heights[4, a] = -0.01  # flight in between does not make it another event
    heights[5:7, [a, b]] = 0.5 * NEAR  # the edge
    heights[7:, b] = 0.0
    assert event_sequence(names, heights) == [str(a + 1), "a", str(b + 1)]
    assert event_sequence(names, np.ones((4, 8))) == []


@pytest.mark.parametrize(
    ("a", "b", "score"),
    [("", "", 0.0), ("abc", "abc", 0.0), ("abc", "", 1.0), ("abc", "xyz", 1.0), ("kitten", "sitting", 3 / 7)],
)
def test_edit_score(a, b, score):
    assert edit_score(a, b) == edit_score(b, a) == pytest.approx(score)


def test_alignment_keeps_both_sequences_and_costs_the_edit_distance():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = ("".join(rng.choice(list("1aB"), rng.integers(0, 9))) for _ in range(2))
        pairs = align(a, b)
        assert "".join(x for x, _ in pairs if x != GAP) == a and "".join(y for _, y in pairs if y != GAP) == b
        assert sum(x != y for x, y in pairs) == round(edit_score(a, b) * max(len(a), len(b), 1))


def test_all_rows_of_an_alignment_have_one_length():
    truth, others = list("75c1F"), [list("75c1F"), list("7x5yzF"), list("1Fq"), []]
    rows = align_all(truth, others)
    assert len({len(row) for row in rows}) == 1
    for row, sequence in zip(rows, [truth, *others], strict=True):
        assert [event for event in row if event != GAP] == sequence
