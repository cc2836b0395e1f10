"""MuJoCo for the native core: where its functions are, and where the fields of its structs.

MuJoCo's C interface is public, and its module `introspect` tells the fields of its structs. The addresses of a model
and of its data follow from arrays that lie within these structs, which Python sees as NumPy arrays.
"""

import ctypes
import functools
import sys
from pathlib import Path
from typing import Any

from mujoco.introspect import ast_nodes, structs

from stiction import _core
from stiction.basics import checks
from stiction.mujoco.mjcf import mujoco

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
    "mjtConstraintState": ("mjCNSTRSTATE_QUADRATIC",),
    "mjtState": ("mjSTATE_INTEGRATION",),
    "mjtWarning": (
        "mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC", "mjWARN_BADCTRL", "mjWARN_CONTACTFULL",
        "mjWARN_CNSTRFULL",
    ),
}  # fmt: skip
_CURVED_DAMPING = ("dof_dampingpoly", "actuator_damping", "actuator_dampingpoly")
_TYPES = {
    "mjtNum": ctypes.c_double, "double": ctypes.c_double, "float": ctypes.c_float, "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint, "mjtSize": ctypes.c_int64, "size_t": ctypes.c_size_t, "uintptr_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64, "mjtBool": ctypes.c_bool, "mjtByte": ctypes.c_ubyte, "char": ctypes.c_char,
}  # fmt: skip


def _type(kind: Any) -> Any:
    """A C type as ctypes has it."""
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
    return _fields(name, structs.STRUCTS[name].fields)


def _places(struct: type[ctypes.Structure]) -> dict[str, int]:
    """The place of each field [bytes]."""
    return {field[0]: getattr(struct, field[0]).offset for field in struct._fields_}


def _library() -> ctypes.CDLL:
    """MuJoCo's own library, which the package has loaded."""
    ending = {"win32": "mujoco.dll", "darwin": "libmujoco*.dylib"}.get(sys.platform, "libmujoco.so*")
    found = sorted(Path(mujoco.__file__).parent.glob(ending))
    if not found:
        raise checks.InputError(
            f"MuJoCo's library is not in its package: {Path(mujoco.__file__).parent} has no {ending}."
        )
    return ctypes.CDLL(str(found[0]))


@functools.cache
def description() -> _core.EngineDescription:
    """All that the core must know of this version of MuJoCo."""
    library = _library()
    functions = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _STAGES}
    functions["mjcb_control"] = ctypes.addressof(ctypes.c_void_p.in_dll(library, "mjcb_control"))
    constants = {
        name: int(getattr(getattr(mujoco, kind), name)) for kind, names in _CONSTANTS.items() for name in names
    }
    option = _places(_struct("mjOption"))
    model = _places(_struct("mjModel"))
    model |= {f"opt.{name}": model["opt"] + place for name, place in option.items()}
    contact = _places(_struct("mjContact")) | {"size": ctypes.sizeof(_struct("mjContact"))}
    return _core.EngineDescription(
        functions=functions, constants=constants, model=model, data=_places(_struct("mjData")), contact=contact
    )


def addresses(model: Any, data: Any) -> tuple[int, int]:
    """Of the structs of a model and its data. Raises if this MuJoCo's structs are not as it tells."""
    option, whole, state = _struct("mjOption"), _struct("mjModel"), _struct("mjData")
    at = model.opt.gravity.ctypes.data - whole.opt.offset - option.gravity.offset
    then = data.energy.ctypes.data - state.energy.offset
    native, own = whole.from_address(at), state.from_address(then)
    as_told = (
        (native.nv, native.nq, native.nbody) == (model.nv, model.nq, model.nbody)
        and native.opt.timestep == model.opt.timestep
        and (own.qpos or 0) == data.qpos.ctypes.data
        and own.ncon == data.ncon
    )
    if not as_told:
        raise checks.InputError(
            f"MuJoCo {mujoco.__version__} keeps its data in another way than it tells; stiction knows 4.0.1."
        )
    return at, then


def point_step(model: Any, data: Any, **laws: Any) -> _core.PointStep:
    """The core's steps on a model and its data, which must outlive it."""
    at, then = addresses(model, data)
    return _core.PointStep(
        model=at,
        data=then,
        description=description(),
        damping={name: int(getattr(model, name).size) for name in _CURVED_DAMPING},
        state_size=int(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)),
        **laws,
    )
