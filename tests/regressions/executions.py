"""Run a program in three ways and insist that they agree: what every regression test here does."""

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.stages.ir.dataflow import Map


def agree(
    program: Any,
    arguments: dict[str, Any] | Callable[[], dict[str, Any]],
    backend: ff.Backend = ff.cpu,
    tables: Any = None,
) -> dict[str, Any]:
    """Compare all fields after embedded, reference and compiled runs; return the embedded ones.

    Each run has copies of the arguments, or those that a function makes for it.
    """
    made = arguments if callable(arguments) else functools.partial(copy.deepcopy, arguments)
    with ff.using(_engine()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        meant = _run(program, None, made(), tables)
        for other in (ff.reference, backend):
            given = _run(program, other, made(), tables)
            for name, array in meant.items():
                message = f"'{name}' by {other.name}"
                np.testing.assert_array_equal(given[name], array, err_msg=message)
                if array.dtype.kind == "f":
                    signs = np.signbit(array) | np.isnan(array)
                    given_signs = np.signbit(given[name]) | np.isnan(array)
                    np.testing.assert_array_equal(given_signs, signs, err_msg=message)
    return meant


@functools.cache
def _engine() -> ff.Engine:
    """Return the engine of all regression tests: cases that share a program build it once."""
    return ff.Engine(Memory())


def _run(program: Any, backend: Any, arguments: dict[str, Any], tables: Any) -> dict[str, Any]:
    provider = {"offset_provider": tables} if tables else {}
    program.with_backend(backend)(**arguments, **provider)
    return {name: each.asnumpy() for name, each in arguments.items() if hasattr(each, "asnumpy")}


def all_values(program: Any, *args: Any, **kwargs: Any) -> tuple[str, ...]:
    """Return the values that can be arrays, by their names in listings."""
    values = program.trace(*args, **kwargs)["lower"].artifact.program.values
    return tuple(
        f"%{row}" for row, value in enumerate(values) if isinstance(value, Map) and value.dims
    )
