"""Learn a material: from single contacts where they are known well, through rollouts where poses are noisy."""

from typing import Any

from stiction.basics import checks
from stiction.bodies.body import Body
from stiction.laws.material import Material
from stiction.learning.material.choose import Progress
from stiction.learning.material.cuts import cut
from stiction.learning.material.observed import opened
from stiction.learning.material.recorded_poses import is_recorded, recorded_poses
from stiction.learning.material.through_rollouts import learned_from_windows
from stiction.learning.material.through_steps import learned_from_contacts

WAYS = ("auto", "steps", "rollouts")


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
        or a Trajectory, of which nothing but the poses is looked at
    through: "steps": from single contacts and their impulses, which must be known well; "rollouts": from poses, which
        may be noisy; "auto": steps for data sets, rollouts for anything else
    body: what was thrown; a data set knows it, and so do recordings that were read for it
    held_out: share of the throws that decide when the fit stops, and that tell how good it is
    progress: is told the part under way and its share done
    `Material.info` of the result tells what was chosen and why, and how good it is on throws that it has not seen.

        data = stiction.collect(body, stiction.Material.coulomb(0.4), throws=8)
        material = stiction.train_material(data)
        law = material.on(stiction.Body.prism(5, 0.2, 0.2, mass=2.0))  # any other body
    """
    checks.choice("through", through, WAYS)
    how = {"seed": checks.count("seed", seed, 0), "held_out": held_out, "progress": progress}
    recorded = is_recorded(data)
    if through == "rollouts" or (through == "auto" and recorded):
        return learned_from_windows(cut(recorded_poses(data, body)), **how)
    if recorded:
        raise checks.InputError('Poses alone tell no impulses of single steps: learn from them through="rollouts".')
    if body is not None:
        raise checks.InputError("body is for recorded poses; a data set knows its own.")
    return learned_from_contacts(opened(data), **how)
