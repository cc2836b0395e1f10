"""`stiction view`."""

from typing import Annotated

import tyro

from stiction.basics.extras import require
from stiction.commands.loading import load
from stiction.learning.collect.options import OptionalFile


def view(
    law: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="LAW")] = "box",
    /,
    *,
    data: OptionalFile = None,
    material: Annotated[float | str | None, tyro.conf.arg(metavar="MATERIAL", help_behavior_hint="(optional)")] = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    open: bool = True,
    seed: int = 0,
) -> None:
    """Throw a body with a law in the browser and watch it beside its ground truth; or watch a robot.

    Args:
        law: Name of a shipped law, or path of a model file; quadruped, or a MuJoCo model (.xml, .mjcf, .urdf).
        data: Recordings of the body, to be shown beside their forecasts.
        material: Of a MuJoCo model: coefficient, name or path of the material that all of it is made of.
        host: Address to listen on; 0.0.0.0 lets other machines in.
        port: Port to listen on; the next free one if it is taken.
        open: Open the browser.
        seed: Seed of the random throws.
    """
    require("`stiction view`", "viser")
    viewer = load("studies.robots.view")
    if viewer.is_robot(law):
        require(f"`stiction view {law}`", "mujoco")
    viewer.serve(law, host=host, port=port, seed=seed, open_browser=open, data=data, material=material)
