"""Large programs are drawn alike each time, and say on small grids what the interpreter says."""

import numpy as np
import pytest
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff

SEEDS = (0, 1, 4, 6, 9)  # a scan, one type and the other, meshes with and without long chains


@pytest.mark.needs_compiler
@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_programs_agree_with_the_interpreter(seed):
    case = large_case(seed)
    results = []
    for backend in (ff.reference, ff.cpu):
        given = arguments_of(case, 600, ff.cpu)
        program_of(case).with_backend(backend)(**given)
        results.append({name: given[name].asnumpy() for name in case.outputs})

    for name, expected in results[0].items():
        np.testing.assert_allclose(results[1][name], expected, rtol=1e-5)
        assert np.isfinite(expected).all()


def test_seeds_differ_in_what_is_drawn():
    cases = [large_case(seed) for seed in range(60)]

    assert {case.dtype for case in cases} == {"float32", "float64"}
    assert {len(case.dims) for case in cases} == {0, 2, 3}
    assert {len(case.outputs) for case in cases} == {1, 2, 3}
    assert {case.first for case in cases} == {0, 1, 2}
    assert {case.order for case in cases} == {"curve", "breadth-first", "shuffled"}
    assert any("walked" in case.text for case in cases)
