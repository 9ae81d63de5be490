"""Run lowered programs on encoded loops, with any class of kernels and on guarded memory."""

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from fieldforge.runtime import _core
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.bind.plans import plan_of
from fieldforge.stages.encode.stage import Encode

PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)


class Runner:
    """A program in steps, called with arrays whose indices begin at 0."""

    def __init__(
        self, lowered: Lowered, variant: Variant, kernels: str | None = None, **options: Any
    ) -> None:
        results: Any = Encode(**options).run(lowered=lowered, variant=variant)
        self.encoded = results["encoded"].program
        plan = plan_of(results["interface"])
        self.dims = [argument.dims for argument in plan.arguments]
        self.program = _core.Program(plan.program, plan.parameters, _never, reject)
        self.program.add(_core.Entry(plan, 0, _core.Rows(self.encoded, kernels)))

    def __call__(self, *arrays: np.ndarray[Any, Any]) -> None:
        """Run on arrays."""
        pairs = zip(arrays, self.dims, strict=True)
        self.program(*(_view(array, dims) for array, dims in pairs))


def guarded(values: np.ndarray[Any, Any], *, at_end: bool) -> np.ndarray[Any, Any]:
    """Return a copy whose last, or first, element is beside a page that nobody may touch."""
    pages = -(-max(values.nbytes, 1) // PAGE) + 2
    memory = mmap.mmap(-1, pages * PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages - 1):
        assert _LIBC.mprotect(ctypes.c_void_p(address + page * PAGE), PAGE, 0) == 0
    start = (pages - 1) * PAGE - values.nbytes if at_end else PAGE
    made = np.frombuffer(memory, values.dtype, values.size, start).reshape(values.shape)
    made[...] = values
    return made


def _view(array: np.ndarray[Any, Any], dims: Sequence[Dimension]) -> Any:
    return _core.FieldView(array, dims, (0,) * len(dims))


def _never(args: Any, kwargs: Any) -> None:
    raise AssertionError("No entry fits the arguments that the program was built for.")
