"""Kernels written by hand as trees, and what they mean in NumPy's numbers.

No program needs such nodes yet, so each platform is tested with these texts. `unit` is the
dimension along which fields are contiguous.
"""

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fieldforge.runtime.calls.plan import ENTRY
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir.bounds import Bound, DomainSymbol, evaluate
from fieldforge.stages.ir.strides import Stride

from . import programs

_PLANES = """\
kernel planes
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit {unit}
  arena @0 float64 [I] unit I slot 0 order [I] box (I: 1 .. 15)
  group 0 (I: 1 .. 15, K: {planes})
  slot 1024
  step 0
    loop K: {planes}{way}
      nest n0 group 0
        vector I: 1 .. 15
          %0 float64 load u[1, {before}]
          %1 float64 load u[-1, {before}]
          %2 float64 add %0 %1
          %3 int64 index K
          %4 float64 cast %3
          %5 float64 add %2 %4
          %6 float64 store @0[0] %5
      nest n1 group 0
        vector I: 1 .. 15
          %0 float64 load @0[0]
          %1 float64 store u[0, 0] %0
"""


def planes(unit: str, *, backward: bool = False) -> str:
    """Return a loop over planes; each reads the one before it, backward the one above."""
    range_ = "1 .. stop(u, K) + -1" if backward else "1 .. stop(u, K)"
    way, before = (" backward", 1) if backward else ("", -1)
    return _PLANES.format(unit=unit, planes=range_, way=way, before=before)


def after_planes(u: np.ndarray, *, backward: bool = False) -> np.ndarray:
    """Return a field as the planes leave it."""
    made = u.copy(order="K")
    count = u.shape[1]
    for k in range(count - 2, 0, -1) if backward else range(1, count):
        read = k + 1 if backward else k - 1
        made[1:15, k] = made[2:16, read] + made[:14, read] + k
    return made


_NESTED = """\
kernel nested
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit {unit}
  group 0 (I: 1 .. stop(u, I), K: 1 .. 4)
  step 0
    loop I: 1 .. stop(u, I)
      nest n0 group 0
        sequential K: 0 .. 1
          %0 float64 load u[-1, 3]
          %1 float64 store u[0, 0] %0
      loop K: 1 .. 4
        column group 0
          %0 float64 load u[0, -1]
          %1 float64 load u[-1, 0]
          %2 float64 add %0 %1
          %3 float64 store u[0, 0] %2
"""


def nested(unit: str) -> str:
    """Return loops over rows and planes; a row begins with the last plane of the row before."""
    return _NESTED.format(unit=unit)


def after_nested(u: np.ndarray) -> np.ndarray:
    """Return a field as the loops leave it."""
    made = u.copy(order="K")
    for i in range(1, u.shape[0]):
        made[i, 0] = made[i - 1, 3]
        for k in range(1, 4):
            made[i, k] = made[i, k - 1] + made[i - 1, k]
    return made


CHOICE = """\
kernel choice
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  step 0
    if min(1, floordiv(stop(u, I), 8))
      nest n0 group 0
        parallel K: 0 .. stop(u, K)
          vector I: 0 .. stop(u, I)
            %0 float64 load u[0, 0]
            %1 float64 add %0 %0
            %2 float64 store out[0, 0] %1
    else
      nest n1 group 0
        parallel K: 0 .. stop(u, K)
          vector I: 0 .. stop(u, I)
            %0 float64 load u[0, 0]
            %1 float64 mul %0 %0
            %2 float64 store out[0, 0] %1
"""

_COLUMNS = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit {unit}
  field out float64 [I, K] unit {unit}
  group 0 (I: 0 .. stop(u, I), K: 0 .. 6)
  step 0
    column group 0 registers float64, int64
      {kind} I: 0 .. stop(u, I)
        %0 float64 constant 0.0
        %1 float64 set 0 %0
        %2 float64 constant 1.0
        %3 int64 constant 1
        sweep K: 0 .. 6
          %4 float64 load u[0, 0]
          %5 float64 get 0
          %6 float64 add %5 %4
          %7 float64 set 0 %6
          %8 bool gt %4 %2
          if %8
            %9 float64 store out[0, 0] %6
          else
            %10 int64 index K
            %11 int64 get 1
            %12 int64 add %11 %3
            %13 int64 set 1 %12
            %14 float64 store out[0, %10+1] %4 when %8
            %15 float64 store out[0, 0] %4 add
        while
          %16 float64 get 0
          %17 bool gt %16 %2
        holds %17
          %18 float64 constant 0.5
          %19 float64 mul %16 %18
          %20 float64 set 0 %19
        sweep K: 0 .. 5 backward
          %21 float64 load out[0, 1]
          %22 float64 load out[0, 0]
          %23 float64 add %21 %22
          %24 float64 store out[0, 0] %23
        %25 float64 get 0
        %26 int64 get 1
        %27 float64 cast %26
        %28 float64 add %25 %27
        %29 int64 constant 6
        %30 float64 store out[0, %29] %28
"""


def columns(unit: str, kind: str = "parallel") -> str:
    """Return columns that sweep up and down, choose, and repeat."""
    return _COLUMNS.format(unit=unit, kind=kind)


def after_columns(u: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the output as the columns leave it."""
    made = out.copy(order="K")
    for i in range(u.shape[0]):
        total, small = 0.0, 0
        for k in range(6):
            total += u[i, k]
            if u[i, k] > 1.0:
                made[i, k] = total
            else:
                small += 1
                made[i, k] += u[i, k]
        while total > 1.0:
            total *= 0.5
        for k in reversed(range(5)):
            made[i, k] = made[i, k + 1] + made[i, k]
        made[i, 6] = total + small
    return made


SCATTER = """\
kernel scatter
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field place int64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. stop(u, I), K: 0 .. 6)
  step 0
    column group 0
      parallel I: 0 .. stop(u, I)
        sweep K: 0 .. 6
          %0 int64 load place[0, 0]
          %1 int64 constant 4
          %2 bool lt %0 %1
          %3 float64 load u[0, 0]
          %4 float64 store out[0, %0] %3 when %2 add
"""


def after_scatter(u: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return zeros to which the columns add numbers at levels below 4."""
    made = np.zeros_like(u)
    for i in range(u.shape[0]):
        for k in range(6):
            made[i, place[i, k]] += u[i, k] * (place[i, k] < 4)
    return made


def call(
    folder: Path, made: Generated, ints: Sequence[Bound | Stride], fields: Mapping[str, np.ndarray]
) -> int:
    """Compile a kernel, and call it on fields in the order of its text; return its code."""
    stage = Compile(flags=programs.FLAGS, variables=current().compiler_variables)
    folder.joinpath("kernel.so").write_bytes(stage.run(generated=made)["compiled"].library)
    entry = getattr(ctypes.CDLL(str(folder / "kernel.so")), ENTRY)
    pointers = (ctypes.c_void_p * len(fields))(*(each.ctypes.data for each in fields.values()))
    numbers = (ctypes.c_int64 * 64)(*(_integer(each, fields) for each in ints))
    arena = np.full(1 << 16, 0xFF, np.uint8)
    aligned = ctypes.c_void_p(-(-arena.ctypes.data // 64) * 64)
    scalars = (ctypes.c_double * 1)(2.5)
    nowhere = bytes(256)  # a context without a stream
    return int(entry(pointers, numbers, scalars, aligned, nowhere))


def _integer(source: Bound | Stride, fields: Mapping[str, np.ndarray]) -> int:
    def end(symbol: object) -> int:
        assert isinstance(symbol, DomainSymbol)
        axis = ["I", "K"].index(symbol.dim.value)
        return 0 if symbol.end == "start" else fields[symbol.field].shape[axis]

    if isinstance(source, Stride):
        field = fields[source.name]
        return field.strides[source.axis] // field.itemsize
    return evaluate(source, end)
