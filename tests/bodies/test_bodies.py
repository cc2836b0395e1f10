"""Bodies: mass properties from geometry, meshes from files, and what is refused."""

import numpy as np
import pytest
import trimesh

from contact_states import contacts_from
from stiction import Body, CoulombLaw, InputError, State, rollout

CLOUD = np.random.default_rng(0).normal(size=(20, 3))


@pytest.fixture
def box_file(tmp_path):
    path = tmp_path / "box.stl"
    trimesh.creation.box((0.2, 0.3, 0.4)).export(path)
    return path


def test_bodies_are_equal_if_all_their_numbers_are():
    body = Body.box((0.2, 0.3, 0.4), 2.0)
    same = Body.from_dict(body.to_dict())
    assert body == same and hash(body) == hash(same) and {body: 1}[same] == 1
    others = [Body.box((0.2, 0.3, 0.4), 2.0, com=(0, 0, 0.01)), Body.box((0.2, 0.3, 0.41), 2.0), "box"]
    assert all(body != other for other in others)


def test_box_mass_properties():
    body = Body.box((0.2, 0.3, 0.4), 2.0)
    assert np.diag(body.inertia) == pytest.approx([2 / 12 * 0.25, 2 / 12 * 0.2, 2 / 12 * 0.13])


def test_prism_mass_properties_agree_with_its_mesh():
    body = Body.prism(5, 0.2, 0.3, 1.5)
    mesh = trimesh.convex.convex_hull(body.vertices)
    assert body.inertia == pytest.approx(1.5 * mesh.moment_inertia / mesh.volume, rel=1e-6, abs=1e-12)


def test_mesh_of_a_box_behaves_as_the_box(box, box_file):
    mesh = Body.mesh(box_file, 1.0)
    assert mesh.inertia == pytest.approx(box.inertia, rel=1e-6, abs=1e-12)
    state = State([0, 0, 0.5], [0.8, 0.6, 0, 0], [1, 0.5, 0], [1, 2, 3])
    a, b = (rollout(CoulombLaw(body, 0.6), state, 150) for body in (box, mesh))
    # Until chaos has magnified the single precision of the file's vertices.
    assert a.position == pytest.approx(b.position, abs=1e-5)
    assert np.array_equal(a.kind, b.kind)


def test_mesh_in_millimetres_needs_a_scale(box_file, tmp_path):
    path = tmp_path / "millimetres.stl"
    trimesh.creation.box((200, 300, 400)).export(path)
    with pytest.raises(InputError, match=r"400 m long.*give `scale=0.001`"):
        Body.mesh(path, 1.0)
    assert Body.mesh(path, 1.0, scale=1e-3).same_as(Body.mesh(box_file, 1.0))


def test_mesh_that_is_not_convex_is_refused(tmp_path):
    path = tmp_path / "ring.stl"
    trimesh.creation.annulus(0.1, 0.2, 0.1).export(path)
    with pytest.raises(InputError, match=r"is not convex: it fills 7[0-9.]+ % of its convex hull; give `hull=True`"):
        Body.mesh(path, 1.0)
    hull = Body.mesh(path, 1.0, hull=True)
    solid = trimesh.creation.cylinder(0.2, 0.1).moment_inertia / (0.1 * np.pi * 0.2**2)
    assert hull.inertia == pytest.approx(solid, rel=0.02, abs=1e-9)  # of a full cylinder


@pytest.mark.parametrize(
    "make",
    [
        lambda: Body.box((200, 300, 400), 1.0),
        lambda: Body.prism(6, 100, 50, 0.3),
        lambda: Body.rectangle((200, 300), 1.0),
    ],
)
def test_sizes_in_millimetres_are_named(make):
    with pytest.raises(InputError, match=r"density of .* kg/m.3.*its sizes look like millimetres"):
        make()


def test_mesh_with_a_hole_is_refused(tmp_path):
    mesh = trimesh.creation.box((0.2, 0.3, 0.4))
    mesh.faces = mesh.faces[1:]
    path = tmp_path / "open.stl"
    mesh.export(path)
    with pytest.raises(InputError, match="not watertight"):
        Body.mesh(path, 1.0)


def test_files_that_are_no_mesh_are_refused(tmp_path):
    with pytest.raises(InputError, match="There is no mesh file"):
        Body.mesh(tmp_path / "absent.stl", 1.0)
    for name in ("noise.stl", "noise.obj", "noise.ply", "noise.xyz"):
        path = tmp_path / name
        path.write_bytes(np.random.default_rng(1).bytes(500))
        with pytest.raises(InputError, match=name):
            Body.mesh(path, 1.0)


def test_explicit_centre_of_mass_and_inertia():
    inertia = np.diag([0.02, 0.03, 0.04])
    body = Body.box((0.2, 0.3, 0.4), 1.0, com=(0.01, 0.02, -0.05), inertia=inertia)
    assert np.array_equal(body.com, [0.01, 0.02, -0.05]) and np.array_equal(body.inertia, inertia)
    contacts = contacts_from(body, [[1.0, 0.0, 0.0, 0.0]], [1e-4], np.zeros((1, 6)))
    assert contacts.points(0)[:, :2].mean(axis=0) == pytest.approx([-0.01, -0.02])  # from the centre of mass
    assert contacts.record[0].height == pytest.approx(0.2 - 0.05 - 1e-4)
    assert np.diag(contacts.inverse_inertia[0]) == pytest.approx([1, 1, 1, *1 / np.diag(inertia)])


def test_description_is_read_back_exactly(prism):
    again = Body.from_dict(prism.to_dict())
    assert again.to_dict() == prism.to_dict()
    assert again.same_as(prism) and not again.same_as(Body.prism(5, 0.2, 0.2, 1.1))
    with pytest.raises(InputError, match="must have the field 'mass'"):
        Body.from_dict({key: value for key, value in prism.to_dict().items() if key != "mass"})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Body.box((0.2, 0.3, 0.4), -1.0), "mass .kg. must be positive, got -1"),
        (lambda: Body.box((0.2, 0.3, 0.4), np.nan), "mass .kg. must be finite, got nan"),
        (lambda: Body.box((0.2, 0.3), 1.0), r"box size must have shape \(..., 3\), got shape \(2,\)"),
        (lambda: Body.box((0.2, 0.0, 0.4), 1.0), "box size must be 3 lengths above 0"),
        (lambda: Body.box((0.2, 0.3, 0.4), 1.0, inertia=np.diag([1, 1, 3])), "none above the sum of the others"),
        (lambda: Body.box((0.2, 0.3, 0.4), 1.0, inertia=np.diag([1, 1, -1])), "principal moments positive"),
        (lambda: Body.box((0.2, 0.3, 0.4), 1.0, inertia=np.arange(9).reshape(3, 3)), "must be symmetric"),
        (lambda: Body.box((0.2, 0.3, 0.4), 1.0, com=(1, 0, 0)), "com must lie inside the body"),
        (lambda: Body.prism(2, 0.2, 0.2, 1.0), "prism sides must be a whole number from 3 to 2048, got 2"),
        (lambda: Body.prism(5, -0.2, 0.2, 1.0), "prism radius .m. must be positive, got -0.2"),
        (lambda: Body.rectangle((0.2, 0.4), 1.0, com=(0, 0.1, 0)), "must lie in its plane y = 0, got y = 0.1"),
        (lambda: Body.hull_of(np.eye(3), 1.0, com=(0, 0, 0), inertia=np.eye(3)), "do not lie in one plane"),
        (lambda: Body.hull_of(CLOUD[np.newaxis], 1.0), r"points must have shape \(n, 3\), got shape \(1, 20, 3\)"),
        (lambda: Body.hull_of(CLOUD, 1.0, com=[[0, 0, 0]]), r"com .centre of mass. must have shape \(3,\)"),
        (
            lambda: Body.prism(1_000_000, 0.2, 0.2, 1.0),
            "prism sides must be a whole number from 3 to 2048, got 1000000",
        ),
        (lambda: Body.prism(5, 1e200, 0.2, 1.0), "prism radius .m. must be 0 to 1e"),
        (lambda: Body.box((1e7, 0.1, 0.1), 1.0), r"3 lengths above 0 and at most 1e\+06 m"),
        (lambda: Body.box((0.1, 0.1, 0.1), 1e300), r"mass .kg. must be 1e-15 to 1e\+15, got 1e\+300"),
    ],
)
def test_impossible_bodies_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Body.box((0.2, 0.3, 1e-300), 1.0),
        lambda: Body.prism(5, 0.2, 1e-30, 1.0),
        lambda: Body.hull_of(CLOUD * [1, 1, 1e-12], 1.0, com=(0, 0, 0), inertia=np.eye(3)),
        lambda: Body("hull", (), CLOUD * [1, 1, 0], 1.0, np.zeros(3), np.eye(3)),
        lambda: Body("hull", (), np.zeros((8, 3)), 1.0, np.zeros(3), np.eye(3)),
        lambda: Body.rectangle((0.2, 1e-50), 1.0),
    ],
)
def test_a_body_without_volume_is_refused_when_it_is_made(make):
    with pytest.raises(InputError, match=r"must have (a volume|an area)|do not lie in one plane"):
        make()


def test_hull_of_is_uniform_by_default():
    box = Body.box((0.2, 0.3, 0.4), 2.0)
    again = Body.hull_of(box.vertices + 0.05, 2.0)
    assert again.com == pytest.approx([0.05, 0.05, 0.05], abs=1e-7)
    assert again.inertia == pytest.approx(box.inertia, rel=1e-5, abs=1e-9)


def test_what_is_too_slender_to_be_computed_with_is_refused():
    assert Body.box((0.44, 0.001, 0.001), 1.0).mass == 1.0
    with pytest.raises(InputError, match=r"not be more slender than a rod that is 447 times .*got 8e-06"):
        Body.box((0.5, 0.001, 0.001), 1.0)
    with pytest.raises(InputError, match="must have a volume"):
        Body.box((1.0, 1.0, 4e-6), 1.0)
    Body.rectangle((1.0, 1e-4), 1.0)  # a planar body does not turn about its length
