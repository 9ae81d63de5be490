"""Named collections: classes whose instances are tuples with names for the elements."""

from __future__ import annotations

from typing import Any


def is_collection(kind: object) -> bool:
    """Say whether `kind` is a NamedTuple class or a dataclass."""
    return isinstance(kind, type) and (
        is_named_tuple(kind) or hasattr(kind, "__dataclass_fields__")
    )


def is_named_tuple(kind: type) -> bool:
    """Say whether `kind` is a class made by `typing.NamedTuple` or `collections.namedtuple`."""
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def keys_of(kind: type) -> tuple[str, ...]:
    """Return the names of the elements in order.

    >>> from typing import NamedTuple
    >>> Wind = NamedTuple("Wind", [("u", float), ("v", float)])
    >>> keys_of(Wind)
    ('u', 'v')
    """
    if is_named_tuple(kind):
        return tuple(kind._fields)  # type: ignore[attr-defined]  # a NamedTuple has them
    import dataclasses

    return tuple(field.name for field in dataclasses.fields(kind))


def annotations_of(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the elements as (name, annotation); `ValueError` for what cannot hold fields."""
    if is_named_tuple(kind):
        written = getattr(kind, "__annotations__", {})
        pairs = tuple((key, written[key]) for key in keys_of(kind) if key in written)
        reason = "" if len(pairs) == len(keys_of(kind)) else "its elements have no annotations"
    else:
        import dataclasses

        pairs = tuple((field.name, field.type) for field in dataclasses.fields(kind))
        reason = _refused(kind)
    reason = reason or ("" if pairs else "it has no elements")
    if reason:
        raise ValueError(f"'{kind.__qualname__}' is not a valid field container: {reason}.")
    return pairs


def _refused(kind: type) -> str:
    """Return why a dataclass cannot be rebuilt from its fields by position."""
    import dataclasses

    missing = dataclasses.MISSING
    for field in kind.__dataclass_fields__.values():  # type: ignore[attr-defined]  # a dataclass has them
        if field._field_type is dataclasses._FIELD_INITVAR:  # type: ignore[attr-defined]  # no public way
            return f"'{field.name}' is an InitVar"
        if field._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]  # no public way
            continue
        if field.default is not missing or field.default_factory is not missing:
            return f"'{field.name}' has a default"
        if not field.init:
            return f"'{field.name}' is not an argument of its '__init__'"
        if field.kw_only:
            return f"'{field.name}' can only be given by keyword"
    params = kind.__dataclass_params__  # type: ignore[attr-defined]  # a dataclass has them
    written = getattr(vars(kind).get("__init__"), "__code__", None)
    generated = params.init and getattr(written, "co_filename", "") == "<string>"
    return "" if generated else "it has an '__init__' of its own"
