"""Interactive plots of the study."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stiction_studies import figures
from stiction_studies.materials.lab import AUGMENTED, COULOMB, MATERIAL
from stiction_studies.page.section import Plot

_DASHES = {MATERIAL: "solid", COULOMB: "dot", AUGMENTED: "dash"}


def efficiency_plot(rows: Sequence[dict[str, Any]]) -> Plot:
    """Error of whole throws against the number of throws that laws have learned from."""
    figure = figures.figure("How much data: error of the final position", "training throws", "mean error [%]")
    grounds = list(dict.fromkeys(row["title"] for row in rows))
    for title, colour in zip(grounds, figures.SERIES):
        for law, dash in _DASHES.items():
            mine = [row for row in rows if (row["title"], row["name"]) == (title, law) and "mean" in row["throws"]]
            if mine:
                figure.add_scatter(
                    x=[row["learned_from"] for row in mine],
                    y=[100 * row["throws"]["mean"] for row in mine],
                    mode="lines+markers",
                    name=f"{title}: {law}",
                    line={"color": colour, "dash": dash, "width": 2},
                )
    figure.update_xaxes(**figures.log_axis(0, 3))
    figure.update_yaxes(**figures.log_axis(-5, 2))
    most = max(row["learned_from"] for row in rows)
    figure.update_layout(xaxis_range=[0.7, np.log10(most) + 0.1])
    return Plot(figure, "Solid: material. Dotted: Coulomb's law. Dashed: the paper's networks.")
