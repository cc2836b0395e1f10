"""The result of `stiction.identify`: one interface for bodies in space, bodies in a plane and jointed parts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiction.bodies.body import Body
from stiction.bodies.state import Mode
from stiction.fit.forecast import TossErrors
from stiction.fit.free import Fitted
from stiction.fit.gauss_newton import Parameter, Solution, named
from stiction.fit.point_material import adjusted, fit_material
from stiction.laws.impact import ImpactLaw
from stiction.laws.material import Material
from stiction.recordings.tosses import Tosses
from stiction.simulation.rollout import rollout


class Identified(ABC):
    """A body or part and its contact, as identified from recordings.

    law: the law of this body, for `rollout` and `laws=` of `stiction.mujoco.Simulation`; for a part, its material
    material: for any geom, pair, body and time step of MuJoCo models, with restitution and uncertainty
    body: with the fitted mass properties and shape; for a part, its description
    parameters, solution: what was fitted
    tosses: numbers of fitted and of held-out tosses; seconds: that it took
    """

    law: Any
    parameters: Sequence[Parameter]
    solution: Solution
    tosses: tuple[int, int]
    seconds: float

    @property
    @abstractmethod
    def material(self) -> Material: ...
    @property
    @abstractmethod
    def body(self) -> Any: ...
    @abstractmethod
    def mjcf(self) -> str:
        """Return a MuJoCo model of the body or part, with the fitted mass properties and shape."""

    @abstractmethod
    def with_values(self, values: NDArray[np.float64]) -> "Identified":
        """Return the same with other parameters (p,)."""

    @abstractmethod
    def summary(self) -> str:
        """Return the result and its uncertainty in sentences, one per line; standard errors follow ±."""

    @abstractmethod
    def plot(self, path: str | Path) -> None:
        """Draw friction and restitution with their bands, as a .png file."""

    @abstractmethod
    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write the result, and return the paths of the files."""

    @property
    def values(self) -> dict[str, float]:
        """Fitted parameters by name."""
        return named(self.parameters, self.solution.values)

    @property
    def figures(self) -> dict[str, Any]:
        """All figures, as `stiction identify --json` writes them: parameters, standard errors, held-out errors."""
        return self.law.info

    @property
    def report(self) -> str:
        """The same as `summary()`."""
        return self.summary()

    @property
    def unobserved(self) -> list[str]:
        """Parameters that these tosses do not determine: less than 70 % of the information comes from the data."""
        return [p.name for p, share in zip(self.parameters, self.solution.observed) if share < 0.7]

    def sample(self, n: int, seed: int = 0) -> "list[Identified]":
        """Return n results with parameters drawn from their standard errors and correlations, within their bounds."""
        rng = np.random.default_rng(seed)
        return [self.with_values(row) for row in drawn_values(self.parameters, self.solution, n, rng)]

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Identified({self.law!r}, from {self.tosses[0]} tosses)"


def drawn_values(
    parameters: Sequence[Parameter], solution: Solution, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return parameters (n, p) drawn from a solution's covariance, within their bounds."""
    # By eigenvectors, since unobserved parameters make the covariance nearly singular.
    sizes, axes = np.linalg.eigh(solution.covariance)
    normal = rng.standard_normal((n, len(solution.values)))
    rows = solution.values + normal * np.sqrt(np.maximum(sizes, 0.0)) @ axes.T
    return np.clip(rows, [p.low for p in parameters], [p.high for p in parameters])


def parameter_figures(parameters: Sequence[Parameter], solution: Solution) -> dict[str, dict[str, float]]:
    """Return value, standard error and observed share of each parameter."""
    rows = zip(parameters, solution.values, solution.errors, solution.observed, strict=True)
    return {p.name: {"value": float(v), "error": float(e), "from_data": float(o)} for p, v, e, o in rows}


@dataclass(frozen=True, repr=False)
class IdentifiedBody(Identified):
    """A free or planar body and its impact law.

    held_out: errors of forecasts of held-out tosses
    effects: change of (position, rotation) error if one parameter is reset to where the fit started
    coverage: share of the held-out tosses inside the law's regions, by level
    tried: what was compared to choose the type of law, see free.py
    residual: what was compared to learn the law's residual, see residual.py; empty if it was not learned
    still: mean errors on held-out tosses of a body that stays where it first touches
    loads: range of normal forces [N] for which these tosses determine friction
    horizon: frames after the first touch for which forecasts of held-out tosses are good, and for which the
        uncertainty of their starts alone would allow it
    recorded: fitted and held-out tosses, to which `material` is fitted when it is first used; None: it is converted
        from the law alone
    """

    law: ImpactLaw
    fitted: Fitted
    tosses: tuple[int, int]
    held_out: TossErrors | None
    effects: dict[str, tuple[float, float]]
    coverage: dict[float, float]
    tried: dict[str, Any]
    residual: dict[str, Any]
    seconds: float
    still: dict[str, float] | None = None
    loads: tuple[float, float] | None = None
    horizon: tuple[int, int] | None = None
    recorded: tuple[Tosses, Tosses | None] | None = None

    @cached_property
    def material(self) -> Material:  # type: ignore[override]
        """The law's contact as a material, fitted in MuJoCo when it is first used, and saved with the law.

        `figures["material"]` has what it loses against the law. Its covariance follows from the standard errors of the
        law's friction; info["restitution_error"] is the standard error of the restitution at 1 m/s.
        """
        law = self.law
        if law.point_material is None:
            found, figures = law.as_material(), {"source": law.as_material().info["source"]}
            if self.recorded is not None:
                found, figures = fit_material(law, *self.recorded)
            error = self.fitted.found("restitution")[1] if self.fitted.bounces else None
            draws = [adjusted(one, figures.get("factors", {})) for one in self.drawn_laws(200)]
            covariance = np.cov([_coefficients(one) for one in draws], rowvar=False)
            law.info["material"] = figures
            law.point_material = replace(found, covariance=covariance).with_info(restitution_error=error)
        return law.point_material  # type: ignore[return-value]

    @property
    def figures(self) -> dict[str, Any]:
        assert self.material is not None  # which adds its own figures
        return self.law.info

    @property
    def body(self) -> Body:
        return self.law.body

    @property
    def parameters(self) -> Sequence[Parameter]:  # type: ignore[override]
        return self.fitted.parameters

    @property
    def solution(self) -> Solution:  # type: ignore[override]
        return self.fitted.solution

    def mjcf(self) -> str:
        from stiction.mujoco import to_mjcf  # needs MuJoCo

        return to_mjcf(self.law)

    def with_values(self, values: NDArray[np.float64]) -> "IdentifiedBody":
        fitted = replace(self.fitted, solution=replace(self.solution, values=values))
        law = fitted.law(self.law.timestep).with_residual(self.law.residual).with_spread(self.law.spread)
        law.info.update(self.law.info)
        kept = {"covariance": self.material.covariance, "info": self.material.info}
        law.point_material = replace(adjusted(law, self.material.info.get("factors", {})), **kept)
        return replace(self, law=law, fitted=fitted)

    def drawn_laws(self, n: int) -> list[ImpactLaw]:
        """Return n laws with contact parameters drawn from the standard errors of the fit, seed 0."""
        names = [p.name for p in self.parameters]
        rows = drawn_values(self.parameters, self.solution, n, np.random.default_rng(0)).tolist()
        changes = [vars(self.fitted.material(dict(zip(names, row)))) for row in rows]
        return [self.law.with_material(**change) for change in changes]

    def summary(self) -> str:
        from stiction.fit.verdict import verdict_lines

        return "\n".join(verdict_lines(self))

    def plot(self, path: str | Path) -> None:
        from stiction.fit.report import plot_identified

        plot_identified(self, path)

    def save(self, path: str | Path) -> tuple[Path, ...]:
        assert self.material is not None  # the file holds it beside the law
        self.law.save(path)
        return (Path(path),)


def _coefficients(material: Material) -> NDArray[np.float64]:
    """Return the parameters of friction in the order of `Material.covariance`."""
    curves = [curve.coefficients for curve in (material.speed, material.load) if curve is not None]
    return np.concatenate([[np.log(material.scale)], material.cosines, material.sines, *curves, [material.viscosity]])


def body_figures(found: IdentifiedBody, command: str, source: dict[str, Any]) -> dict[str, Any]:
    """Return what the law's file holds about its origin. source: of the recordings"""
    from stiction.fit.verdict import verdict_figures

    fitted, (gravity, error) = found.fitted, found.fitted.gravity
    rows = parameter_figures(fitted.parameters, fitted.solution)
    rows |= {name: {"value": value, "error": error, "from_data": 1.0} for name, (value, error) in fitted.shape.items()}
    content: dict[str, Any] = {
        "command": command,
        "source": source,
        "fitted_tosses": found.tosses[0],
        "held_out_tosses": found.tosses[1],
        "parameters": rows,
        "fixed": fitted.fixed,
        "kind": {"bounces": fitted.bounces, "memory": fitted.memory, **found.tried},
        "gravity": {"value": gravity, "error": error if np.isfinite(error) else None},
        "flight": {name: {"value": value, "error": error} for name, (value, error) in fitted.slowed.items()},
        "loads": list(found.loads) if found.loads else None,
        "losses": fitted.solution.losses,
        "residual": found.residual,
        "coverage": {str(level): share for level, share in found.coverage.items()},
        "verdict": verdict_figures(found),
        "summary": found.summary(),
    }
    if found.held_out is not None:
        content["held_out"] = found.held_out.means()
        content["held_out_if_still"] = found.still
    return content


def loads_seen(law: ImpactLaw, tosses: Tosses) -> tuple[float, float] | None:
    """Return the range of normal forces [N] that hold 90 % of the impulse while the body slips; None: it never does.

    Only for these loads do tosses determine friction. The forces are those of the law's forecasts of 100 tosses at
    most; in an impact, they are averages over a part of a frame, as the law has them.
    """
    some = tosses[range(min(len(tosses), 100))]
    timestep = law.timestep / law.substeps
    starts, steps = some.states(law.body, law.gravity, law.drag), law.substeps * max(toss.steps for toss in some.tosses)
    run = rollout(law, starts, steps, timestep=timestep, finite=False)
    force = run.impulse[..., 2][run.mode == Mode.DYNAMIC] / timestep
    force = np.sort(force[force > 0])
    if not len(force):
        return None
    share = np.cumsum(force) / force.sum()  # of the impulse that acts under at most this force
    low, high = (force[np.searchsorted(share, part)] for part in (0.05, 0.95))
    return float(low), float(high)
