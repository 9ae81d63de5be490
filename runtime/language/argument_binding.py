"""Bind the arguments of a call to parameters, by position and by keyword.

Every execution uses these functions, so a wrong call has the same message in each. The native
core binds on its own (`native/binding.cpp`) and asks for these errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..process import ArgumentError, did_you_mean


def bind_arguments(
    name: str,
    parameters: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return one argument for each parameter, in the order of the parameters.

    Args:
        name: the function, for messages.
        parameters: its parameters in order.
        args: arguments by position.
        kwargs: arguments by keyword.
        defaults: values of parameters that a call may leave out.

    Raises:
        ArgumentError: an argument is missing, unknown, given twice, or one too many.

    >>> bind_arguments("smooth", ("u", "out"), (1,), {"out": 2})
    {'u': 1, 'out': 2}
    >>> bind_arguments("smooth", ("u", "out"), (1, 2, 3), {})
    Traceback (most recent call last):
    fieldforge.runtime.process.errors.ArgumentError: smooth() takes 2 positional arguments but 3 \
were given.
    """
    if len(args) > len(parameters):
        raise too_many(name, parameters, len(args))
    given = dict(zip(parameters, args, strict=False))
    for keyword, value in kwargs.items():
        if keyword in given:
            raise repeated(name, parameters, keyword)
        if keyword not in parameters:
            raise unknown_keyword(name, parameters, keyword)
        given[keyword] = value
    given = {**(defaults or {}), **given}
    absent = [place for place, parameter in enumerate(parameters) if parameter not in given]
    if absent:
        raise missing(name, parameters, absent)
    return {parameter: given[parameter] for parameter in parameters}


def too_many(name: str, parameters: Sequence[str], given: int) -> ArgumentError:
    """Return the error for more positional arguments than parameters."""
    count = len(parameters)
    expected = f"{count} positional argument{'s' * (count != 1)}"
    return ArgumentError(
        f"{name}() takes {expected} but {given} {'was' if given == 1 else 'were'} given."
    )


def unknown_keyword(name: str, parameters: Sequence[str], given: str) -> ArgumentError:
    """Return the error for a keyword that names no parameter."""
    return ArgumentError(
        f"{name}() got an unexpected keyword argument '{given}'.",
        hint=did_you_mean(given, parameters),
    )


def repeated(name: str, _: Sequence[str], given: str) -> ArgumentError:
    """Return the error for an argument given by position and by keyword."""
    return ArgumentError(f"{name}() got multiple values for argument '{given}'.")


def missing(name: str, parameters: Sequence[str], positions: Sequence[int]) -> ArgumentError:
    """Return the error for parameters without an argument; `positions` says which."""
    names = [f"'{parameters[position]}'" for position in positions]
    listed = names[0]
    if len(names) > 1:
        comma = "," * (len(names) > 2)
        listed = f"{', '.join(names[:-1])}{comma} and {names[-1]}"
    plural = "s" * (len(names) != 1)
    return ArgumentError(
        f"{name}() missing {len(names)} required positional argument{plural}: {listed}."
    )
