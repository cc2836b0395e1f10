"""`stiction.train_material` and `stiction train --law material`: a material from contacts, or from noisy poses."""

import math
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from stiction.basics import checks, files
from stiction.basics.environment import needs, versions
from stiction.basics.progress import parts
from stiction.bodies.body import Body
from stiction.fit.material_choice import Progress
from stiction.fit.material_learning import learned_from_contacts, learned_from_windows
from stiction.fit.material_points import opened
from stiction.fit.pose_windows import cut, is_recorded, recorded_poses
from stiction.fit.report import plot_material, titled_table
from stiction.laws.material import Material
from stiction.laws.modelfile import to_be_written


def train_material(
    data: Any,
    *,
    through: str = "auto",
    body: Body | None = None,
    seed: int = 0,
    held_out: float = 0.15,
    progress: Progress = lambda part, done: None,
) -> Material:
    """Learn a material from the contacts of one or many bodies, or from the poses of one.

    data: a data set or the path of its folder, or several of them; or recordings of tosses, the path of their folder,
        or a Trajectory, of which only the poses are used
    through: "steps": from single contacts and their impulses, which must be accurate; "rollouts": from poses, which
        may be noisy; "auto": steps for data sets, rollouts for anything else
    body: what was thrown, for poses without a body; data sets have one, and so do recordings that were read for it
    held_out: share of the throws by which the fit is stopped and its errors are measured
    progress: called with the part under way and its share done
    `Material.info` of the result holds what was chosen and why, the errors on held-out throws beside those of the best
    Coulomb law, which is returned instead if it forecasts whole throws better, and a warning if something is left.

        data = stiction.collect(body, stiction.Material.coulomb(0.4), throws=8)
        material = stiction.train_material(data)
        law = material.on(stiction.Body.prism(5, 0.2, 0.2, mass=2.0))  # any other body
    """
    checks.choice("through", through, ("auto", "steps", "rollouts"))
    seed = checks.count("seed", seed, 0)
    if not 0 < held_out < 1:
        raise checks.InputError(f"held_out must be a share between 0 and 1, got {held_out:g}.")
    recorded = is_recorded(data)
    if body is not None and not recorded:
        raise checks.InputError("body is for recorded poses; a data set has its own.")
    if through == "rollouts" or (through == "auto" and recorded):
        return learned_from_windows(cut(recorded_poses(data, body)), seed=seed, held_out=held_out, progress=progress)
    if recorded:
        raise checks.InputError('Poses alone have no impulses of single steps: learn from them through="rollouts".')
    return learned_from_contacts(opened(data), seed=seed, held_out=held_out, progress=progress)


def run(
    data: Sequence[Path],
    out: Path,
    *,
    through: str = "auto",
    body: Body | None = None,
    seed: int = 0,
    json: Path | None = None,
) -> Material:
    """Learn a material, print it, and write it to `out`, a plot beside it, and figures to `json`."""
    given = data[0] if len(data) == 1 else data
    started = time.monotonic()
    with to_be_written(out), parts() as progress:
        material = train_material(given, through=through, body=body, seed=seed, progress=progress)
        material.save(out)
    _print(material)
    info = material.info
    what = "contacts" if "contacts" in info else "windows"
    taken = f"{info['throws']:,} throws, {info[what]:,} {what}, {time.monotonic() - started:.0f} s"
    print(f"Learned from {taken}. Wrote {out}.")
    if find_spec("matplotlib") is not None:
        picture = out.with_suffix(".png")
        plot_material(material, picture)
        print(f"Wrote {picture}")
    else:
        print(needs("A plot of it", "matplotlib"))
    if json is not None:
        files.write_json(json, {**info, "material": repr(material), "versions": versions("numpy")})
        print(f"Wrote {json}")
    return material


def _print(material: Material) -> None:
    """Print what was chosen, what else was tried, and the errors on held-out throws."""
    console, info = Console(), material.info
    if "forecast" in info:
        console.print(_compared(info["forecast"]), highlight=False)
    console.print(f"{material!r}: {info['structure']['switches']}", highlight=False)
    with_what = "what was chosen" if "rollouts" in info["held_out"] else "all that friction may depend on"
    console.print(_tried(f"switches, each with {with_what}", "switches", info["tried_switches"]))
    console.print(_tried("what friction depends on", "depends_on", info["tried_structures"]))
    if "rollouts" in info["held_out"]:
        row = info["held_out"]["rollouts"]
        noise = f"{1e3 * row['position_noise']:.2g} mm and {math.degrees(row['rotation_noise']):.2g} degrees"
        console.print(
            f"Held-out throws, {row['windows']} windows: pose errors are {row['error_over_noise']:.2f} times their "
            f"noise, which is {noise}.",
            highlight=False,
        )
    else:
        columns = ("patch", "contacts", "modes", "friction error", "noise")
        table = titled_table("held-out throws", columns, left=("patch",))
        for kind, row in info["held_out"].items():
            shares = [row.get(name) for name in ("modes", "friction_error", "noise_floor")]
            table.add_row(kind, f"{row['contacts']:,}", *("-" if share is None else f"{share:.3%}" for share in shares))
        console.print(table)
    if info["warning"]:
        console.print(f"[bold]Warning:[/bold] {info['warning']}")


def _compared(forecast: dict[str, Any]) -> str:
    """Return which of two laws forecasts whole throws better, as text."""
    mine, other = (forecast[name]["held_out_mean"] for name in ("material", "coulomb"))
    if mine is None or other is None:
        return "No throw has consecutive steps: whole throws are not compared with Coulomb's law."
    kept = "Coulomb's law" if forecast["kept"] == "coulomb" else "the material"
    by = f", a difference of {forecast['excess']:+.2%} ± {forecast['excess_error']:.2%}" if "excess" in forecast else ""
    throws = f"{forecast['held_out_throws']} held-out throws"
    return f"{throws}: off by {mine:.2%} of the way, with the best Coulomb law by {other:.2%}{by}. Kept: {kept}."


def _tried(title: str, column: str, rows: list[dict[str, Any]]) -> Table:
    """Return a table of what was tried: the chosen one first, in bold, then the five best others."""
    heading = column.replace("_", " ")
    table = titled_table(title, (heading, "parameters", "held-out error", "±"), left=(heading,))
    rows = sorted(rows, key=lambda row: (not row["chosen"], row["held_out_error"]))
    for row in rows[:6]:
        name = row[column] + (", ellipse" if column == "switches" and "ellipse" in row["depends_on"] else "")
        error = f"{row['held_out_error']:.3%}", f"{row['standard_error']:.3%}"
        table.add_row(name, str(row["parameters"]), *error, style="bold" if row["chosen"] else "")
    return table
