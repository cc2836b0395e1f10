"""Contact event sequences of box throws: what touches the ground, one after the other, in DART, with the law and with
its baseline; a few side by side as in the paper, all of them by their edit distance."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from stiction.bodies.trajectory import Trajectory
from stiction.evaluation.single_steps import plan_of
from stiction.laws.modelfile import load
from stiction.simulation.rollout import rollout
from stiction_studies import figures
from stiction_studies.page.section import Plot, Section, Table
from stiction_studies.paper import metrics, sequences
from stiction_studies.paper.motions import BASELINE, MOVES, OURS, STEPS, floor_name, fresh_starts, throw_truth
from stiction_studies.paper.trajectories import CASES
from stiction_studies.study import Study, joined

THROWS = {"quick": 8, "usual": 100, "full": 200}
SHOWN = 5  # side by side, as in the paper
_CASE = CASES[0]
_TEXT = [
    "A tumbling box touches the ground with a vertex, an edge or a face, in an order that says more about the motion "
    "than where it ends. As in the paper, vertices are called 1 to 8, edges a to l and faces A to F; a vertex touches "
    f"when it is lower than {1000 * sequences.NEAR:g} mm, and a name is written when what touches changes.",
    "Each sequence is aligned with DART's; the score is the edit distance (insertions, deletions, replacements) over "
    "the length of the longer sequence: 0 when both are equal, 1 when they have nothing in common.",
]


def run(out: Path, *, scale: str = "usual", seed: int = 0) -> None:
    """Throw the box, compare the sequences, print them, write results and publish the section."""
    study = Study(out, "events", scale, seed)
    plan, runs = _throw(THROWS[scale], seed)
    names = sequences.Names(plan.body)
    found = {name: _sequences(plan.body, names, run) for name, run in runs.items()}
    truth = found[_CASE.truth]
    scores = {
        name: np.array([sequences.edit_score(a, b) for a, b in zip(truth, other)])
        for name, other in found.items()
        if name != _CASE.truth
    }
    shown = (_CASE.truth, OURS, BASELINE)
    rows = [sequences.align_all(truth[k], [found[name][k] for name in shown[1:]]) for k in range(SHOWN)]
    aligned = [{name: " ".join(row) for name, row in zip(shown, three)} for three in rows]
    tables = [_score_table(found, scores), _feature_table(names)]
    section = Section(study.name, "Contact events", _TEXT, study.command, tables, [_picture(shown, rows)])
    _print_sequences(aligned)
    content = {
        "features": {"vertices": names.vertices, "edges": names.edges, "faces": names.faces},
        "near_m": sequences.NEAR,
        "runs": {name: _summary(found[name], values) for name, values in scores.items()},
        "aligned": aligned,
    }
    parts = [
        {"run": name, "throw": np.arange(len(truth)), "score": values, "events": [" ".join(s) for s in found[name]]}
        for name, values in ({_CASE.truth: np.zeros(len(truth))} | scores).items()
    ]
    study.finish(section, content, joined(parts), "dartpy")


def _throw(throws: int, seed: int) -> tuple[Any, dict[str, Trajectory]]:
    """Plan and motions by run, the same as in the study of whole throws."""
    laws = {OURS: load(_CASE.law), BASELINE: load(_CASE.baseline)}
    plan = plan_of(laws[OURS])
    start = fresh_starts(plan, throws, seed)
    with Console(stderr=True).status("Throwing the box"):
        runs = {_CASE.truth: throw_truth(plan, start)}
        runs |= {name: rollout(law, start, STEPS, gravity=plan.gravity) for name, law in laws.items()}
        for k, size in enumerate(MOVES):
            runs[floor_name(_CASE, size)] = throw_truth(plan, metrics.perturbed(plan.body, start, size, seed + k))
    return plan, runs


def _sequences(body, names: sequences.Names, run: Trajectory) -> list[list[str]]:
    """The event sequence of each throw; vertices of a lost run touch nothing."""
    heights = np.nan_to_num(metrics.vertex_heights(body, run), nan=np.inf)
    return [sequences.event_sequence(names, throw) for throw in heights]


def _summary(found: list[list[str]], scores) -> dict[str, Any]:
    return {
        "throws": len(scores),
        "mean_score": float(scores.mean()),
        "interval_95": list(metrics.bootstrap_interval(scores, 0)),
        "median_score": float(np.median(scores)),
        "share_equal": float(np.mean(scores == 0)),
        "mean_length": float(np.mean([len(sequence) for sequence in found])),
    }


def _score_table(found, scores) -> Table:
    rows = []
    for name, values in scores.items():
        figured = _summary(found[name], values)
        low, high = figured["interval_95"]
        score = f"{figured['mean_score']:.3f} ({low:.3f} to {high:.3f})"
        rows.append([name, score, f"{100 * figured['share_equal']:.0f} %", f"{figured['mean_length']:.1f}"])
    length = np.mean([len(sequence) for sequence in found[_CASE.truth]])
    note = f"{len(found[_CASE.truth])} throws; DART's sequences have {length:.1f} events on average. Lower is better."
    columns = ["", "Edit distance, mean (95 %)", "Equal sequences", "Events, mean"]
    return Table("Contact event sequences against DART's", columns, rows, note)


def _feature_table(names: sequences.Names) -> Table:
    """Where the vertices are, and which of them each edge and face has."""

    def joined_names(vertices) -> str:
        return "".join(str(k + 1) for k in vertices)

    edges = ", ".join(f"{name} {joined_names(vertices)}" for name, vertices in names.edges.items())
    faces = ", ".join(f"{name} {joined_names(vertices)}" for name, vertices in names.faces.items())
    return Table("Names", ["", "By their vertices"], [["Edges", edges], ["Faces", faces]])


def _print_sequences(aligned: list[dict[str, str]]) -> None:
    for k, rows in enumerate(aligned):
        print(f"Throw {k + 1}")
        for name, text in rows.items():
            print(f"  {name:9} {text}")


def _picture(shown: tuple[str, ...], rows: list[list[list[str]]]) -> Plot:
    """Events as text, a row a run, those that differ from DART's in colour."""
    figure = figures.figure("Five throws: what touches the ground, in order", "", "", height=80 + 110 * len(rows))
    longest = max(len(three[0]) for three in rows)
    ticks = []
    for k, three in enumerate(rows):
        for place, (name, row) in enumerate(zip(shown, three)):
            y = -(k * (len(shown) + 1) + place)
            ticks.append((y, name))
            looks = [_look(event, true) for event, true in zip(row, three[0])]
            colours, boxes = (list(part) for part in zip(*looks))
            marker = {"symbol": "square", "size": 15, "color": boxes, "line": {"width": 0}}
            figure.add_scatter(
                x=list(range(len(row))), y=[y] * len(row), text=row, mode="markers+text", marker=marker,
                textfont={"color": colours, "size": 11}, textposition="middle center", showlegend=False,
                hovertemplate=f"throw {k + 1}, {name}: %{{text}}<extra></extra>",
            )  # fmt: skip
    bare = {"showgrid": False, "showline": False, "ticks": ""}
    figure.update_xaxes(**bare, showticklabels=False, range=[-0.7, longest - 0.3])
    figure.update_yaxes(**bare, tickvals=[y for y, _ in ticks], ticktext=[name for _, name in ticks])
    caption = f"Orange: differs from DART's. {sequences.GAP} nothing to match. Vertices 1-8, edges a-l, faces A-F."
    return Plot(figure, caption)


def _look(event: str, true: str) -> tuple[str, str]:
    """Colours of an event's name and of its ground."""
    if event != true:
        return figures.COLOURS["PDD"], "#fbe3d4"
    return (figures.COLOURS["truth"], figures.BLANK) if event == sequences.GAP else (figures.INK, figures.PALE)
