"""Contact event sequences of box throws: which feature touches the ground, one after the other, in DART, with the law
and with its baseline; five throws side by side as in the paper, all of them by their edit distance from DART's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from stiction.bodies.body import Body
from stiction.bodies.trajectory import Trajectory
from stiction.evaluation.single_steps import plan_of
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper import metrics
from stiction_studies.paper.metrics import STEPS, fresh_starts, throw_truth
from stiction_studies.paper.trajectories import BASELINE, OURS, SCALES, perturbed_truths
from stiction_studies.study import Study, bootstrap_interval

TRUTH = "DART"
NEAR = 1e-4  # [m] vertices lower than this are in contact: a rocking box breaks and makes contact within less
OTHER, GAP = "*", "·"  # vertices that share no face, since the body has sunk in; nothing to align with


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Throw the box, compare the sequences, print them, write the results and publish the section."""
    study = Study(out, "events", scale, seed)
    body, runs = _throw(SCALES[scale].throws, seed)
    names = FeatureNames(body)
    found = {}
    for name, motion in runs.items():
        heights = np.nan_to_num(metrics.vertex_heights(body, motion), nan=np.inf)  # a diverged throw touches nothing
        found[name] = [event_sequence(names, throw) for throw in heights]
    truth = found.pop(TRUTH)
    scores = {name: np.array([edit_score(a, b) for a, b in zip(truth, other)]) for name, other in found.items()}
    shown = (TRUTH, OURS, BASELINE)
    rows = [align_all(truth[k], [found[name][k] for name in shown[1:]]) for k in range(5)]
    aligned = [{name: " ".join(row) for name, row in zip(shown, three)} for three in rows]
    for k, three in enumerate(aligned):
        print(f"Throw {k + 1}", *(f"  {name:9} {text}" for name, text in three.items()), sep="\n")
    summaries = {name: _summary(found[name], values) for name, values in scores.items()}
    content = {
        "features": {"vertices": names.vertices, "edges": names.edges, "faces": names.faces},
        "near_m": NEAR,
        "runs": summaries,
        "aligned": aligned,
    }
    text = [
        "A tumbling box touches the ground with a vertex, an edge or a face; their order characterises the motion "
        "better than the final position. As in the paper, vertices are called 1 to 8, edges a to l and faces A to F; a "
        f"vertex is in contact below {1000 * NEAR:g} mm, and a name is added when the touching feature changes.",
        "Each sequence is aligned with DART's; the score is the edit distance (insertions, deletions, replacements) "
        "over the length of the longer sequence: 0 for equal sequences, 1 for sequences with nothing in common.",
    ]
    tables = [_score_table(summaries, truth), _feature_table(names)]
    section = Section(study.name, "Contact events", text, study.command, tables, [_alignment_plot(shown, rows)])
    scores = {TRUTH: np.zeros(len(truth)), **scores}
    parts = [
        {"run": name, "throw": np.arange(len(truth)), "score": score, "events": [" ".join(one) for one in sequences]}
        for (name, score), sequences in zip(scores.items(), (truth, *found.values()))
    ]
    study.finish(section, content, parts)


def _throw(throws: int, seed: int) -> tuple[Body, dict[str, Trajectory]]:
    """The box and its motions by run, the same as in the study of whole throws."""
    laws = {OURS: load("box"), BASELINE: load("box-pdd")}
    plan = plan_of(laws[OURS])
    start = fresh_starts(plan, throws, seed)
    with Console(stderr=True).status("Throwing the box"):
        runs = {TRUTH: throw_truth(plan, start)}
        runs |= {name: rollout(law, start, STEPS, gravity=plan.gravity) for name, law in laws.items()}
        runs |= perturbed_truths(plan, TRUTH, start, seed)
    return plan.body, runs


class FeatureNames:
    """Names of a box's features as in the paper: vertices 1-8, edges a-l, faces A-F, by indices of body vertices."""

    def __init__(self, body: Body) -> None:
        loops = metrics.face_loops(body)
        edges = sorted({(min(a, b), max(a, b)) for loop in loops for a, b in zip(loop, [*loop[1:], loop[0]])})
        self.vertices = {str(k + 1): (k,) for k in range(len(body.vertices))}
        self.edges = {chr(ord("a") + k): edge for k, edge in enumerate(edges)}
        self.faces = {chr(ord("A") + k): tuple(face) for k, face in enumerate(sorted(map(sorted, loops)))}
        features = {**self.vertices, **self.edges, **self.faces}
        self._by_vertices = {frozenset(vertices): name for name, vertices in features.items()}

    def name(self, touching: Sequence[int]) -> str:
        """Name of the smallest feature that contains all the vertices, or OTHER."""
        vertices = frozenset(int(k) for k in touching)
        if vertices in self._by_vertices:
            return self._by_vertices[vertices]
        return next((name for name, face in self.faces.items() if vertices <= set(face)), OTHER)


def event_sequence(names: FeatureNames, heights: NDArray[np.float64]) -> list[str]:
    """Names of the touching features in order, from the heights of all vertices over time, shape (steps, V) [m].

    A name is repeated only if another feature touches in between; flight does not count.
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


def _edit_distances(a: Sequence[str], b: Sequence[str]) -> NDArray[np.int64]:
    """Levenshtein distances between all prefixes of `a` and `b`, shape (len(a) + 1, len(b) + 1)."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            replaced = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(replaced, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return table


def edit_score(a: Sequence[str], b: Sequence[str]) -> float:
    """Edit distance over the length of the longer sequence, between 0 and 1."""
    return float(_edit_distances(a, b)[-1, -1] / max(len(a), len(b), 1))


def align(truth: Sequence[str], other: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of events of a cheapest alignment, with GAP where one sequence has nothing to match."""
    table = _edit_distances(truth, other)
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
    # Per sequence, the events inserted before each event of the truth and after its last one, and those matched.
    inserted: list[list[list[str]]] = []
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
        rows[0] += [GAP] * width + [*truth[k : k + 1]]
        for row, before, match in zip(rows[1:], inserted, matched):
            row += before[k] + [GAP] * (width - len(before[k])) + match[k : k + 1]
    return rows


def _summary(found: list[list[str]], scores: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "throws": len(scores),
        "mean_score": float(scores.mean()),
        "interval_95": list(bootstrap_interval(scores, 0)),
        "median_score": float(np.median(scores)),
        "share_equal": float(np.mean(scores == 0)),
        "mean_length": float(np.mean([len(sequence) for sequence in found])),
    }


def _score_table(summaries: dict[str, dict[str, Any]], truth: list[list[str]]) -> Table:
    rows = []
    for name, one in summaries.items():
        score = "{:.3f} ({:.3f} to {:.3f})".format(one["mean_score"], *one["interval_95"])
        rows.append([name, score, f"{100 * one['share_equal']:.0f} %", f"{one['mean_length']:.1f}"])
    length = np.mean([len(sequence) for sequence in truth])
    note = f"{len(truth)} throws; DART's sequences have {length:.1f} events on average. Lower is better."
    columns = ["", "Edit distance, mean (95 %)", "Equal sequences", "Events, mean"]
    return Table("Contact event sequences against DART's", columns, rows, note)


def _feature_table(names: FeatureNames) -> Table:
    """Which vertices each edge and face has."""
    rows = []
    for title, features in (("Edges", names.edges), ("Faces", names.faces)):
        by_vertices = (f"{name} {''.join(str(k + 1) for k in vertices)}" for name, vertices in features.items())
        rows.append([title, ", ".join(by_vertices)])
    return Table("Names", ["", "By their vertices"], rows)


def _alignment_plot(shown: tuple[str, ...], rows: list[list[list[str]]]) -> Plot:
    """Events as text, a row a run, those that differ from DART's in colour."""
    figure = figures.figure("Five throws: what touches the ground, in order", "", "", height=80 + 110 * len(rows))
    ticks = []
    for k, three in enumerate(rows):
        for place, (name, row) in enumerate(zip(shown, three)):
            y = -(k * (len(shown) + 1) + place)
            ticks.append((y, name))
            colours, boxes = zip(*(_event_colours(event, true) for event, true in zip(row, three[0])))
            marker = {"symbol": "square", "size": 15, "color": list(boxes), "line": {"width": 0}}
            figure.add_scatter(
                x=list(range(len(row))), y=[y] * len(row), text=row, mode="markers+text", marker=marker,
                textfont={"color": list(colours), "size": 11}, textposition="middle center", showlegend=False,
                hovertemplate=f"throw {k + 1}, {name}: %{{text}}<extra></extra>",
            )  # fmt: skip
    bare = {"showgrid": False, "showline": False, "ticks": ""}
    longest = max(len(three[0]) for three in rows)
    figure.update_xaxes(**bare, showticklabels=False, range=[-0.7, longest - 0.3])
    figure.update_yaxes(**bare, tickvals=[y for y, _ in ticks], ticktext=[name for _, name in ticks])
    return Plot(figure, f"Orange: differs from DART's. {GAP} nothing to match. Vertices 1-8, edges a-l, faces A-F.")


def _event_colours(event: str, true: str) -> tuple[str, str]:
    """Colours of an event's name and of its background."""
    if event != true:
        return figures.COLOURS["PDD"], "#fbe3d4"
    return (figures.COLOURS["truth"], "rgba(0,0,0,0)") if event == GAP else (figures.INK, "#e3e7ec")
