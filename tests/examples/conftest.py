"""How tests of examples compile: double precision as users do, the rest without optimisations.

`make bench` holds every optimised program against NumPy and the kernels written by hand, too.
"""

import pytest

import fieldforge as ff

from ..by_hand import kernels_by_hand
from ..selection import not_optimised, runs_all

__all__ = ["kernels_by_hand"]


DTYPES = ("float64", "float32")
BACKENDS = [
    pytest.param(None, id="embedded", marks=pytest.mark.filterwarnings("ignore::UserWarning")),
    pytest.param("reference", id="reference"),
    pytest.param("cpu", id="cpu", marks=pytest.mark.needs_compiler),
]


@pytest.fixture(params=DTYPES)
def dtype(request):
    """Give a type of numbers."""
    return request.param


@pytest.fixture
def cpu(dtype, request):
    """Give the backend `cpu`; it optimises programs in double precision."""
    return ff.cpu if dtype == "float64" or runs_all(request.config) else not_optimised(ff.cpu)
