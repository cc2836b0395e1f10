"""What `stiction view` opens: a law and its body, or a robot."""

from pathlib import Path

from stiction.basics import checks

QUADRUPED = "quadruped"  # the project's own robot
_MODELS = (".xml", ".mjcf", ".urdf")


def is_robot(what: str) -> bool:
    """Whether this is a robot: the project's own, or the file of a model."""
    return what == QUADRUPED or Path(what).suffix.lower() in _MODELS


def serve(
    law: str,
    *,
    host: str,
    port: int,
    seed: int,
    open_browser: bool,
    data: str | Path | None = None,
    material: str | float | None = None,
) -> None:
    """Run the viewer of a law, of `quadruped` or of a model file until it is interrupted.

    data: recordings of the law's body
    material: of everything that touches in a model file: the name or path of a material, or Coulomb's coefficient
    """
    if not is_robot(law):
        if material is not None:
            raise checks.InputError(f"A material is for the file of a robot's model, got the law {law}.")
        from stiction.viewer import law_viewer as viewer

        viewer.serve(law, host=host, port=port, seed=seed, open_browser=open_browser, data=data)
        return
    if data is not None:
        raise checks.InputError(f"Recordings are for a law, such as cube; got the robot {law}.")
    from stiction.viewer import window as serving
    from stiction.viewer.robot_viewer import FRICTION, Quadruped, RobotViewer, Stranger

    if law == QUADRUPED and material is not None:
        raise checks.InputError("The quadruped stands on learned feet; a material is for a model file.")
    own = FRICTION if material is None else material
    robot = Quadruped() if law == QUADRUPED else Stranger(law, own, seed=seed)
    serving.serve(RobotViewer(robot, host=host, port=port), open_browser=open_browser)
