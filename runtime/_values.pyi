"""The `__init__` of classes of values, `evolve`, rows of values, SHA-256: `native/values/`."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

Value = TypeVar("Value")
# name, name in calls, what `otherwise` is, otherwise, converter, is given, is given by name only,
# is compared
Field: TypeAlias = tuple[str, str, int, Any, Callable[[Any], Any] | None, bool, bool, bool]

class Constructor:
    """The `__init__` of a class of values."""

def constructor(
    owner: str, fields: tuple[Field, ...], finish: Callable[[Any], object] | None, /
) -> Constructor:
    """Make the `__init__` of a class; `finish` is called with each new value."""

def attach(cls: type, constructor: Constructor, compares: bool, hashes: bool, /) -> None:
    """Tell a constructor where instances of its class keep their fields.

    The core then makes, compares and hashes them without a call of Python.
    """

def evolve(value: Value, /, **changes: Any) -> Value:
    """Make a value of the same class with other fields."""

def rows(
    value: object,
    shape: Callable[[type], tuple[str, tuple[str, ...] | None] | None],
    atom: Callable[[Any], tuple[Any, ...]],
    /,
) -> list[tuple[Any, ...]]:
    """Return a row for each different part of a value, parts before what holds them.

    `shape` gives the tag of a class and the names of its fields, which are None for `tuple`, or
    None for an atom, whose row `atom` gives. The row of any other part is its tag and the numbers
    of the rows of its parts.
    """

def sha256(content: bytes | bytearray | memoryview, plainly: bool = False, /) -> bytes:
    """Return the SHA-256 digest of bytes; `plainly` without the processor's instructions for it."""
