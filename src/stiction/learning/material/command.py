"""`stiction train --law material`: learn a material, tell what was chosen and why, and draw it."""

import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from stiction.basics import checks, files
from stiction.basics.progress import parts
from stiction.basics.versions import versions
from stiction.laws.material import Material
from stiction.learning.material.observed import opened
from stiction.learning.material.train import train_material

_SHOWN = 5  # structures in the table, the best ones


def run(data: Sequence[Path], out: Path, *, seed: int = 0, json: Path | None = None) -> Material:
    """Learn a material from data sets; write it to `out`, a plot beside it, and figures to `json`."""
    if out.suffix != ".safetensors":
        raise checks.InputError(f"--out must name a .safetensors file, got {out}.")
    sets = opened(data)
    began = time.monotonic()
    with parts() as progress:
        material = train_material(sets, seed=seed, progress=progress)
    out.parent.mkdir(parents=True, exist_ok=True)
    material.save(out)
    _print(material)
    info = material.info
    taken = f"{info['throws']:,} throws, {info['contacts']:,} contacts, {time.monotonic() - began:.0f} s"
    print(f"Learned from {taken}. Wrote {out}.")
    if find_spec("matplotlib") is not None:
        from stiction.learning.material.plot import draw

        picture = out.with_suffix(".png")
        draw(material, picture)
        print(f"Wrote {picture}")
    else:
        print("A plot of it needs matplotlib: pip install 'stiction[report]'")
    if json is not None:
        files.write_json(json, {**info, "material": repr(material), "versions": versions("numpy")})
        print(f"Wrote {json}")
    return material


def _print(material: Material) -> None:
    """What was chosen, what else was tried, and how good it is."""
    console, info = Console(), material.info
    chosen = info["structure"]
    console.print(f"{material!r}", highlight=False)
    tried = _table("held-out error", "switches", "depends on", "parameters", "error", "±")
    structures = sorted(info["tried_structures"], key=lambda row: row["held_out_error"])[:_SHOWN]
    best_switches = {row["switches"]: row for row in reversed(info["tried_switches"])}
    others = sorted(best_switches.values(), key=lambda row: row["held_out_error"])[:_SHOWN]
    for row in [chosen, *(r for r in structures if r["depends_on"] != chosen["depends_on"]), *others]:
        share = f"{row['held_out_error']:.3%}", f"{row['standard_error']:.3%}"
        mark = "[bold]" if row is chosen else ""
        tried.add_row(*(mark + cell for cell in (row["switches"], row["depends_on"], str(row["parameters"]), *share)))
    console.print(tried)
    good = _table("throws that were held out", "patch", "contacts", "modes", "friction error", "noise")
    for kind, row in info["held_out"].items():
        shares = [_share(row, name) for name in ("modes", "friction_error", "noise_floor")]
        good.add_row(kind, f"{row['contacts']:,}", *shares)
    console.print(good)
    if info["warning"]:
        console.print(f"[bold]Warning:[/bold] {info['warning']}")


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("switches", "depends on", "patch") else "right")
    return table


def _share(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.3%}" if row.get(name) is not None else "-"
