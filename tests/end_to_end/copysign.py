"""Run in a process of its own: the language with one operation more, `copysign`.

Its row goes into the table, its spelling into the spellings of the C++ writer (which DaCe shares),
both right after their modules have run; nothing else learns of it. Prints the results of each
execution in hexadecimal. With the argument "unspelled" the row comes without its spelling.
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib.machinery import SourceFileLoader
from types import ModuleType

import numpy as np

ROW = "fieldforge.runtime.language.operation_table"
SPELLING = "fieldforge.stages.codegen.rows.spellings"


def add_row(table: ModuleType) -> None:
    row = table.Operation(
        "copysign", np.copysign, "Return the size of the first with the sign of the second.",
        "copysign(2.0, -1.0) == -2.0", takes=table.FLOATS, builtin="copysign", hides_nan=True,
    )  # fmt: skip
    table.TABLE = (*table.TABLE, row)


def add_spelling(spellings: ModuleType) -> None:
    spellings.SPELLINGS["copysign"] = partial(spellings.library, "copysign")


def after_import(additions: dict[str, Callable[[ModuleType], None]]) -> None:
    """Change modules right after they have run, before anybody reads them."""
    execute = SourceFileLoader.exec_module

    def exec_module(self: SourceFileLoader, module: ModuleType) -> None:
        execute(self, module)
        additions.get(module.__name__, lambda _: None)(module)

    SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign]


after_import({ROW: add_row} | ({} if "unspelled" in sys.argv else {SPELLING: add_spelling}))

import fieldforge as ff  # noqa: E402 - the language as it is from here on
from fieldforge import copysign  # noqa: E402

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]
Single = ff.Field[ff.Dims[I], ff.float32]


@ff.field_operator
def signed(u: Line, v: Line, w: Single) -> tuple[Line, Single, Line]:
    known = ff.broadcast(copysign(3.0, -0.0), (I,))  # folded, because the operation is exact
    return copysign(u(I + 1), v), copysign(w, w * w), known


def run(backend: ff.Backend | None) -> str:
    u = np.array([9.0, 0.0, -0.0, 1.5, -2.5, np.inf, np.nan, 4.0])
    v = np.array([-1.0, 1.0, -0.0, -np.inf, 2.0, -3.0, 0.0])
    out = ff.zeros({I: 7}), ff.zeros({I: 7}, dtype=ff.float32), ff.zeros({I: 7})
    fields = ff.as_field([I], u), ff.as_field([I], v), ff.as_field([I], v.astype(np.float32))
    signed.with_backend(backend)(*fields, out=out, offset_provider={})
    return " ".join(field.asnumpy().tobytes().hex() for field in out)


warnings.simplefilter("ignore")
for backend in (None, *(getattr(ff, name) for name in sys.argv[1].split(","))):
    print(run(backend))  # noqa: T201 - read by the test
