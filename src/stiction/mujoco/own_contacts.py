"""MuJoCo's own contacts of bodies with laws: which of them a law takes over, and which it does not cover."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from stiction import _core
from stiction.mujoco.ground import Ground
from stiction.mujoco.mjcf import mujoco


class OwnContacts:
    """The contacts that MuJoCo finds of some bodies, the links of `core`, in each step.

    With one plane as ground, MuJoCo does not look for its contacts with these bodies: see `mjcf.leave_out`. Where there
    are several, each step says which plane a body stands on: contact with that is left out then. Anything else that a
    body touches stays MuJoCo's, is counted, and is said once.
    """

    def __init__(self, model: Any, data: Any, ground: Ground, bodies: Sequence[int], core: _core.RobotStep) -> None:
        self._model, self._data, self._core, self._bodies = model, data, core, bodies
        self._notes = core.notes
        number = {body: link for link, body in enumerate(bodies)}
        # One more than there are, for what is no geom (-1), and for those who stand on no plane (-1).
        self._link = np.array([*(number.get(int(body), -1) for body in model.geom_bodyid), -1])
        self._in_plane = np.zeros((len(ground.planes) + 1, model.ngeom + 1), dtype=np.bool_)
        for k, plane in enumerate(ground.planes):
            self._in_plane[k, list(plane.geoms)] = True
        self._said: set[int] = set()

    def look(self, counts: bool = True) -> None:
        """Leave out the contacts with planes on which links stand in this step, and count links that touch more.

        MuJoCo has made its constraints before, and makes them anew where some are left out.
        """
        if (self._link[self._data.contact.geom] < 0).all():
            return
        left_out = self.leave_out()
        if counts:
            self.count()
        if left_out:
            model, data = self._model, self._data
            mujoco.mj_makeConstraint(model, data)
            mujoco.mj_island(model, data)
            mujoco.mj_projectConstraint(model, data)
            mujoco.mj_fwdVelocity(model, data)

    def leave_out(self) -> bool:
        """Exclude the contacts with planes on which links stand in this step; whether there are any."""
        contact = self._data.contact
        pair = contact.geom
        link = self._link[pair]
        if (link < 0).all():
            return False
        stands = self._in_plane[
            self._core.planes[link], pair[:, ::-1]
        ]  # the first on the second, the second on the first
        taken = (stands & (link >= 0)).any(axis=1)
        if not taken.any():
            return False
        contact.exclude[taken], contact.efc_address[taken] = 1, -1
        return True

    def count(self) -> None:
        """Count links that touch what no law covers."""
        contact = self._data.contact
        others = np.unique(self._link[contact.geom][contact.exclude == 0])
        links = others[others >= 0]
        self._notes["uncovered"][links] += 1
        for link in set(links.tolist()) - self._said:
            self._said.add(link)
            name = self._model.body(self._bodies[link]).name
            warnings.warn(
                f"The body {name!r} touches something that its law does not cover, from t = {self._data.time:g} s on: "
                "there, MuJoCo's own contact acts, and `uncovered` counts such steps.",
                stacklevel=8,
            )
