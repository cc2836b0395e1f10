"""Access of the native core to MuJoCo: addresses of its functions, and offsets of the fields of its structs.

MuJoCo's C interface is public, and its module `introspect` lists the fields of its structs. The address of a model or
of its data follows from an array within the struct, which Python sees as a NumPy array. Both are checked: the
version at import, and the layout against what Python reads, for each model.
"""

import ctypes
import functools
import sys
import warnings
from pathlib import Path
from typing import Any

from mujoco.introspect import ast_nodes, structs

from stiction import _core
from stiction.basics import checks
from stiction.mujoco.mjcf import mujoco

TESTED = ("4.0.1",)  # versions of MuJoCo with which all tests were run
_STAGES = (
    "mj_fwdKinematics", "mj_makeM", "mj_factorM", "mj_collision", "mj_makeConstraint", "mj_island",
    "mj_projectConstraint", "mj_transmission", "mj_sensorPos", "mj_energyPos", "mj_fwdVelocity", "mj_sensorVel",
    "mj_energyVel", "mj_fwdActuation", "mj_fwdAcceleration", "mj_Euler", "mj_implicit", "mj_step2",
    "mj_rnePostConstraint", "mj_getState", "mj_setState", "mj_integratePos", "mju_setLogHandler", "mj_resetData",
    "mj_isSparse", "mju_rayGeom", "mj_mulM",
)  # fmt: skip
_CONSTANTS = {
    "mjtIntegrator": ("mjINT_EULER", "mjINT_IMPLICIT", "mjINT_IMPLICITFAST"),
    "mjtDisableBit": (
        "mjDSBL_ACTUATION", "mjDSBL_EULERDAMP", "mjDSBL_DAMPER", "mjDSBL_SENSOR", "mjDSBL_AUTORESET",
    ),
    "mjtEnableBit": ("mjENBL_ENERGY", "mjENBL_SLEEP"),
    "mjtConstraint": (
        "mjCNSTR_EQUALITY", "mjCNSTR_FRICTION_DOF", "mjCNSTR_FRICTION_TENDON", "mjCNSTR_CONTACT_ELLIPTIC",
    ),
    "mjtConstraintState": ("mjCNSTRSTATE_QUADRATIC", "mjCNSTRSTATE_CONE"),
    "mjtState": ("mjSTATE_INTEGRATION",),
    "mjtWarning": (
        "mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC", "mjWARN_BADCTRL", "mjWARN_CONTACTFULL",
        "mjWARN_CNSTRFULL",
    ),
}  # fmt: skip
_NONLINEAR_DAMPING = ("dof_dampingpoly", "actuator_damping", "actuator_dampingpoly")
_TYPES = {
    "mjtNum": ctypes.c_double, "double": ctypes.c_double, "float": ctypes.c_float, "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint, "mjtSize": ctypes.c_int64, "size_t": ctypes.c_size_t, "uintptr_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64, "mjtBool": ctypes.c_bool, "mjtByte": ctypes.c_ubyte, "char": ctypes.c_char,
}  # fmt: skip


def check_version(version: str) -> None:
    """Refuse a MuJoCo with another layout of its interface, and warn of one with which stiction was not tested."""
    known = ", ".join(TESTED)
    if version.split(".")[0] != TESTED[0].split(".")[0] or version == "4.0.0":
        raise checks.InputError(f"stiction.mujoco needs MuJoCo {known} or a newer 4.x, this is MuJoCo {version}.")
    if version not in TESTED:
        warnings.warn(
            f"stiction.mujoco was tested with MuJoCo {known}, this is MuJoCo {version}: the layout of its structs is "
            "checked for each model, its results are not.",
            stacklevel=4,
        )


check_version(mujoco.__version__)


def _type(kind: Any) -> Any:
    """A C type in ctypes."""
    if isinstance(kind, ast_nodes.PointerType):
        return ctypes.c_void_p
    if isinstance(kind, ast_nodes.ArrayType):
        return functools.reduce(lambda inner, size: inner * size, reversed(kind.extents), _type(kind.inner_type))
    if isinstance(kind, ast_nodes.ValueType):
        return _TYPES.get(kind.name) or _struct(kind.name)
    return _fields("anonymous", kind.fields)


def _fields(name: str, fields: Any) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": [(field.name, _type(field.type)) for field in fields]})


@functools.cache
def _struct(name: str) -> type[ctypes.Structure]:
    try:
        return _fields(name, structs.STRUCTS[name].fields)
    except (KeyError, AttributeError, TypeError) as error:
        raise _unknown_layout(f"its struct {name} cannot be read") from error


def _unknown_layout(what: str) -> checks.InputError:
    return checks.InputError(
        f"MuJoCo {mujoco.__version__} keeps its data in a way that stiction does not know ({what}): use MuJoCo "
        f"{', '.join(TESTED)}."
    )


def _offsets(struct: type[ctypes.Structure]) -> dict[str, int]:
    """The offset of each field [bytes]."""
    return {field[0]: getattr(struct, field[0]).offset for field in struct._fields_}


def _library() -> ctypes.CDLL:
    """MuJoCo's own library, which the package has loaded."""
    pattern = {"win32": "mujoco.dll", "darwin": "libmujoco*.dylib"}.get(sys.platform, "libmujoco.so*")
    found = sorted(Path(mujoco.__file__).parent.glob(pattern))
    if not found:
        raise checks.InputError(f"MuJoCo's package {Path(mujoco.__file__).parent} has no library {pattern}.")
    return ctypes.CDLL(str(found[0]))


@functools.cache
def _layout() -> _core.EngineLayout:
    """Everything that the core must know of this version of MuJoCo."""
    library = _library()
    try:
        functions = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _STAGES}
        functions["mjcb_control"] = ctypes.addressof(ctypes.c_void_p.in_dll(library, "mjcb_control"))
        constants = {
            name: int(getattr(getattr(mujoco, kind), name)) for kind, names in _CONSTANTS.items() for name in names
        }
    except (AttributeError, ValueError) as error:
        raise _unknown_layout(str(error)) from error
    option = _offsets(_struct("mjOption"))
    model = _offsets(_struct("mjModel"))
    model |= {f"opt.{name}": model["opt"] + offset for name, offset in option.items()}
    contact = _offsets(_struct("mjContact")) | {"size": ctypes.sizeof(_struct("mjContact"))}
    return _core.EngineLayout(
        functions=functions, constants=constants, model=model, data=_offsets(_struct("mjData")), contact=contact
    )


def _addresses(model: Any, data: Any) -> tuple[int, int]:
    """Addresses of the structs of a model and its data. Raises if their fields are not where they should be."""
    option, whole, state = _struct("mjOption"), _struct("mjModel"), _struct("mjData")
    model_address = model.opt.gravity.ctypes.data - whole.opt.offset - option.gravity.offset
    data_address = data.energy.ctypes.data - state.energy.offset
    native, own = whole.from_address(model_address), state.from_address(data_address)
    fits = (
        (native.nv, native.nq, native.nbody, native.ngeom) == (model.nv, model.nq, model.nbody, model.ngeom)
        and native.opt.timestep == model.opt.timestep
        and native.opt.integrator == model.opt.integrator
        and (own.ncon, own.nefc, own.time) == (data.ncon, data.nefc, data.time)
    )
    arrays = ((native, model, ("geom_bodyid", "dof_damping", "M_colind", "body_rootid")),)
    arrays += ((own, data, ("qpos", "qvel", "qacc", "xfrc_applied", "xipos", "cdof", "qLD", "M")),)
    for struct, view, names in arrays:
        for name in names:
            array = getattr(view, name)
            fits = fits and (not array.size or (getattr(struct, name) or 0) == array.ctypes.data)
    if not fits:
        raise _unknown_layout("fields are not where its module introspect lists them")
    return model_address, data_address


def engine_of(model: Any, data: Any) -> _core.Engine:
    """A model and its data for the core, which must not outlive them."""
    model_address, data_address = _addresses(model, data)
    try:
        return _layout().engine(
            model=model_address,
            data=data_address,
            damping={name: int(getattr(model, name).size) for name in _NONLINEAR_DAMPING},
            state_size=int(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)),
        )
    except (ValueError, AttributeError) as error:
        raise _unknown_layout(str(error)) from error
