"""The decorators `frozen` and `define` of attrs, for modules that every process imports.

attrs writes the text of a class's methods and compiles it, about half a millisecond a class. Here
only `__init__` is compiled; classes share comparison, hash and `repr`, which give what those of
attrs give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

__all__ = ["as_tuple", "define", "frozen"]

if TYPE_CHECKING:  # the plugin of mypy knows them by these names
    from attrs import define, frozen
else:

    def frozen(cls: type | None = None, **options: Any) -> Any:
        """Make a class as `attrs.frozen` does, with shared methods.

        >>> @frozen
        ... class Pair:
        ...     first: int
        ...     second: int = 2
        >>> Pair(1)
        Pair(first=1, second=2)
        >>> Pair(1) == Pair(1, 2), len({Pair(1), Pair(1)})
        (True, 1)
        """
        return _decorated(cls, attrs.frozen, options)

    def define(cls: type | None = None, **options: Any) -> Any:
        """Make a class as `attrs.define` does, with shared methods; one that compares has no hash.

        >>> @define
        ... class Count:
        ...     value: int = 0
        >>> Count() == Count(0), Count.__hash__
        (True, None)
        """
        return _decorated(cls, attrs.define, options)


Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")
# With other options, attrs makes all methods.
SHARED: Final = frozenset({"eq", "init", "kw_only", "repr", "slots"})


def as_tuple(values: Iterable[Value]) -> tuple[Value, ...]:
    """Convert to a tuple; for `tuple` itself, attrs would tokenize the text of its signature.

    >>> as_tuple("ab")
    ('a', 'b')
    """
    return tuple(values)


def _decorated(
    cls: Class | None, decorator: Callable[..., Any], options: dict[str, Any]
) -> Class | Callable[[Class], Class]:
    if cls is None:
        return lambda found: _decorated(found, decorator, options)  # type: ignore[return-value]
    if not options.keys() <= SHARED:
        return decorator(**options)(cls)  # type: ignore[no-any-return]
    own = cls.__dict__
    compares = options.get("eq", True) and "__eq__" not in own and "__ne__" not in own
    hashes = "__hash__" not in own
    shows = options.get("repr", True) and "__repr__" not in own
    made: Any = decorator(**{**options, "eq": False, "repr": False})(cls)
    if any(field.eq_key for field in made.__attrs_attrs__):
        raise TypeError(f"A field of '{cls.__name__}' compares by a key: decorate it by attrs.")
    if shows:
        made.__repr__ = _shown
    if compares:
        _compare(made, hashes, decorator is attrs.frozen)
    return made  # type: ignore[no-any-return]


def _compare(cls: Any, hashes: bool, frozen: bool) -> None:
    """Give a class equality by its fields, and with it a hash, which a class that changes lacks."""
    name = cls.__qualname__
    names = [field.name for field in cls.__attrs_attrs__ if field.eq]
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def key(self: Any) -> int:
        return hash((name, values(self)))

    cls.__eq__ = equal
    if hashes:
        cls.__hash__ = key if frozen else None


@recursive_repr("...")
def _shown(self: Any) -> str:
    fields = (field for field in self.__attrs_attrs__ if field.repr is not False)
    name = self.__class__.__qualname__.rpartition(">.")[2]
    return f"{name}({', '.join(f'{field.name}={_text(self, field)}' for field in fields)})"


def _text(value: Any, field: Any) -> str:
    found = getattr(value, field.name)
    return repr(found) if field.repr is True else field.repr(found)
