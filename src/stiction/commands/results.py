"""`stiction results`."""

from pathlib import Path
from typing import Annotated

import tyro

from stiction.commands.loading import load


def results(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
    /,
    *,
    out: Path,
    pages: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE ...", help_behavior_hint="(optional)")] = (),
) -> None:
    """Write the tables of all studies in a folder to one Markdown page, with their commands and commits.

    Args:
        folder: Where `stiction reproduce` and `stiction bench` were told to put their results.
        out: Markdown file to write.
        pages: Other Markdown files: between <!-- table STUDY: TITLE --> and <!-- end --> they get that table.
    """
    load("studies.results").write(folder, out, pages=pages)
    print("Wrote " + ", ".join(map(str, (out, *pages))))
