import pytest

from fieldforge.runtime.process.errors import DSLError, OptionError
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.ir import syntax
from fieldforge.stages.ir.verify import verify
from fieldforge.stages.lower.build import build

from .trees import (
    FLOAT64,
    INT32,
    LINE,
    I,
    K,
    Tree,
    copied,
    difference,
    key,
    parsed,
    program,
)

PLAIN = Variant()


def text(tree, variant=PLAIN):
    return verify(Lowered(build(tree, variant))).text


def stores(tree, variant=PLAIN):
    return [
        f"{store.target}[{', '.join(map(str, store.box))}]"
        for statement in build(tree, variant).statements
        for store in statement.stores
    ]


def test_an_operator_becomes_a_program_of_one_statement():
    assert (
        text(parsed(difference()))
        == """\
program difference(u, out)
dimension I horizontal
field u: [I] float64
field out: [I] float64
%0 = input u : [I] float64
%1 = shift %0 I+1 : [I] float64
%2 = sub %1 %0 : [I] float64
statement
  out[I: start(out, I) .. stop(out, I)] = %2
"""
    )


def test_a_parameter_named_out_is_refused_for_a_direct_call():
    tree = Tree()
    operator = tree.operator("op", {"out": LINE}, syntax.Return(tree.name("out", LINE)))

    with pytest.raises(DSLError, match="Operator 'op' has a parameter 'out'"):
        build(parsed(operator), PLAIN)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, -1), "start(v, I) + 1 .. stop(v, I) + -1"),
        ((None, None), "start(v, I) .. stop(v, I)"),
        ((-3, 5), "stop(v, I) + -3 .. start(v, I) + 5"),
        ((0, None), "start(v, I) .. stop(v, I)"),
    ],
)
def test_slices_of_outputs_count_from_the_start_or_the_end(given, expected):
    output = syntax.Output("v", (), slices=(syntax.OutputSlice(*given),))
    root = program({"u": LINE, "v": LINE}, (copied(), ["u"], [output]))

    assert stores(parsed(root, copied())) == [f"v[I: {expected}]"]


def with_domain(make):
    """A program that copies u to v on the domain whose bounds `make` adds to the tree."""
    tree = Tree()
    u = tree.name("u", LINE)
    start, stop = make(tree)
    output = syntax.Output("v", (), domain=(syntax.DomainRange(I, start, stop),))
    call = syntax.CallStatement(key(copied()), (u,), (output,))
    types = {"u": LINE, "v": LINE, "n": INT32, "m": INT32, "x": FLOAT64}
    given = tuple(syntax.Parameter(*each) for each in types.items())
    return parsed(syntax.Program("run", given, tuple(tree.nodes), (call,)), copied())


def test_a_power_in_a_bound_is_a_product():
    def make(tree):
        n = tree.name("n", INT32)
        return tree.op("neg", n), tree.op("pow", n, tree.literal("2", INT32))

    assert stores(with_domain(make)) == ["v[I: mul(n, -1) .. mul(n, n)]"]


def test_a_bound_that_is_no_integer_expression_is_refused():
    def make(tree):
        return tree.literal("0", INT32), tree.name("x", FLOAT64)

    with pytest.raises(DSLError, match="bound of a domain cannot be made with 'float64'"):
        build(with_domain(make), PLAIN)


def test_an_unknown_static_scalar_is_refused_with_the_nearest_name():
    tree = Tree()
    operator = tree.operator(
        "op", {"speed": FLOAT64, "u": LINE}, syntax.Return(tree.name("u", LINE))
    )

    with pytest.raises(OptionError, match="Did you mean 'speed'"):
        build(parsed(operator), Variant(static=(("sped", "1.0"),)))


def summed(type_=FLOAT64):
    """A scan: the sum of a column."""
    tree = Tree()
    total = tree.op("add", tree.name("s", type_), tree.name("a", type_))
    return syntax.Scan(
        "summed",
        (syntax.Parameter("s", type_), syntax.Parameter("a", type_)),
        tuple(tree.nodes),
        (syntax.Return(total),),
        type_,
        K,
        True,
        ("0.0",),
    )


def test_a_scan_that_is_called_directly_walks_what_is_written():
    assert (
        text(parsed(summed()))
        == """\
program summed(a, out)
dimension K vertical
scalar a: float64
field out: [K] float64
%0 = scalar a : float64
%1 = literal 0.0 : float64
%2 = scan K forward start(out, K) .. stop(out, K) init %1 args %0 : [K] float64
  %0 = scalar s0 : float64
  %1 = scalar a0 : float64
  %2 = add %0 %1 : float64
  next %2
%3 = result %2 0 : [K] float64
statement
  out[K: start(out, K) .. stop(out, K)] = %3
"""
    )


def test_a_statement_without_the_axis_of_its_scan_is_refused():
    tree = Tree()
    call = tree.add(syntax.CallOf(callee="summed:0", args=(tree.literal("1.0"),), type=LINE))
    operator = tree.operator("flat", {"u": LINE}, syntax.Return(call))

    with pytest.raises(DSLError, match="'summed' walks along 'K', but nothing that the statement"):
        build(parsed(operator, summed()), PLAIN)
