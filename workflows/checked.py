"""Checked calls: run the program with its checks compiled in; where they fail nothing is written.

What the outputs hold is kept before the call, and put back if it fails. Then the call is made once
more, embedded, where every operation is remembered: that finds the operator, the line and the
operands. So checks cost little as long as they pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs
import numpy as np

from ..runtime import checking
from ..runtime.compiled import NotFiniteError
from ..runtime.errors import CheckError, CompilerNotFoundError
from ..runtime.field import Field
from .backend import Backend
from .calls import is_native

OPTION: Final = "codegen.checked"


@attrs.frozen(eq=False)
class Kept:
    """A field that is written, and what it held before the call."""

    field: Field
    before: np.ndarray[Any, Any]

    def put_back(self) -> None:
        """Let it hold that again."""
        self.field.ndarray[...] = self.before


def with_checks(backend: Backend | None) -> Backend | None:
    """Return the backend that compiles checks in, None if it has none."""
    if backend is None or not is_native(backend) or OPTION not in backend.options:
        return None
    return backend.with_options(checked=True)


def run_checked(
    compiled: Callable[[], Any] | None,
    embedded: Callable[[], Any],
    given: Mapping[str, Any],
    written: Iterable[str],
) -> None:
    """Make a call by `compiled`; `embedded` says what is wrong, or does it all where that is None.

    `given` are the leaves of the arguments by the names of the argument plan; those that are
    `written` are as they were if the call fails.
    """
    refused = None
    with _kept(given[name] for name in written if name in given) as kept:
        if compiled is not None:
            try:
                compiled()
                return
            except NotFiniteError as error:
                refused = _refused(error, given, kept)
            except CompilerNotFoundError:
                pass  # checks need none, they only take longer
            for each in kept:
                each.put_back()
        with checking.checked({_shown(name): leaf for name, leaf in given.items()}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Program .* runs embedded")
            embedded()
        if refused is not None:  # the numbers of compiled code may differ by a rounding
            raise refused


@contextmanager
def _kept(fields: Iterable[Any]) -> Iterator[list[Kept]]:
    """Keep what fields hold, and put it back if the block fails."""
    own = {id(field): field for field in fields if isinstance(field, Field)}
    arrays = [(field, field.ndarray) for field in own.values()]
    kept = [
        Kept(field, array.copy(order="K"))
        for field, array in arrays
        if isinstance(array, np.ndarray) and array.flags.writeable
    ]
    try:
        yield kept
    except BaseException:
        for each in kept:
            each.put_back()
        raise


def _shown(name: str) -> str:
    """Return the name of a leaf as it is written in Python."""
    parameter, *path = name.split(".")
    return parameter + "".join(f"[{step}]" for step in path)


def _refused(error: NotFiniteError, given: Mapping[str, Any], kept: Iterable[Kept]) -> CheckError:
    """Return what compiled code knows: the output, and the first index where it has changed."""
    field = given.get(error.output)
    before = next((each.before for each in kept if each.field is field), None)
    return checking.refused(error.program, error.output, field, before)
