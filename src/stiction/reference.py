"""NamedTuples of arrays by reference, for compiled code.

numba hands a NamedTuple over field by field, and an array in seven to nine numbers: for a law, its contacts and what a
search works with these are hundreds, copied at every call. A reference is one address, whose fields are looked up
where they are used. Code that reads fields by name takes either.
"""

from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing import templates
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, signature
from numba.extending import lower_builtin, lower_getattr_generic

infer_getattr = cast(Any, templates).infer_getattr
infer_global = cast(Any, templates).infer_global
_ADDRESS = ir.IntType(8).as_pointer()


class Reference(types.Type):
    """The numba type of a NamedTuple of type `kind` in memory."""

    def __init__(self, kind: types.BaseNamedTuple) -> None:
        self.kind, self.instance_class = kind, cast(Any, kind).instance_class
        super().__init__(name=f"Reference({kind})")


@register_default(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, _ADDRESS)


def is_of(kind: Any, family: type) -> bool:
    """Whether a numba type is that of a NamedTuple of this class, or of a reference to one."""
    return isinstance(kind, (types.BaseNamedTuple, Reference)) and cast(Any, kind).instance_class is family


def fields_of(kind: Any) -> tuple[str, ...]:
    """The fields of such a type; none of any other."""
    return cast(Any, kind).instance_class._fields if isinstance(kind, (types.BaseNamedTuple, Reference)) else ()


def referred(kind: Any) -> Any:
    """The type of what is looked up in memory, where `kind` is kept: NamedTuples, in a tuple too, by reference."""
    if isinstance(kind, types.BaseNamedTuple):
        return Reference(kind)
    return types.Tuple([referred(part) for part in cast(Any, kind)]) if isinstance(kind, types.BaseTuple) else kind


def look_up(context, builder, kind, pointer) -> Any:
    """Code that looks up what is kept at a pointer, of that type: what `referred` says."""
    if isinstance(kind, types.BaseNamedTuple):
        return builder.bitcast(pointer, _ADDRESS)
    if isinstance(kind, types.BaseTuple):
        parts = [
            look_up(context, builder, part, cgutils.gep_inbounds(builder, pointer, 0, k))
            for k, part in enumerate(cast(Any, kind))
        ]
        return context.make_tuple(builder, referred(kind), parts)
    return _loaded(builder, pointer, pointer.type.pointee)


def _loaded(builder, pointer, kind):
    """What is kept there, number by number: of those that are not used, none is looked up."""
    if not isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        return builder.load(pointer)
    value = ir.Constant(kind, ir.Undefined)
    parts = kind.elements if isinstance(kind, ir.LiteralStructType) else [kind.element] * kind.count
    for k, part in enumerate(parts):
        value = builder.insert_value(value, _loaded(builder, cgutils.gep_inbounds(builder, pointer, 0, k), part), k)
    return value


def uncounted(context, builder, kind, value) -> Any:
    """The same value, with arrays that do not count who uses them: somebody else keeps them."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(cast(Any, kind)):
            new = uncounted(context, builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, new, k)
    return value


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference, name):
        fields = fields_of(reference)
        return referred(reference.kind[fields.index(name)]) if name in fields else None


@lower_getattr_generic(Reference)
def _field(context, builder, reference, value, name):
    k = fields_of(reference).index(name)
    whole = builder.bitcast(value, context.get_value_type(reference.kind).as_pointer())
    return look_up(context, builder, reference.kind[k], cgutils.gep_inbounds(builder, whole, 0, k))


def by_reference(value):
    """In compiled code: a reference to the NamedTuple, for as long as the function that calls this runs."""
    return value


@infer_global(by_reference)
class _ByReference(AbstractTemplate):
    def generic(self, args, kws):
        (kind,) = args
        return signature(referred(kind) if isinstance(kind, types.BaseNamedTuple) else kind, kind)


# Not an overload, which would be a function of its own: the memory belongs to the one that calls.
@lower_builtin(by_reference, types.BaseNamedTuple)
def _refer(context, builder, signature, args):
    value = uncounted(context, builder, signature.args[0], args[0])
    place = cgutils.alloca_once(builder, value.type)
    builder.store(value, place)
    return builder.bitcast(place, _ADDRESS)


@lower_builtin(by_reference, types.Any)
def _leave(context, builder, signature, args):
    return args[0]
