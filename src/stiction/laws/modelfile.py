"""Model files: safetensors with a description in the metadata. Loading one never runs code from it."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from stiction.basics import checks
from stiction.basics.files import path_of, sole_writer_of, write_whole
from stiction.bodies.body import Body
from stiction.laws.material import Material

if TYPE_CHECKING:
    from stiction.laws.impact import ImpactLaw
    from stiction.laws.learned import AugmentedLaw, StatisticalLaw

ShippedMaterial = Literal["dart", "elbow", "scales", "stribeck"]
ShippedTossLaw = Literal["cube", "square"]
ShippedLaw = Literal["box", "box-anisotropic", "box-nsgs", "foot", "link", "prism", "rectangle"]
ShippedBaseline = Literal["box-pdd", "box-anisotropic-pdd", "box-nsgs-pdd", "link-pdd", "prism-pdd", "rectangle-pdd"]
FORMAT, VERSION = "stiction-law", 1
MAX_BYTES = 256 * 2**20  # of a model file
_SHIPPED = Path(__file__).parents[1] / "models"


def save(law: Any, path: str | Path) -> None:
    """Write the law or material to `path` atomically."""
    description, tensors = law.to_parts()
    _check_depth(description)
    write_whole(path_of("A model file", path), to_file(json.dumps(description, sort_keys=True), tensors))


def to_file(text: str, tensors: dict[str, NDArray[Any]]) -> bytes:
    """The bytes of a model file with this description in JSON."""
    metadata = {"format": FORMAT, "version": str(VERSION), "law": text, "digest": _digest(text, tensors)}
    return _sorted_header(to_bytes(tensors, metadata))


@contextmanager
def to_be_written(out: str | Path) -> Iterator[Path]:
    """The path of a model file that the block will write, locked against other processes."""
    path = path_of("--out", out)
    if path.suffix != ".safetensors":
        raise checks.InputError(f"--out must name a .safetensors file, got {checks.shown(str(path))}.")
    with sole_writer_of(path):
        yield path


@overload
def load(name: ShippedMaterial) -> Material: ...
@overload
def load(name: ShippedTossLaw) -> "ImpactLaw": ...
@overload
def load(name: ShippedLaw) -> "AugmentedLaw": ...
@overload
def load(name: ShippedBaseline) -> "StatisticalLaw": ...
@overload
def load(name: str | Path) -> Any: ...
def load(name: str | Path) -> Any:
    """Load a shipped law or material by its name, such as "box", or one from a model file.

    name: of a shipped one, or the path of a .safetensors file

        law = load("box")
        law.body, law.timestep, law.info["data"]
        material = load("dart")
    """
    if not isinstance(name, str | Path):
        raise checks.InputError(f"A law is loaded by name or path, got {checks.shown(name)}.")
    path = path_of("A law or material", name)
    if not path.suffix and not path.exists():
        path = _shipped(str(name))
    if not path.is_file():
        raise checks.InputError(f"There is no model file {checks.shown(str(path))}.")
    metadata, tensors = _read(path)
    text = metadata.get("law", "")
    if metadata.get("digest") != _digest(text, tensors):
        raise checks.InputError(f"{path} was altered after it was written: its digest does not match its contents.")
    return _build(path, text, tensors)


def _read(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Metadata and tensors of a file of a known version and an acceptable size."""
    if path.stat().st_size > MAX_BYTES:
        raise checks.InputError(f"{path} is larger than {MAX_BYTES // 2**20} MB, the limit of a model file.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise checks.InputError(f"{path} is a safetensors file, but not a stiction law.")
            if metadata.get("version") != str(VERSION):
                raise checks.InputError(
                    f"{path} has format version {metadata.get('version')!r:.20}; this stiction reads version {VERSION}."
                )
            return metadata, {key: np.asarray(file.get_tensor(key)) for key in file.keys()}
    except checks.InputError:
        raise
    # The library raises various errors, such as an AttributeError for a type that NumPy does not have.
    except (SafetensorError, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise checks.InputError(f"{path} is not a whole safetensors file: {_line(error)}.") from error


def load_law(name: str | Path) -> Any:
    """Like `load`; a material is put on the body that it was learned from."""
    return on_own_body(load(name), str(name))


def on_own_body(found: Any, name: str) -> Any:
    """A law unchanged; a material on the body that it was learned from. name: for error messages."""
    if not isinstance(found, Material):
        return found
    if "plan" not in found.info:
        raise checks.InputError(f"{name} is a material without a body: put it on one with material.on(body).")
    try:
        plan = found.info["plan"]
        return found.on(Body.from_dict(plan["body"]), timestep=plan["timestep"])
    except (KeyError, TypeError, AttributeError) as error:
        raise checks.InputError(f"{name} has a damaged record of its body: {error!s:.80}.") from error


def _build(path: Path, text: str, tensors: dict[str, NDArray[Any]]) -> Any:
    for key, tensor in tensors.items():
        if tensor.dtype.kind not in "fi" or not np.isfinite(tensor).all():
            raise checks.InputError(f"{path} holds values that are not finite, in {key:.80}.")
    try:
        description = json.loads(text)
        _check_depth(description)
        return _from_parts(description, tensors)
    except KeyError as error:
        raise checks.InputError(f"{path} does not describe a whole law: it has no {_line(error)}.") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError, IndexError) as error:
        raise checks.InputError(f"{path} does not describe a whole law: {_line(error)}.") from error


def _from_parts(description: Any, tensors: dict[str, NDArray[Any]]) -> Any:
    """The law or material of this description; only the module of its type is imported."""
    match description.pop("kind"):
        case "material":
            return Material.from_parts(description, tensors)
        case "impact":
            from stiction.laws.impact import ImpactLaw as Law
        case "augmented":
            from stiction.laws.learned import AugmentedLaw as Law
        case "statistical":
            from stiction.laws.learned import StatisticalLaw as Law
        case other:
            raise KeyError(f"type of law {checks.shown(other)}")
    return Law.from_parts(description, tensors)


def _check_depth(description: Any) -> None:
    """Refuse a description that is nested so deeply that recursion might fail."""
    level = [description]
    for _ in range(32):
        inner = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [value for values in inner for value in values]
        if not level:
            return
    raise checks.InputError("It is nested more than 32 deep.")


def _line(error: Exception) -> str:
    """An error message on one line, without its full stop."""
    return " ".join(str(error).split())[:200].rstrip(". ")


def _sorted_header(data: bytes) -> bytes:
    """The same file with a sorted header, because the library writes metadata in random order."""
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
    """Names of the shipped laws and materials."""
    return sorted(path.stem for path in _SHIPPED.glob("*.safetensors"))


def laws_of_one_body() -> list[str]:
    """Names of the shipped laws and materials except those of parts with joints, which cannot be thrown."""
    return [name for name in shipped_laws() if not (_SHIPPED / f"{name}.xml").exists()]


def shipped_model(name: str) -> Path:
    """The MJCF file of a shipped part with joints, such as "elbow", which has a material of the same name.

    model = mujoco.MjModel.from_xml_path(str(stiction.mujoco.shipped_model("elbow")))
    sim = stiction.mujoco.Simulation(model, laws={"link1": "elbow", "link2": "elbow"})
    """
    names = sorted(path.stem for path in _SHIPPED.glob("*.xml"))
    if not isinstance(name, str) or name not in names:
        raise checks.InputError(f"There is no part {checks.shown(name)}; shipped are {', '.join(names) or 'none'}.")
    return _SHIPPED / f"{name}.xml"


def _shipped(name: str) -> Path:
    if name not in shipped_laws():
        there = ", ".join(shipped_laws()) or "none"
        raise checks.InputError(f"There is no law {checks.shown(name)}; shipped are {there}.")
    return _SHIPPED / f"{name}.safetensors"
