"""Weights that are given along transposed tables."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import DerivativeError
from fieldforge.runtime.language import Dimension, DimensionKind, FieldOffset, FieldType, ScalarType
from fieldforge.stages.adjoint.names import Weights
from fieldforge.stages.adjoint.weighing import with_weights
from fieldforge.stages.ir.dataflow_text import parse, show

from ...derivative_cases import C2E, Koff, Sparse, copied
from .test_elements import CELLS, MISSING, flows, given_fields, mesh

STOP = CELLS - 5
Edge = Dimension("Edge")
ALONG = FieldType((Edge, Dimension("C2E_t", DimensionKind.LOCAL)), ScalarType("float64"))
HEAD = """\
program back(w, w_C2E_t, out_b, u_b)
dimension Cell horizontal
dimension Edge horizontal
dimension C2E local
dimension C2E_t local
field w: [Cell, C2E] float64
field w_C2E_t: [Edge, C2E_t] float64
field out_b: [Cell] float64
field u_b: [Edge] float64
table C2E: [Cell, C2E] -> Edge width 3
table C2E_s: [Edge, C2E_t] -> C2E width 2
table C2E_t: [Edge, C2E_t] -> Cell width 2 skip
"""
STATEMENT = """\
statement
  u_b[Edge: start(u_b, Edge) .. stop(u_b, Edge)] = %{}
"""


def weighed(text):
    program, _, _ = parse(HEAD + text)
    found = show(with_weights(program, [Weights("w", "C2E_t", ALONG)]))
    assert found.startswith(HEAD)
    return found.removeprefix(HEAD)


def test_weights_are_read_where_the_table_lists_them():
    product = """\
%0 = input w : [Cell, C2E] float64
%1 = input out_b : [Cell] float64
%2 = mul %1 %0 : [Cell, C2E] float64
%3 = collect %2 C2E_t C2E_s : [Edge, C2E_t] float64
%4 = sum %3 over C2E_t : [Edge] float64
"""

    assert weighed(product + STATEMENT.format(4)) == (
        """\
%0 = input out_b : [Cell] float64
%1 = input w_C2E_t : [Edge, C2E_t] float64
%2 = neighbours %0 C2E_t : [Edge, C2E_t] float64
%3 = mul %2 %1 : [Edge, C2E_t] float64
%4 = sum %3 over C2E_t : [Edge] float64
"""
        + STATEMENT.format(4)
    )


def test_weights_outside_of_a_box_stay_unread():
    boxed = """\
%0 = input w : [Cell, C2E] float64
%1 = literal 0.0 : float64
%2 = region [Cell: 2 .. 9] %0 %1 : [Cell, C2E] float64
%3 = collect %2 C2E_t C2E_s : [Edge, C2E_t] float64
%4 = sum %3 over C2E_t : [Edge] float64
"""

    assert weighed(boxed + STATEMENT.format(4)) == (
        """\
%0 = literal 0.0 : float64
%1 = input w_C2E_t : [Edge, C2E_t] float64
%2 = literal 1.0 : float64
%3 = region [Cell: 2 .. 9] %2 %0 : [Cell] float64
%4 = neighbours %3 C2E_t : [Edge, C2E_t] float64
%5 = ne %4 %0 : [Edge, C2E_t] bool
%6 = select %5 %1 %0 : [Edge, C2E_t] float64
%7 = sum %6 over C2E_t : [Edge] float64
"""
        + STATEMENT.format(7)
    )


def test_what_has_no_weights_is_collected_as_before():
    other = """\
%0 = input out_b : [Cell] float64
%1 = mul %0 %0 : [Cell] float64
%2 = neighbours %1 C2E_t : [Edge, C2E_t] float64
%3 = sum %2 over C2E_t : [Edge] float64
"""

    assert weighed(other + STATEMENT.format(3)) == other + STATEMENT.format(3)


def adjoints(backend, tables, *, transposed):
    """Return the adjoints of flows; the weights of cells that it does not compute are NaN."""
    given, seeds = given_fields()
    given["weight"].ndarray[:3] = given["weight"].ndarray[STOP:] = np.nan
    found = {f"{name}_b": ff.full(given[name].domain, np.nan) for name in ("u", "v")}
    given |= {name: copied(each) for name, each in seeds.items()}
    if transposed:
        given["weight_C2E_t"] = ff.transposed_field(given["weight"], C2E, tables)
    run = ff.adjoint(flows, wrt=("u", "v"), transposed={"weight": C2E} if transposed else None)
    run = run.with_backend(backend)
    run(**given, **found, stop=ff.int32(STOP), offset_provider=tables)
    text = run.trace(until="adjoint", offset_provider=ff.transposed(tables))["adjoint"].text
    assert ("input weight_C2E_t" in text) == transposed
    return {name: each.asnumpy() for name, each in found.items()}


@pytest.mark.parametrize("missing", [MISSING, 0], ids=["some missing", "none missing"])
@pytest.mark.parametrize(
    "backend",
    [ff.reference, "cpu", ff.gpu_host, ff.dace_cpu],
    ids=["reference", "cpu", "gpu-host", "dace"],
)
def test_weights_along_transposed_tables_have_the_bits_of_those_that_are_looked_up(
    backend, missing
):
    tables = mesh(missing)

    meant = adjoints(ff.reference, tables, transposed=False)
    found = adjoints(backend, tables, transposed=True)

    assert not np.isnan(meant["u_b"]).any()
    for name, each in meant.items():
        assert found[name].tobytes() == each.tobytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wait": C2E}, "'transposed' names 'wait', which is no parameter of 'flows'."),
        ({"v": C2E}, "'transposed' names 'v', a 'Field.*float64.*', which has no slots of 'C2E'"),
        ({"weight": "C2E"}, "'transposed' gives 'C2E' for 'weight', which is no offset of a table"),
        ({"weight": Koff}, "for 'weight', which is no offset of a table"),
    ],
)
def test_what_is_no_field_along_slots_is_refused(given, message):
    with pytest.raises(DerivativeError, match=message):
        ff.adjoint(flows, transposed=given)


def test_a_name_that_is_taken_is_refused():
    @ff.field_operator(backend=None)
    def same(w: Sparse) -> Sparse:
        return w

    @ff.program(backend=None)
    def run(w: Sparse, w_C2E_t: Sparse, out: Sparse):
        same(w, out=out)

    with pytest.raises(DerivativeError, match="has a parameter 'w_C2E_t'"):
        ff.adjoint(run, transposed={"w": C2E})


def test_offsets_of_fields_name_the_parameter():
    offset = FieldOffset("V2E", source=Edge, target=C2E.target)
    program = ff.adjoint(flows, wrt=("u",), transposed={"weight": offset})

    assert "weight_V2E_t" in program.parameters
