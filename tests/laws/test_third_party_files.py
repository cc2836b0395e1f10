"""Third-party model files: invalid ones are refused before anything runs, even with a valid digest."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from core_bits import learned_with, random_machine, random_trees
from stiction import InputError, Material, State, _core, load, rollout
from stiction.laws import modelfile
from stiction.laws.approximators import LEAF, KernelMachine, Network, Trees


@pytest.fixture
def parts(box, tmp_path):
    """parts(name): description and tensors of a whole file."""
    made = {
        "machines": lambda: learned_with(random_machine, box),
        "trees": lambda: learned_with(random_trees, box),
        "material": lambda: Material.stribeck(0.6, 0.3),
    }

    def read(name):
        path = tmp_path / "whole.safetensors"
        modelfile.save(made[name]() if name in made else load(name), path)
        with safe_open(path, framework="numpy") as file:
            return json.loads(file.metadata()["law"]), {key: file.get_tensor(key) for key in file.keys()}

    return read


@pytest.fixture
def refuses(tmp_path):
    """refuses(match, text, tensors): whether such a file is refused with this sentence."""

    def check(match, text, tensors):
        path = tmp_path / "third_party.safetensors"
        path.write_bytes(modelfile.to_file(text if isinstance(text, str) else json.dumps(text), tensors))
        with pytest.raises(InputError, match=match) as refusal:
            load(path)
        assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 500

    return check


CHANGES = {
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.concatenate([a, a]),
    "with one more axis": lambda a: a[np.newaxis],
    "empty": lambda a: a[:0],
    "of another type": lambda a: a.astype(np.float64 if a.dtype == np.float32 else np.int64),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("box", ["mean", "scale", "bias0", "bias2", "weight0", "weight2"]),
        ("machines", ["mean", "scale", "centres", "weights", "gamma", "bias"]),
        ("trees", ["mean", "scale", "bias", "roots", "output", "feature", "threshold", "left"]),
    ],
)
def test_every_array_is_checked_against_every_other(parts, refuses, name, arrays, change):
    description, tensors = parts(name)
    for array in arrays:
        for role in ("point.classifier", "surface.regressor"):
            key = f"{role}.{array}"
            changed = np.ascontiguousarray(CHANGES[change](tensors[key]))
            refuses("does not describe a whole law", description, {**tensors, key: changed})


@pytest.mark.parametrize(
    ("array", "value"),
    [("left", 2**31 - 1), ("left", -1), ("left", 0), ("feature", 10_000), ("roots", -1), ("output", 3), ("left", 4)],
)
def test_trees_whose_paths_leave_them_are_refused(parts, refuses, array, value):
    description, tensors = parts("trees")
    changed = tensors[f"line.regressor.{array}"].copy()
    changed[0] = value  # the first node asks about an input; 4 lies in the next tree
    refuses("The trees are damaged", description, {**tensors, f"line.regressor.{array}": changed})


def test_looking_up_a_leaf_is_bounded_by_the_number_of_nodes():
    """All trees of a file that start at its first node would each go through all of its nodes."""
    nodes, one = 1001, np.ones(1, np.float32)
    feature, left = np.zeros(nodes, np.int32), np.arange(1, nodes + 1, dtype=np.int32)
    feature[-2:] = LEAF
    roots = np.zeros(nodes, np.int32)
    with pytest.raises(InputError, match="The trees are damaged"):
        Trees(one, one, one, roots, roots, feature, np.zeros(nodes, np.float32), left)


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("substeps",), 10**9, "substeps must be a whole number from 0 to 1000"),
        (("material", "memory"), 10**9, "memory must be a whole number from 1 to 1000"),
        (("material", "friction"), 1e300, "friction must be -1e"),
        (("material", "restitution_fall"), -1e300, "restitution_fall must be"),
        (("timestep",), 10**400, "does not describe a whole law"),
        (("timestep",), 1e300, "timestep .s. must be 1e-09 to 1"),
        (("gravity",), [[0, 0, -9.81]] * 2, "gravity must have shape"),
        (("info",), [1, 2], "info of a law must be a dict"),
        (("body",), None, "description must be a dict"),
        (("body", "planar"), "x", "planar must be true or false"),
        (("body", "vertices"), [[0.0, 0.0, 0.0]] * 8, "must have a volume"),
        (("body", "vertices"), [[0.0, 0.0, 0.0]] * 5000, "A body has 3 to 4096 vertices"),
        (("body", "size"), [9.0, 9.0, 9.0], "has corners that extend over"),
        (("body", "mass"), 1e300, "mass .kg. must be 1e-15 to"),
    ],
)
def test_every_number_has_its_limits(parts, refuses, path, value, match):
    description, tensors = parts("cube")
    holder = description
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    refuses(match, description, tensors)


def test_a_whole_number_of_seconds_is_a_time_step(parts, tmp_path):
    description, tensors = parts("cube")
    path = tmp_path / "slow.safetensors"
    path.write_bytes(modelfile.to_file(json.dumps({**description, "timestep": 1}), tensors))
    assert load(path).timestep == 1.0


def test_nesting_has_an_end(parts, refuses, tmp_path):
    description, tensors = parts("box")
    refuses("does not describe a whole law", "[" * 1000 + "]" * 1000, tensors)
    refuses("does not describe a whole law", "[" * 100_000 + "]" * 100_000, tensors)
    deep: dict = {}
    for _ in range(100):
        deep = {"deeper": deep}
    refuses("nested more than 32 deep", {**description, "info": deep}, tensors)
    law = load("box")
    law.info["deep"] = deep
    with pytest.raises(InputError, match="nested more than 32 deep"):
        law.save(tmp_path / "deep.safetensors")  # what could not be read again is not written
    assert not (tmp_path / "deep.safetensors").exists()


def test_types_that_numpy_has_not_are_refused(parts, tmp_path):
    description, tensors = parts("box")
    halves = {key: value.astype(np.float16) for key, value in tensors.items()}
    data, path = modelfile.to_file(json.dumps(description), halves), tmp_path / "bf16.safetensors"
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].replace(b'"F16"', b'"BF16"')
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
    with pytest.raises(InputError, match="is not a whole safetensors file"):
        load(path)


def test_a_file_of_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "large.safetensors"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)  # takes no room on the disk
    with pytest.raises(InputError, match="larger than 256 MB"):
        load(path)


def test_what_a_file_does_not_need_is_refused(parts, refuses):
    description, tensors = parts("box")
    refuses("an unknown array 'more'", description, {**tensors, "more": np.zeros(3, np.float32)})
    more = {**tensors, "point.classifier.weight3": np.zeros((3, 3), np.float32)}
    refuses("has no array 'bias3'", description, more)
    description, tensors = parts("cube")
    refuses("an unknown array 'more'", description, {**tensors, "more": np.zeros(3)})


def test_the_native_core_refuses_arrays_that_do_not_fit_as_well():
    """What Python has checked is checked again where it is used."""
    trees = random_trees(5, 3, np.random.default_rng(0)).arrays()
    for name, value in (("left", 2**31 - 1), ("feature", 7), ("roots", -1), ("output", 3)):
        changed = trees[name].copy()
        changed[0] = value
        with pytest.raises(ValueError):
            _core.trees(**{**trees, name: changed})
    with pytest.raises(ValueError, match="81 inputs"):
        _core.kernel_machine(**random_machine(200, 3, np.random.default_rng(0)).arrays())
    machine: KernelMachine = random_machine(5, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="too few outputs"):
        _core.StatisticalLaw(load("box").recipe, [machine.native] * 3)


def test_weights_cannot_be_changed_unseen(box):
    """Before its first use a law follows them; afterwards the core has copies, so that a change is refused."""
    law = learned_with(lambda n, k, rng: Network.random([n, 8, k], rng), box)
    network = next(iter(law.parts.values()))[0]
    assert isinstance(network, Network)
    network.weights[0][:] = 0.0
    rollout(law, State([0, 0, 0.5]), 5)
    with pytest.raises(ValueError, match="read-only"):
        network.weights[0][:] = 1.0
    with pytest.raises(InputError, match="is in use: its parts cannot be changed"):
        law.parts = {}
    law.info = {"noted": "later"}
