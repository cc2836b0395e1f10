"""What the identification of a jointed part hands back: the part, its material, and how good they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stiction.basics import checks
from stiction.basics.files import write_whole
from stiction.laws.material import Material
from stiction.learning.identify.gauss_newton import Parameter, Solution
from stiction.learning.identify.identified import UNTOLD as LEAST_FROM_DATA
from stiction.learning.jointed.part import JointedPart


@dataclass(frozen=True)
class JointedIdentified:
    """A part and a material that move as it was recorded.

    values: all numbers that were found, by name
    material: its `info` tells all figures; timestep: of the model [s]
    """

    part: JointedPart
    parameters: Sequence[Parameter]
    solution: Solution
    material: Material
    timestep: float

    @property
    def values(self) -> dict[str, float]:
        """Numbers by name, as `JointedPart.spec` takes them."""
        return {p.name: float(v) for p, v in zip(self.parameters, self.solution.values)}

    @property
    def figures(self) -> dict[str, Any]:
        """What `stiction identify --json` writes."""
        return self.material.info

    def save(self, out: str | Path) -> tuple[Path, Path]:
        """Write OUT.xml and OUT.safetensors, the part and the material, and give their paths."""
        out = Path(out)
        out = out.with_suffix("") if out.suffix in (".xml", ".safetensors") else out
        if out.suffix:
            raise checks.InputError(f"--out names two files, OUT.xml and OUT.safetensors; got {out}.")
        out.parent.mkdir(parents=True, exist_ok=True)
        model, material = out.with_suffix(".xml"), out.with_suffix(".safetensors")
        laws = ", ".join(f'"{link.name}": "{material.name}"' for link in self.part.links)
        head = f"<!-- Identified from recordings. With its material: Simulation(model, laws={{{laws}}}) -->\n"
        spec = self.part.spec(self.values, self.timestep)
        spec.compile()
        write_whole(model, (head + spec.to_xml()).encode())
        self.material.save(material)
        return model, material


def parameter_figures(parameters: Sequence[Parameter], solution: Solution) -> dict[str, dict[str, float]]:
    """Of each parameter its value, its standard error and the share of it that the tosses decide."""
    rows = zip(parameters, solution.values, solution.errors, solution.told, strict=True)
    return {p.name: {"value": float(v), "error": float(e), "from_data": float(t)} for p, v, e, t in rows}


def is_undecided(row: dict[str, float]) -> bool:
    """Whether the tosses do not decide a parameter."""
    return row["from_data"] < LEAST_FROM_DATA
