"""`GenericOperator`: an operator with type variables; a call runs the instance for its types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from ...runtime.fields import context
from ...runtime.language import Definition, type_from_annotation
from ...runtime.language.generics import (
    call_names,
    generic,
    instance_for_types,
    instance_for_values,
)
from ...runtime.process import classes
from ..builds.building import check
from ..variants.builds import Variants
from ..variants.call_shape import CallShape
from .decorated import Made
from .field_operator import FieldOperator
from .rebinding import watch
from .scan_operator import ScanOperator

if TYPE_CHECKING:
    from ..engine.inspection import Trace


class GenericOperator(FieldOperator):
    """An operator whose parameters have types such as `T = TypeVar("T", float32, float64)`.

    Each choice of types is an operator of its own, with variants of its own.

    >>> from typing import TypeVar
    >>> import fieldforge as ff
    >>> T, I = TypeVar("T", ff.float32, ff.float64), ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], T]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def half(u: Line) -> Line:
    ...     return T(0.5) * u
    >>> out = ff.zeros({I: 2}, dtype=ff.float32)
    >>> half(ff.ones({I: 2}, dtype=ff.float32), out=out)
    >>> out.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """

    _is_callable_natively = False
    _operators: dict[Definition, FieldOperator]

    def __new__(cls, made: Made) -> Self:
        """Make the operator; its instances are made when calls need them."""
        self = super().__new__(cls, made)
        self._operators = {}
        return self

    def _call_in_python(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Call the instance for the types of the arguments."""
        if out is None and context.active():
            from ...runtime.embedded import embedded  # compiled programs never import it

            return embedded.call_operator(self.__definition__, args, kwargs)
        self._renew()
        return self._typed(args, kwargs)(*args, out=out, **kwargs)

    def _typed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> FieldOperator:
        """Return the operator whose types are those of the arguments."""
        definition = self._current()
        names = call_names(definition)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        return self._operator(instance_for_values(definition, given))

    def _operator(self, instance: Definition) -> FieldOperator:
        found = self._operators.get(instance)
        if found is None:
            kind = FieldOperator if instance.scan is None else ScanOperator
            made = classes.evolve(
                self._made, definition=instance, watch=watch(instance), checked=check(instance)
            )
            found = self._operators[instance] = kind(made)
        return found

    @property
    def instances(self) -> Mapping[tuple[str, ...], FieldOperator]:
        """The operators by the types of the variables, in the order in which they are written."""
        found = generic(self._current())
        assert found is not None  # it has type variables
        return {types: self._operator(each) for types, each in found.instances.items()}

    def compile(self, *args: Any, **kwargs: Any) -> Self:
        """Build all instances in the background; the arguments are those of an operator.

        Of a scan operator with `types=` only the instance for these types is built.
        """
        if kwargs.get("types") is None:
            wanted = list(self.instances.values())
        else:
            types = {name: type_from_annotation(each) for name, each in kwargs["types"].items()}
            wanted = [self._operator(instance_for_types(self._current(), types))]
        for each in wanted:
            each.compile(*args, **kwargs)
        return self

    def build(self, *args: Any, **kwargs: Any) -> Self:
        """Build all instances and wait."""
        for each in self.instances.values():
            each.build(*args, **kwargs)
        return self

    def checked(self, *args: Any, **kwargs: Any) -> None:
        """Make a call of the instance for the arguments with checks."""
        self._typed(args, kwargs).checked(*args, **kwargs)

    def workspace_size(self, *args: Any, **kwargs: Any) -> int:
        """Return the bytes that a call of the instance for the arguments needs for temporaries."""
        return self._typed(args, kwargs).workspace_size(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Trace:
        """Show every stage of a build for these arguments; for the first types without any."""
        names = call_names(self._current())
        if args or kwargs.keys() & set(names):
            return self._typed(args, kwargs).trace(*args, **kwargs)
        return next(iter(self.instances.values())).trace(*args, **kwargs)

    def __gt_type__(self) -> Any:
        """Return the typed signature for the first types."""
        return next(iter(self.instances.values())).__gt_type__()

    @property
    def variants(self) -> str:
        """The variants that were built, one table for each choice of types."""
        tables = []
        for each in self._operators.values():
            chosen = ", ".join(f"{v.__name__} = {name}" for v, name in each.__definition__.types)
            tables += [f"for {chosen}", each.variants]
        return "\n".join([repr(self), *tables])

    @property
    def _variant_sets(self) -> tuple[Variants, ...]:
        return tuple(each for one in self._operators.values() for each in one._variant_sets)

    @property
    def _variants(self) -> Variants:
        return next(iter(self.instances.values()))._variants

    def _call_of(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Definition, CallShape, tuple[Any, ...], Mapping[str, Any]]:
        return self._typed(args, kwargs)._call_of(args, kwargs)

    def _forget(self) -> None:
        self._operators.clear()
