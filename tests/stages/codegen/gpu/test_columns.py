"""What the text of columns on GPUs says of quotients and of levels that are searched."""

import re

from fieldforge.stages import CpuTarget, Variant

from ....generated.building import Schedule, written
from ...gtscript.stencils import definition_of, made

STEPS = """
def s(a: Field[float], b: Field[float], c: Field[float]):
    with computation(PARALLEL), interval(...):
        per = a * b
        n = 0
        while c < 3.0 and n < 4:
            c += c / per
            sum = a + c
            b = c / sum
            d = 1.0 / sum
            c = b - d / c
            n += 1
"""
SEARCH = """
def s(a: Field[float], b: Field[float], n: Field[IJ, np.int64]):
    with computation(FORWARD), interval(0, -1):
        m = 0
        while m < 2:
            b = b + a[0, 0, n] - a[0, 0, n + 1]
            n += 1
            m += 1
"""


def kernel(text: str) -> str:
    """Return the kernel with narrow offsets of a stencil."""
    found = made(definition_of(text))
    variant = Variant(unit=tuple((field, "I") for field in "abcn"))
    source = written(found.lowered, variant, Schedule(backend="gpu-host"), CpuTarget.host()).source
    return re.search(r"^KERNEL [^\n]* kn0\(.*?^}", source, re.DOTALL | re.MULTILINE)[0]


def test_quotients_by_one_number_and_those_in_a_loop_have_reciprocals() -> None:
    """The one by a number of its own is a quotient; the others do not wait for it."""
    found = kernel(STEPS)

    by_loop, by_one = re.findall(r"f64 (d\d+)\[\] = \{([^}]*)\}; divide", found)
    assert "," not in by_loop[1]
    assert by_one[1].endswith(", 0x1p+0")
    assert len(re.findall(r" / ", found)) == 1


def test_levels_are_moved_to_the_ends_without_a_test() -> None:
    found = kernel(SEARCH)

    assert "clamped(" in found
    assert "rarely" not in found
