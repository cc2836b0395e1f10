"""Tables of the study, from the figures of `parts`."""

from collections.abc import Sequence
from typing import Any

from stiction_studies.materials.exam import KINDS, MOVES
from stiction_studies.materials.lab import MATERIAL
from stiction_studies.page.section import Table
from stiction_studies.study import number, percent

_COLUMNS = [
    "",
    "Friction: point",
    "line",
    "surface",
    "Right mode",
    "Position, mean",
    "Position, median",
    "Right face",
]
_NOTE = (
    "Friction: mean size of the error where a contact slides / mean size of friction. Right mode: the least share of "
    "the three kinds of patch. Position: error at the end of a throw as a share of the mean distance, with the 95 % "
    "interval of a bootstrap over the throws. ± 1e-6 and ± 1e-4: the ground truth itself, with position [m], "
    "orientation [rad], velocity [m/s] and spin [rad/s] of the start each moved by that much."
)


def grounds_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Each ground truth, each law."""
    cells = []
    for row in rows:
        cells += [[f"{row['title']}: {name}", *cells_of(found)] for name, found in row["laws"].items()]
        cells += _floors(row, f"{row['title']}: ")
    return Table("Learned from throws of the box", _COLUMNS, cells, _NOTE)


def structure_table(rows: Sequence[dict[str, Any]]) -> Table:
    """What each material was found to depend on, and what it says of its own error."""
    cells = []
    for row in rows:
        law = row["laws"][MATERIAL]["law"]
        held = law["held_out"]["all"]
        floor = held.get("noise_floor")
        cells.append(
            [
                row["title"],
                law["structure"]["depends_on"],
                law["structure"]["switches"],
                percent(held["friction_error"]) if "friction_error" in held else "–",
                "–" if floor is None else percent(floor),
                "yes" if law["warning"] else "no",
                f"{number(law['seconds'])} s",
            ]
        )
    columns = ["", "Depends on", "Switches", "Held-out residual", "Of it noise", "Warns", "Learning"]
    note = (
        "Held-out residual: error of friction in throws that were not learned from. A material warns where it is large "
        "and more than noise explains: then the truth is not, or not only, friction at points."
    )
    return Table("What the materials say of themselves", columns, cells, note)


def transfer_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Materials on other bodies."""
    cells = []
    for row in rows:
        floor = row["floor"][f"{MOVES[1]:g}"]
        mean, _median, face = _throws(floor)
        cells.append([f"{row['title']}: {row['place']}", *cells_of(row["laws"][MATERIAL]), mean, face])
    note = (
        "Each material was learned from the box of 1 kg at steps of 2 ms. A kind of patch that never slides, or never "
        "comes, has no error. The last two columns are of the ground truth itself, its start moved by 1e-4: a stone "
        "of many small faces seldom ends on the same one."
    )
    return Table("Carried to other bodies and time steps", [*_COLUMNS, "± 1e-4: mean", "right face"], cells, note)


def dart_table(rows: Sequence[dict[str, Any]]) -> Table:
    """DART: one material, three bodies."""
    cells = []
    for row in rows:
        cells += [[f"{row['place']}: {name}", *cells_of(found)] for name, found in row["laws"].items()]
        cells += _floors(row, f"{row['place']}: ")
    return Table("DART: a material learned from the box alone", _COLUMNS, cells, "Friction 1.0, Dantzig solver.")


def efficiency_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Number of throws, each law."""
    ordered = sorted(rows, key=lambda row: (row["ground"], row["name"], row["learned_from"]))
    cells = [[f"{row['title']}: {row['name']}, {row['learned_from']} throws", *cells_of(row)] for row in ordered]
    return Table("How much data", _COLUMNS, cells)


def cells_of(found: dict[str, Any]) -> list[str]:
    """The cells of one law after its name."""
    kinds = [found["kinds"].get(kind, {}) for kind in KINDS]
    friction = [percent(kind["friction_error"]) if "friction_error" in kind else "–" for kind in kinds]
    modes = [kind["accuracy"] for kind in kinds if "accuracy" in kind]
    return [*friction, f"{100 * min(modes):.2f} %" if modes else "–", *_throws(found["throws"])]


def _floors(row: dict[str, Any], title: str) -> list[list[str]]:
    return [
        [f"{title}itself, ± {size:.0e}".replace("e-0", "e-"), *["–"] * 4, *_throws(row["floor"][f"{size:g}"])]
        for size in MOVES
    ]


def _throws(found: dict[str, Any]) -> list[str]:
    if "mean" not in found:
        return ["lost"] * 3
    cells = []
    for name in ("mean", "median"):
        low, high = (number(100 * limit) for limit in found[f"{name}_95"])
        cells.append(f"{percent(found[name])} ({low}–{high})")
    lost = f" ({found['lost']} lost)" if found["lost"] else ""
    return [*cells, f"{100 * found['right_face']:.1f} %{lost}"]


def flat_rows(part: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a law, for a file of columns."""
    flat = []
    for row in rows:
        for name, found in row.get("laws", {row.get("name"): row}).items():
            one = {"part": part, "ground": row.get("ground", "dart"), "place": row.get("place", "box, 1 kg, 2 ms")}
            one |= {"law": name, "throws": found.get("law", {}).get("throws")}
            for kind in KINDS:
                figures = found["kinds"].get(kind, {})
                one[f"{kind}_friction_error"] = figures.get("friction_error")
                one[f"{kind}_accuracy"] = figures.get("accuracy")
            for key in ("mean", "median", "right_face", "lost"):
                one[f"position_{key}" if key in ("mean", "median") else key] = found["throws"].get(key)
            flat.append(one)
    return flat
