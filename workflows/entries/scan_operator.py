"""`ScanOperator`: a decorated scan; operators, programs and Python call it like an operator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Self

from ...runtime.language import (
    CollectionType,
    Definition,
    TupleType,
    Type,
    elements,
    leaves,
    type_from_annotation,
    type_of_value,
)
from ...runtime.process import ArgumentError, SourceText, classes
from .decorated import Made
from .field_operator import FieldOperator
from .rebinding import watch

if TYPE_CHECKING:
    from ..engine.inspection import Trace

SCAN: Final = "__fieldforge_scan__"


class ScanOperator(FieldOperator):
    """A scan along the vertical axis.

    The definition does not fix the dimensions of the arguments. A direct call compiles a wrapper
    operator for the types that it is given.
    """

    _is_callable_natively = False
    _direct: dict[tuple[Type, ...], FieldOperator]

    def __new__(cls, made: Made) -> Self:
        """Make the scan operator."""
        self = super().__new__(cls, made)
        self._direct = {}
        return self

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
        domain: Any,
        provider: Mapping[str, Any] | None,
        enable_jit: bool | None,
    ) -> None:
        if self.backend is None:
            super()._run(args, kwargs, out, domain, provider, enable_jit)
            return
        warnings.warn(
            f"Scan operator '{self.__name__}' is called directly, which is not optimised; call it "
            "in a program or field operator.",
            UserWarning,
            stacklevel=3,
        )
        operator = self._typed(args, kwargs)
        operator._run(args, kwargs, out, domain, provider, enable_jit)

    def _typed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> FieldOperator:
        """Return the wrapper operator for arguments of these types."""
        parameters = self._parameters
        given = {**dict(zip(parameters, args, strict=False)), **kwargs}
        return self._of_types(
            tuple(_type_of(given.get(name), type_) for name, type_ in parameters.items())
        )

    @property
    def _parameters(self) -> dict[str, Type]:
        """The types of the parameters after the state, by name."""
        _, *parameters = self._variants.shape.summary.signature.parameters
        return dict(parameters)

    def _of_types(self, types: tuple[Type, ...]) -> FieldOperator:
        """Return the wrapper operator for the types of all arguments."""
        found = self._direct.get(types)
        if found is None:
            self._check_types(types)
            definition = _wrapper(self, list(self._parameters), types)
            made = classes.evolve(
                self._made, definition=definition, watch=watch(definition), checked=None
            )
            found = self._direct[types] = FieldOperator(made)
        return found

    def _check_types(self, types: tuple[Type, ...]) -> None:
        """Refuse arguments whose elements have other types than the parameters."""
        for (name, expected), given in zip(self._parameters.items(), types, strict=True):
            if _dtypes(given) != _dtypes(expected):
                raise ArgumentError(
                    f"Expected argument '{name}' of scan operator '{self.__name__}' to be a field "
                    f"or number of type '{expected}', got '{given}'.",
                )

    def compile(  # type: ignore[override]  # passes all on
        self, *args: Any, types: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> Self:
        """Build for direct calls with arguments of these types, in the background.

        Args:
            args: as for an operator.
            types: the type of each argument by name, as annotations have them: fields, or the type
                of the parameter for a number.
            kwargs: as for an operator.

        >>> import fieldforge as ff
        >>> I, K = ff.Dimension("I"), ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
        >>> Slab = ff.Field[ff.Dims[I, K], float]
        >>> @ff.scan_operator(axis=K, forward=True, init=0.0, backend=ff.cpu)
        ... def total(above: float, a: float) -> float:
        ...     return above + a
        >>> total.compile(types={"a": Slab})
        <scan_operator total (cpu)>

        """
        if types is None:
            self._check_compilable()
        self._current()
        self._with_types(types or {}).compile(*args, **kwargs)
        return self

    def _with_types(self, given: Mapping[str, Any]) -> FieldOperator:
        """Return the wrapper operator for types by parameter."""
        parameters = self._parameters
        for name in given:
            if name not in parameters:
                raise ArgumentError(
                    f"'types' names '{name}', which is no argument of '{self.__name__}'.",
                    hint=f"Its arguments are {', '.join(map(repr, parameters))}.",
                )
        return self._of_types(
            tuple(
                type_from_annotation(given[name]) if name in given else type_
                for name, type_ in parameters.items()
            )
        )

    def trace(
        self,
        *args: Any,
        until: str | None = None,
        offset_provider: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Trace:
        """Show every stage of a build for a call with these arguments."""
        self._current()
        return self._typed(args, kwargs).trace(until=until, offset_provider=offset_provider)

    @property
    def variants(self) -> str:
        """The variants that were built, one table for each set of argument types."""
        return "\n".join([repr(self), *(each.variants for each in self._direct.values())])

    def _check_compilable(self) -> None:
        super()._check_compilable()
        raise NotImplementedError(
            f"Scan operator '{self.__name__}' takes arguments of any dimensions; compile a program "
            "or field operator that calls it, or give 'types=' for direct calls."
        )

    def _forget(self) -> None:
        super()._forget()
        self._direct.clear()


def _type_of(value: Any, parameter: Type) -> Type:
    """Return the type of an argument: its own for a field, that of the parameter for a number."""
    if getattr(type(value), "__fieldforge_field__", False):
        return type_of_value(value)
    parts = elements(value)
    if not isinstance(parameter, TupleType | CollectionType) or parts is None:
        return parameter
    if len(parts) != len(parameter.elements):
        return parameter
    inner = zip(parts, parameter.elements, strict=True)
    return classes.evolve(parameter, elements=tuple(_type_of(*pair) for pair in inner))


def _dtypes(type_: Type) -> list[str]:
    return [str(getattr(leaf, "dtype", leaf)) for _, leaf in leaves(type_)]


def _wrapper(scan: ScanOperator, names: list[str], types: tuple[Type, ...]) -> Definition:
    """Return the definition of an operator that passes its arguments on to the scan."""
    own = scan.__definition__
    given = ", ".join(f"{name}: ..." for name in names)  # the types stand in `annotations`
    text = f"def {own.name}({given}):\n    return {SCAN}({', '.join(names)})\n"
    scope: dict[str, Any] = {SCAN: scan, "__name__": own.function.__module__}
    exec(compile(text, own.source.file, "exec"), scope)
    function: FunctionType = scope[own.name]
    annotations = tuple(zip(names, types, strict=True))
    function.__annotations__ = dict(annotations)
    source = SourceText(text, own.source.file, own.source.line)
    closure = ((SCAN, scan),)
    return Definition(
        own.name, "field_operator", source, function, closure, annotations,
        grid_type=own.grid_type,
    )  # fmt: skip
