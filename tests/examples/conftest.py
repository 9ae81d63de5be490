"""How tests of examples compile: double precision as users do, the rest without optimisations.

`make bench` holds every optimised program against NumPy and the kernels written by hand, too.
"""

from __future__ import annotations

import native
import pytest

import fieldforge as ff

from ..optimised import is_asked, not_optimised

DTYPES = ["float64", pytest.param("float32", marks=pytest.mark.every_optimised)]


@pytest.fixture(scope="session", autouse=True)
def kernels_by_hand(request):
    """Compile kernels by hand, which no test measures, without optimisations."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_asked(request):
            patch.setattr(native, "FLAGS", native.FLAGS.replace("-O3", "-O0"))
        yield


@pytest.fixture(params=DTYPES)
def dtype(request):
    """Give a type of numbers."""
    return request.param


@pytest.fixture
def cpu(dtype, request):
    """Give the backend `cpu`; it optimises programs in double precision."""
    return ff.cpu if dtype == "float64" or is_asked(request) else not_optimised(ff.cpu)
