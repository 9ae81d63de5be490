"""Programs as functions of JAX's arrays, with derivatives by `custom_vjp`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.language import Domain
from ...runtime.process import MissingPackageError


def of_arrays(program: Any) -> Callable[..., Any]:
    """Return a program as a function of arrays.

    Outside of `jit` the program runs at once, on the memory of the arrays if they lie where it
    runs; inside, a callback gets them on the host.
    """
    try:
        import jax
    except ImportError:
        raise MissingPackageError(
            "Package 'jax' is not installed.", hint="pip install jax"
        ) from None

    def called(run: Callable[..., Any], domains: Mapping[str, Domain], *arrays: Any) -> Any:
        if not any(isinstance(each, jax.core.Tracer) for each in arrays):
            taken = jax.dlpack.from_dlpack if program.on_gpu else jax.numpy.asarray
            return tuple(map(taken, run(*arrays)))
        kind: Any = jax.ShapeDtypeStruct
        shapes = tuple(kind(each.shape, program.dtype(name)) for name, each in domains.items())
        return jax.pure_callback(
            lambda *given: on_host(run(*map(np.asarray, given))), shapes, *arrays
        )

    def on_host(found: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(each.to_host() if program.on_gpu else each for each in found)

    def value(*arrays: Any) -> Any:
        return called(lambda *given: program.value(given), program.of, *arrays)

    def pulled(arrays: Sequence[Any], adjoints: Sequence[Any]) -> Any:
        count = len(arrays)
        return called(
            lambda *given: program.pull(given[:count], given[count:]),
            program.wrt, *arrays, *adjoints,
        )  # fmt: skip

    function: Any = jax.custom_vjp(value)
    function.defvjp(lambda *arrays: (value(*arrays), arrays), pulled)

    def one(*arrays: Any) -> Any:
        found = function(*arrays)
        return found if len(found) > 1 else found[0]

    return one
