"""What tables tell for all levels stands before the lanes of a strip: the rest becomes vectors.

The drawn programs are sums over neighbours of sums over neighbours, on levels: their adjoints meet
levels at which some contributions are missing.
"""

from __future__ import annotations

import pytest
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of, arguments_of_adjoint

import fieldforge as ff

SINGLE, DOUBLE = 42, 53


def adjoint_and_arguments(seed: int, backend) -> tuple[ff.Program, dict[str, object]]:
    case = large_case(seed)
    given = arguments_of(case, 5000, ff.cpu)
    step_b = ff.adjoint(program_of(case).with_backend(backend))
    return step_b, arguments_of_adjoint(step_b, given)


@pytest.mark.parametrize("seed", [SINGLE, DOUBLE])
def test_entries_are_read_once_for_all_lanes_and_conditions_are_those_of_a_lane(seed):
    step_b, given = adjoint_and_arguments(seed, ff.cpu)

    text = step_b.trace(**given, until="codegen")["codegen"].text

    functions = [each.split("};")[0] for each in text.split("const auto usual = ")[1:]]
    parts = [each.split("#pragma omp simd") for each in functions if " all = " in each]
    assert parts
    for before, lanes in parts:
        assert "const s32 " in before  # entries
        assert "const s32 " not in lanes
        assert " & (l < all));" in lanes


@pytest.mark.parametrize("seed", [SINGLE, DOUBLE])
def test_adjoints_have_the_bits_of_the_interpreter(seed):
    bits = []
    for backend in (ff.cpu, "reference"):
        step_b, given = adjoint_and_arguments(seed, backend)
        step_b(**given)
        fields = (each for name, each in given.items() if name.endswith("_b"))
        bits.append([each.asnumpy().tobytes() for each in fields])
    assert bits[0] == bits[1]
