"""The `__init__` of classes of values, and `evolve` (see `native/values/`)."""

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
