"""Model files: safetensors with everything in the metadata. Loading one never runs code from it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from stiction.basics import checks
from stiction.basics.files import write_whole
from stiction.bodies.body import Body
from stiction.laws import material_file
from stiction.laws.approximators import Approximator, from_arrays
from stiction.laws.augmented import AugmentedLaw
from stiction.laws.impact import ImpactLaw
from stiction.laws.inputs import Inputs
from stiction.laws.learned import KINDS, LearnedLaw
from stiction.laws.material import Material
from stiction.laws.statistical import StatisticalLaw

FORMAT, VERSION = "stiction-law", 1
_OF_MATERIAL = "material."  # how the tensors of a law's material are named
_SHIPPED = Path(__file__).parents[1] / "models"
_LAWS: dict[str, type[AugmentedLaw] | type[StatisticalLaw]] = {"augmented": AugmentedLaw, "statistical": StatisticalLaw}


def save(law: LearnedLaw | ImpactLaw | Material, path: str | Path) -> None:
    """Write the law or material to `path`, whole or not at all."""
    if isinstance(law, Material):
        description, tensors = material_file.to_parts(law)
    else:
        description, tensors = law.to_parts() if isinstance(law, ImpactLaw) else _parts(law)
    text = json.dumps(description, sort_keys=True)
    metadata = {"format": FORMAT, "version": str(VERSION), "law": text, "digest": _digest(text, tensors)}
    write_whole(Path(path), _sorted_header(to_bytes(tensors, metadata)))


def _parts(law: LearnedLaw) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Description and tensors of a learned law."""
    tensors = {
        f"{kind.name.lower()}.{role}.{name}": np.ascontiguousarray(array)
        for kind in KINDS
        for role, part in zip(law.ROLES, law.parts[kind], strict=True)
        for name, array in part.arrays().items()
    }
    description: dict[str, Any] = {
        "kind": next(name for name, kind in _LAWS.items() if isinstance(law, kind)),
        "body": law.body.to_dict(),
        "timestep": law.timestep,
        "inputs": law.inputs.to_dict(),
        "info": law.info,
    }
    if isinstance(law, AugmentedLaw) and law.dropped:
        description["dropped"] = list(law.dropped)
    if isinstance(law, AugmentedLaw) and law.material is not None:
        description["material"], own = material_file.to_parts(law.material)
        tensors |= {_OF_MATERIAL + name: array for name, array in own.items()}
    return description, tensors


def load(name: str | Path) -> Any:
    """The law or material in a model file, or a shipped one by its name, such as "box"."""
    if not isinstance(name, str | Path):
        raise checks.InputError(f"A law is loaded by its name or path, got {name!r:.80}.")
    path = Path(name)
    if not path.suffix and not path.exists():
        path = _shipped(str(name))
    if not path.is_file():
        raise checks.InputError(f"There is no model file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise checks.InputError(f"{path} is a safetensors file, but not a stiction law.")
            if metadata.get("version") != str(VERSION):
                raise checks.InputError(
                    f"{path} has format version {metadata.get('version')!r:.20}; this stiction reads version {VERSION}."
                )
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        if isinstance(error, checks.InputError):
            raise
        raise checks.InputError(f"{path} is not a whole safetensors file: {error!s:.150}.") from error
    text = metadata.get("law", "")
    if metadata.get("digest") != _digest(text, tensors):
        raise checks.InputError(f"{path} was altered after it was written: its digest does not match its contents.")
    return _build(path, text, tensors)


def load_law(name: str | Path) -> Any:
    """As `load`; a material is put on the body that it was learned from."""
    found = load(name)
    if not isinstance(found, Material):
        return found
    if "plan" not in found.info:
        raise checks.InputError(f"{name} is a material of no single body: put it on one with material.on(body).")
    try:
        plan = found.info["plan"]
        return found.on(Body.from_dict(plan["body"]), timestep=plan["timestep"])
    except (KeyError, TypeError, AttributeError) as error:
        raise checks.InputError(
            f"{name} does not say rightly which body it was learned from: {error!s:.80}."
        ) from error


def _build(path: Path, text: str, tensors: dict[str, NDArray[Any]]) -> Any:
    for key, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise checks.InputError(f"{path} holds numbers that are not finite, in {key}.")
    try:
        description = json.loads(text)
        kind = description.pop("kind")
        if kind == material_file.KIND:
            return material_file.from_parts(description, tensors)
        if kind == ImpactLaw.KIND:
            return ImpactLaw.from_parts(description, tensors)
        law = _LAWS[kind]
        parts = {kind: tuple(_part(tensors, f"{kind.name.lower()}.{role}.") for role in law.ROLES) for kind in KINDS}
        inputs = Inputs.from_dict(description.pop("inputs"))
        if "material" in description:
            of_material = {key: value for key, value in tensors.items() if key.startswith(_OF_MATERIAL)}
            own = {key.removeprefix(_OF_MATERIAL): value for key, value in of_material.items()}
            description["material"].pop("kind")
            description["material"] = material_file.from_parts(description["material"], own)
        return law(Body.from_dict(description.pop("body")), parts, inputs, **description)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise checks.InputError(f"{path} does not describe a whole law: {error!s:.150}.") from error


def _part(tensors: dict[str, NDArray[Any]], prefix: str) -> Approximator:
    return from_arrays({key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)})


def _sorted_header(data: bytes) -> bytes:
    """The same file with its header's keys in order: the library writes metadata in random order."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def _digest(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        digest.update(f"{key}:{tensors[key].dtype}:{tensors[key].shape}".encode())
        digest.update(tensors[key].tobytes())
    return digest.hexdigest()


def shipped_laws() -> list[str]:
    """Names of the laws that ship."""
    return sorted(path.stem for path in _SHIPPED.glob("*.safetensors"))


def _shipped(name: str) -> Path:
    if name not in shipped_laws():
        raise checks.InputError(f"There is no law {name!r}; shipped are {', '.join(shipped_laws()) or 'none'}.")
    return _SHIPPED / f"{name}.safetensors"
