"""Every function of the language on a GPU: the bits of the CPU, or within the error it may have.

The emulated GPU runs the same text as a real one, with the C library of the host in the place of
the vendor's functions; a real GPU runs the test where there is one.
"""

import importlib.util
import sys

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.language.operation_table import TABLE
from fieldforge.stages.codegen.mathematics import NAMES
from fieldforge.workflows.backends.backend import BACKENDS

from ..selection import not_optimised

pytestmark = pytest.mark.needs_compiler
I = ff.Dimension("I")
ROWS = [row for row in TABLE if row.builtin and {"float32", "float64"} <= set(row.takes)]
ROWS = [row for row in ROWS if row.gives != "target" and row.name != "select"]
HEAD = """
from fieldforge import *
import fieldforge as ff
I = Dimension("I")
A = Field[Dims[I], {dtype}]
B = Field[Dims[I], bool]
"""
OPERATOR = """
@field_operator
def of_{name}(a: A, b: A) -> {result}:
    return {builtin}({operands})
"""


def text(dtype):
    """Return a module whose program calls every function on the same two fields."""
    parts = [HEAD.format(dtype=dtype)]
    results = {row.name: "B" if row.gives == "bool" else "A" for row in ROWS}
    for row in ROWS:
        operands = "a, b" if row.arity == 2 else "a"
        parts.append(
            OPERATOR.format(
                name=row.name, builtin=row.builtin, operands=operands, result=results[row.name]
            )
        )
    outputs = ", ".join(f"{name}_out: {type_}" for name, type_ in results.items())
    parts.append(f"\n@program\ndef every(a: A, b: A, {outputs}):\n")
    parts += [f"    of_{name}(a, b, out={name}_out)\n" for name in results]
    return "".join(parts)


@pytest.fixture(scope="module", params=["float64", "float32"])
def every(request, tmp_path_factory):
    name = f"every_function_{request.param}"
    file = tmp_path_factory.mktemp("functions") / f"{name}.py"
    file.write_text(text(request.param))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    yield module.every, np.dtype(request.param)
    del sys.modules[name]


def operands(dtype):
    """Return pairs of every size and sign, the special ones with each other."""
    rng = np.random.default_rng(15)
    small, wide = rng.uniform(-1, 1, 600), rng.uniform(-30, 30, 600)
    spread = rng.choice([-1.0, 1.0], 600) * 10 ** rng.uniform(-30, 30, 600)
    whole = rng.integers(-12, 12, 600)
    first = np.concatenate([small, wide, spread, np.abs(wide), wide])
    second = np.concatenate([wide, wide[::-1], small, whole / 2, whole])
    tiny = np.finfo(dtype).smallest_subnormal
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, np.inf, -np.inf, np.nan, tiny, -tiny]
    special += [np.finfo(dtype).max, np.finfo(dtype).tiny]
    pairs = np.array([(x, y) for x in special for y in special]).T
    return tuple(np.concatenate(pair).astype(dtype) for pair in zip((first, second), pairs))  # noqa: B905


def results(every, backend, allocator=None):
    program, dtype = every
    a, b = operands(dtype)
    domain = ff.domain({I: len(a)})
    given = [ff.as_field(domain, each, allocator=allocator) for each in (a, b)]
    made = {
        row.name: ff.zeros(domain, bool if row.gives == "bool" else dtype.type, allocator=allocator)
        for row in ROWS
    }
    with np.errstate(all="ignore"):
        outputs = {f"{name}_out": field for name, field in made.items()}
        program.with_backend(backend)(*given, **outputs)
    return {name: field.asnumpy() for name, field in made.items()}


def ulps_between(found, meant):
    with np.errstate(all="ignore"):
        same = (found == meant) | (np.isnan(found) & np.isnan(meant))
        apart = np.abs(found.astype("f8") - meant.astype("f8")) / np.spacing(np.abs(meant))
    return np.where(same, 0, apart)


@pytest.mark.filterwarnings("ignore:Program '.*' runs embedded")
@pytest.mark.parametrize("name", ["gpu-host", pytest.param("gpu", marks=pytest.mark.needs_gpu)])
def test_functions_have_the_bits_of_the_cpu_or_are_near(every, name):
    single = every[1] == np.float32
    meant = results(every, not_optimised(BACKENDS["cpu"]) if single else BACKENDS["cpu"])
    embedded = results(every, None)
    backend = not_optimised(BACKENDS[name]) if name == "gpu-host" else BACKENDS[name]
    found = results(every, backend, backend.allocator)

    assert len(found) > 25
    for row in ROWS:
        mine = found[row.name]
        ending = "f32" if single else "f64"
        if row.ulps == 0 or f"{row.name}_{ending}" in NAMES:
            same = (mine == meant[row.name]) & (np.signbit(mine) == np.signbit(meant[row.name]))
            both = np.isnan(mine) & np.isnan(meant[row.name])
            assert (same | both).all(), row.name
        apart = ulps_between(mine, embedded[row.name])
        assert np.nanmax(apart) <= row.ulps, (row.name, np.nanmax(apart))
        assert not np.isnan(apart).any(), row.name
