"""A part from a mesh file falls 1,000 times: on which of its faces does it come to rest?

    python examples/drop_mesh.py [MESH_FILE METRES_PER_UNIT]

Without a file, a wedge is made and written to build/wedge.stl. A mesh must be convex and watertight.
"""

import sys
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

import stiction


def wedge(path: Path) -> Path:
    """A wedge of 80 x 60 x 50 mm, in millimetres, as CAD programs write it."""
    corners = [[x, y, z] for x in (0, 80) for y, z in ((0, 0), (60, 0), (0, 50))]
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.convex.convex_hull(corners).export(path)
    return path


path, scale = (Path(sys.argv[1]), float(sys.argv[2])) if len(sys.argv) > 2 else (wedge(Path("build/wedge.stl")), 0.001)
body = stiction.Body.mesh(path, mass=0.2, scale=scale)
print(body)

law = stiction.Material.coulomb(0.4).on(body)
starts = stiction.State.random(body, 1000, seed=0, ranges={"height": (0.2, 0.4)})
# Only the last state is kept.
end = stiction.rollout(law, starts, steps=1000, every=1000).state()

# The face whose normal points down.
triangle = body.vertices[[face[:3] for face in body.faces]]
normals = np.cross(triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0])
normals /= np.linalg.norm(normals, axis=1, keepdims=True)
down = np.stack([turn.inv().apply([0, 0, -1]) for turn in Rotation.from_quat(end.quaternion, scalar_first=True)])
cosine = down @ normals.T
lowest, at_rest = cosine.argmax(axis=1), cosine.max(axis=1) > 0.9999
for number, face in enumerate(body.faces):
    share = np.mean(at_rest & (lowest == number))
    print(f"face {number}: {len(face)} corners, normal {np.round(normals[number], 2)}: {share:6.1%} of the throws")
speed = np.linalg.norm(end.velocity, axis=1)
print(f"at rest on a face after 2 s: {at_rest.mean():.1%}; not moving at all: {np.mean(speed == 0):.1%}")
