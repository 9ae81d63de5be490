"""Name the constructs of Python that the language lacks, and say what to write instead."""

from __future__ import annotations

import ast
from typing import Final

from ...runtime.process import Span, UnsupportedPythonFeatureError

_NO_LOOP: Final = (
    "There are no loops: walk along the vertical axis with a 'scan_operator', and over neighbours "
    "with 'neighbor_sum(f, axis=L)'; a loop over time steps is one of Python, around the calls."
)
_NO_ELEMENTS: Final = "Write the elements of a tuple one by one; there are no comprehensions."
_NO_FUNCTION: Final = "Write a field operator of its own and call it."
_NO_EXCEPTION: Final = "Nothing raises inside an operator; use 'where' to choose between values."

# Functions of Python that the language has under another name, or not at all.
INSTEAD: Final = {
    "max": "Write 'maximum(a, b)'; of neighbours: 'max_over(f, axis=L)'.",
    "min": "Write 'minimum(a, b)'; of neighbours: 'min_over(f, axis=L)'.",
    "sum": "Write 'a + b'; of neighbours: 'neighbor_sum(f, axis=L)'.",
    "pow": "Write 'a ** b'.",
    "round": "Write 'floor(a + 0.5)'.",
    "print": "Print after the call, in Python: 'print(out.asnumpy())'. A checked call, "
    "'checked(...)' of the program, says where a number that is not finite arises.",
}

_NAMED: Final = {
    "For": ("for", _NO_LOOP),
    "AsyncFor": ("async for", _NO_LOOP),
    "While": ("while", _NO_LOOP),
    "ListComp": ("list comprehension", _NO_ELEMENTS),
    "SetComp": ("set comprehension", _NO_ELEMENTS),
    "DictComp": ("dict comprehension", _NO_ELEMENTS),
    "GeneratorExp": ("generator expression", _NO_ELEMENTS),
    "Lambda": ("lambda", _NO_FUNCTION),
    "FunctionDef": ("FunctionDef", _NO_FUNCTION),
    "Try": ("try", _NO_EXCEPTION),
    "TryStar": ("try*", _NO_EXCEPTION),
    "Raise": ("raise", _NO_EXCEPTION),
    "With": ("with", "Enter the context around the call of the operator."),
    "Assert": ("assert", "Check the arguments before the call."),
    "ClassDef": ("class", "Define the class outside of the function."),
    "JoinedStr": (
        "f-string",
        "Strings stand only in a type constructor, as in 'float32(\"0.1\")'.",
    ),
    "TemplateStr": (
        "t-string",
        "Strings stand only in a type constructor, as in 'float32(\"0.1\")'.",
    ),
    "Match": ("match", "Use 'if' and 'elif'."),
    "And": ("and", "Use '&' and put the operands in parentheses."),
    "Or": ("or", "Use '|' and put the operands in parentheses."),
    "AugAssign": ("AugAssign", "Write 'x = x + y' instead of 'x += y'."),
    "Slice": (
        "Slice",
        "An operator computes whole fields: shift them, as in 'u(I + 1)', and choose what a call "
        "writes, with 'domain=' or with slices of its 'out='. Elements of a tuple are read one by "
        "one, as in 't[0]'.",
    ),
    "List": ("List", "Use a tuple."),
    "Expr": ("a value that nothing takes", "Bind the value to a name or return it."),
    "Subscript": (
        "Subscript",
        "Nothing is assigned to a part of a field: choose point by point with 'where', or by index "
        "with 'concat_where'.",
    ),
    "Pass": ("Pass", "'pass' stands only inside the branches of 'if'."),
}


def unsupported(
    span: Span, node: ast.AST, hint: str | None = None
) -> UnsupportedPythonFeatureError:
    """Return the error for a construct; name an unlisted one by its `ast` class."""
    if isinstance(node, ast.BoolOp):
        node = node.op
    name = type(node).__name__
    feature, known = _NAMED.get(name, (name, None))
    hint = hint or _of_function(node) or known
    return UnsupportedPythonFeatureError(span, feature, hints=[] if hint is None else [hint])


def _of_function(node: ast.AST) -> str | None:
    """Return what to write instead of a statement that calls a function of Python."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return INSTEAD.get(name)
    return None
