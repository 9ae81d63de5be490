"""`StencilDefinition`: a stencil as a value: text, types of arguments, and resolved constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ...runtime.process import SourceText, classes


@classes.frozen
class FieldOf:
    """The type of a field: the letters of its axes, a dtype, and the sizes of its data axes."""

    axes: str
    dtype: str
    data_dims: tuple[int, ...] = ()


@classes.frozen
class ScalarOf:
    """The type of a number."""

    dtype: str


LITERALS: Final = ("literal_int", "literal_float", "named_int", "named_float")
Annotation: TypeAlias = FieldOf | ScalarOf


@classes.frozen
class Number:
    """A number that is known when a stencil is built.

    `dtype` is "int", "float" or "bool" for a number of Python, else the name of NumPy's dtype.
    """

    dtype: str
    text: str


@classes.frozen
class AxisBound:
    """An index along an axis: `I[0] + 1` has index 0 and offset 1."""

    axis: str
    index: int
    offset: int


@classes.frozen
class Opaque:
    """Anything else that a name stands for: an error only if the name is used."""

    what: str


@classes.frozen
class Parameter:
    """A parameter of a function, with the constant that it is by default."""

    name: str
    default: Constant | None = None
    keyword_only: bool = False


@classes.frozen
class FunctionDefinition:
    """A function of GTScript; `names` are the constants that its text mentions, by their path."""

    name: str
    source: SourceText
    parameters: tuple[Parameter, ...]
    names: tuple[tuple[str, Constant], ...]


Constant: TypeAlias = Number | AxisBound | FunctionDefinition | FieldOf | ScalarOf | Opaque


@classes.frozen
class Argument:
    """A parameter of a stencil with its type; a scalar may have a default."""

    name: str
    annotation: Annotation
    keyword_only: bool = False
    default: Number | None = None


@classes.frozen
class StencilDefinition:
    """A stencil before it is parsed.

    `names` are the globals that the text mentions, by their path ("constants.g"); `externals` are
    what `from __externals__ import ...` may import. `dtypes` gives types by the names that stand
    for them in the text. The types of literals are `literal_int` and `literal_float`; those that
    `int` and `float` name in the text are `named_int` and `named_float`.
    """

    name: str
    source: SourceText
    arguments: tuple[Argument, ...]
    names: tuple[tuple[str, Constant], ...] = ()
    externals: tuple[tuple[str, Constant], ...] = ()
    dtypes: tuple[tuple[str, Annotation], ...] = ()
    literal_int: str = "int64"
    literal_float: str = "float64"
    named_int: str = "int64"
    named_float: str = "float64"

    def components(self) -> dict[str, str]:
        """Return the labelled parts of the key; they contain no file, line or identity."""
        parts = {"name": self.name, "source": self.source.text}
        for label in ("arguments", "dtypes", *LITERALS):
            parts[label] = repr(getattr(self, label))
        for label in ("names", "externals"):
            for path, constant in getattr(self, label):
                parts |= dict(_described(f"{label}.{path}", constant))
        return parts


def _described(label: str, constant: Constant) -> Iterator[tuple[str, str]]:
    """Describe a constant; a function by its text and the constants that it mentions."""
    waiting = [(label, constant)]
    for path, each in waiting:  # grows during the loop
        if isinstance(each, FunctionDefinition):
            yield path, f"{each.name} {each.parameters} {each.source.text}"
            waiting += [(f"{path}.{name}", inner) for name, inner in each.names]
        else:
            yield path, repr(each)
