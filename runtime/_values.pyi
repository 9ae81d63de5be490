"""The `__init__` of classes of values, and `evolve` (see `native/values/`)."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

Value = TypeVar("Value")
# name, name in calls, what `otherwise` is, otherwise, converter, is given, is given by name only
Field: TypeAlias = tuple[str, str, int, Any, Callable[[Any], Any] | None, bool, bool]

def add_constructor(
    cls: type, name: str, fields: tuple[Field, ...], finish: Callable[[Any], object] | None, /
) -> None:
    """Set `cls.<name>` to a constructor; `finish` is called with each new value."""

def evolve(value: Value, /, **changes: Any) -> Value:
    """Make a value of the same class with other fields."""
