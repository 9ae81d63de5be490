from __future__ import annotations

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.ir.bounds import Const, Range
from fieldforge.stages.ir.flat_kernel import Buffer, Kernel
from fieldforge.stages.ir.loops_text import show
from fieldforge.stages.ir.nests import Compute, Constant, Instruction, Load, Loop, Nest, Store

I = Dimension("I")
BOX = (Range(I, Const(0), Const(8)),)
U = Buffer("u", "field", "float64", (I,), I)
OUT = Buffer("out", "field", "float64", (I,))
ARRAY = Buffer("@0", "arena", "float64", (I,), I, BOX, (I,), 0, "asked for")


def load(buffer: str, offset: int = 0, level: int = 1) -> Load:
    return Load(dtype="float64", level=level, buffer=buffer, dims=(I,), offsets=(offset,))


def store(buffer: str, value: int) -> Store:
    return Store(dtype="float64", level=1, buffer=buffer, value=value)


def kernel(*bodies: tuple[Instruction, ...]) -> Kernel:
    nests = [Nest(0, (Loop("vector", BOX[0]),), body, BOX, "tests") for body in bodies]
    return Kernel(
        "small", (("dt", "float64"),), (U, OUT, ARRAY), tuple(nests), (Const(64),), Const(64)
    )


def test_a_kernel_prints_buffers_loops_and_reasons() -> None:
    two = Constant(dtype="float64", text="2.0")
    product = Compute(dtype="float64", level=1, op="mul", args=(0, 1))
    text = show(kernel((two, load("u", -1), product, store("out", 2))))
    assert text == (
        "kernel small\n"
        "  scalar dt float64\n"
        "  field u float64 [I] unit I\n"
        "  field out float64 [I]\n"
        "  arena @0 float64 [I] unit I box (I: 0 .. 8) slot 0  # asked for\n"
        "  slot 0: 64 bytes\n"
        "nest 0 of statement 0  # tests\n"
        "  %0 float64 = constant 2.0\n"
        "  vector I: 0 .. 8\n"
        "    %1 float64 = load u[-1]\n"
        "    %2 float64 = mul %0 %1\n"
        "    store out = %2\n"
    )
