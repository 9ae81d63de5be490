import pytest

from fieldforge.runtime.process.errors import WorkflowError
from fieldforge.stages.ir import syntax
from fieldforge.stages.ir.dataflow import Map
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.inline import Inliner

from .trees import BOOL, FLOAT64, Tree, key


def run(operator, graph, args, *others):
    return Inliner(graph, {key(each): each for each in others}).call(operator, args)


def shown(graph, ref):
    """A value as an expression, for small graphs."""
    value = graph[ref]
    if isinstance(value, Map):
        return f"{value.op}({', '.join(shown(graph, arg) for arg in value.args)})"
    return getattr(value, "name", None) or value.text


def scalars(graph, **dtypes):
    return [(graph.scalar(name, dtype),) for name, dtype in dtypes.items()]


def test_a_name_of_one_branch_is_undefined_afterwards():
    tree = Tree()
    condition, x = tree.name("c", BOOL), tree.name("x", FLOAT64)
    operator = tree.operator(
        "op",
        {"c": BOOL, "x": FLOAT64},
        syntax.If(condition, (syntax.Assign("y", x),), ()),
        syntax.Return(tree.name("y", FLOAT64)),
    )
    graph = Graph()

    with pytest.raises(WorkflowError, match="'y' is read before it is bound"):
        run(operator, graph, scalars(graph, c="bool", x="float64"))


def returns(tree, name):
    return syntax.Return(tree.name(name, FLOAT64))


@pytest.mark.parametrize("then", ["return", "fall", "nested"])
@pytest.mark.parametrize("otherwise", ["return", "fall", "nested"])
@pytest.mark.parametrize("values", [(c, d) for c in (0, 1) for d in (0, 1)])
def test_returns_of_branches_are_those_of_python(then, otherwise, values):
    tree = Tree()

    def branch(kind, name):
        if kind == "return":
            return (returns(tree, name),)
        if kind == "fall":
            return (syntax.Assign("x", tree.op("neg", tree.name("x", FLOAT64))),)
        return (syntax.If(tree.name("d", BOOL), (returns(tree, name),), ()),)

    body = (
        syntax.If(tree.name("c", BOOL), branch(then, "a"), branch(otherwise, "b")),
        *([] if then == otherwise == "return" else [returns(tree, "x")]),
    )
    operator = tree.operator(
        "op", {"c": BOOL, "d": BOOL, "a": FLOAT64, "b": FLOAT64, "x": FLOAT64}, *body
    )
    graph = Graph()
    args = scalars(graph, c="bool", d="bool", a="float64", b="float64", x="float64")

    (result,) = run(operator, graph, args)

    kind, name = (then, "a") if values[0] else (otherwise, "b")
    taken = kind == "return" or (kind == "nested" and values[1])
    expected = name if taken else "neg(x)" if kind == "fall" else "x"
    assert chosen(graph, result, dict(zip("cd", values, strict=True))) == expected


def chosen(graph, ref, conditions):
    """Follow selects whose conditions are known."""
    value = graph[ref]
    if isinstance(value, Map) and value.op == "select":
        taken = value.args[1] if truth(graph, value.args[0], conditions) else value.args[2]
        return chosen(graph, taken, conditions)
    return shown(graph, ref)


def truth(graph, ref, conditions):
    value = graph[ref]
    if not isinstance(value, Map):
        return conditions[value.name] if hasattr(value, "name") else value.text == "True"
    args = [truth(graph, arg, conditions) for arg in value.args]
    match value.op:
        case "not":
            return not args[0]
        case "and":
            return args[0] and args[1]
        case "or":
            return args[0] or args[1]
    return args[1] if args[0] else args[2]


def test_calling_twice_with_the_same_arguments_inlines_once():
    inner = Tree()
    operator = inner.operator(
        "step0", {"x": FLOAT64}, syntax.Return(inner.op("neg", inner.name("x", FLOAT64)))
    )
    operators = [operator]
    for index in range(1, 60):  # 2**60 calls if each were inlined
        tree = Tree()
        args = tree.name("x", FLOAT64)
        total = tree.op("add", tree.call(operators[-1], args), tree.call(operators[-1], args))
        operators.append(tree.operator(f"step{index}", {"x": FLOAT64}, syntax.Return(total)))
    graph = Graph()

    run(operators[-1], graph, scalars(graph, x="float64"), *operators)

    assert len(graph.values) == 61


def test_an_elif_chain_as_long_as_it_likes_is_read_without_recursion():
    tree = Tree()
    body = (syntax.Return(tree.name("x", FLOAT64)),)
    for _ in range(3000):
        body = (syntax.If(tree.name("c", BOOL), (returns(tree, "x"),), body),)
    operator = tree.operator("op", {"c": BOOL, "x": FLOAT64}, *body)
    operator = syntax.Operator(
        operator.name, operator.parameters, operator.nodes, operator.body, FLOAT64
    )
    graph = Graph()

    (result,) = run(operator, graph, scalars(graph, c="bool", x="float64"))

    assert shown(graph, result) == "x"
