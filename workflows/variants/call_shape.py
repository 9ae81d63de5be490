"""`CallShape`: the parameters of one function, and the variant that a call of it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...runtime.fields.bare_array import with_fields
from ...runtime.language import Definition, Type
from ...runtime.process import classes
from ...stages.artifacts import Variant
from ...stages.parse.summary import Summary
from ..builds.building import OUT, call_parameters, summary
from ..engine.handle import Handle
from .alike import Groups, alike_outputs, all_alike
from .known_domains import ranges_of, ranges_told
from .naming import default_variant, variant_of
from .static_arguments import Static, spelled
from .tables import tables_of

Provider: TypeAlias = Mapping[str, Any] | None


@classes.define(eq=False)
class CallShape:
    """The parameters of one function, and the variant that a call of it needs.

    Attributes:
        source: returns the definition as it is now.
        parameters: names of the call's parameters in order.
        static: parameters whose values are compiled in.
        static_domains: whether the domains of all fields are compiled in.
        alike: outputs of an operator that are written on the same ranges; None for all.
        checked: the summary of the function, if a check has made it.

    """

    source: Callable[[], Definition]
    parameters: tuple[str, ...]
    static: tuple[str, ...] = ()
    static_domains: bool = False
    alike: Groups | None = None
    checked: Handle | None = classes.field(default=None, init=False)
    _summary: Summary | None = classes.field(default=None, init=False)

    @property
    def summary(self) -> Summary:
        """The signature of the function and the neighbour tables that it reads."""
        found = self._summary
        if found is None:
            definition = self.source()  # drops what was checked if the function has changed
            found = summary(definition) if self.checked is None else self.checked.get()
            self._summary = found
        return found

    @property
    def types(self) -> Mapping[str, Type]:
        """The types of the function's own parameters."""
        return dict(self.summary.signature.parameters)

    def choose_static(self, names: tuple[str, ...]) -> None:
        """Compile in the values of these parameters."""
        self.static = names

    def forget(self) -> None:
        """Read the signature again at its next use."""
        self._summary = self.checked = None

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by name, with fields in the place of bare arrays."""
        return self.with_fields({**dict(zip(self.parameters, args, strict=False)), **kwargs})

    def with_fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Replace bare arrays by fields where the parameter is a field."""
        types = dict(call_parameters(self.summary))
        return {name: with_fields(types.get(name), value) for name, value in values.items()}

    def variant(self, values: Mapping[str, Any], provider: Provider) -> Variant:
        """Return the variant for arguments by name; without ranges, see `with_ranges`."""
        tables = tables_of(provider, self.summary.tables)
        static = self.static_of(values) if self.static else ()
        found = variant_of(self.parameters, (), values, tables, static)
        # with `domain=`, `alike` is already the result of comparing its bounds
        alike = self._alike() if found.domain else alike_outputs(self._alike(), values)
        return classes.evolve(found, alike=alike)

    def with_ranges(self, variant: Variant, values: Mapping[str, Any]) -> Variant:
        """Return the variant that has the domains of these arguments compiled in."""
        return classes.evolve(variant, ranges=ranges_of(self.parameters, values))

    def default(
        self, provider: Provider, static: Static = (), domains: Mapping[Any, Any] | None = None
    ) -> Variant:
        """Return the variant for fields that our own constructors make.

        `domains` are compiled in; `ranges_told` describes their form.
        """
        known = self.summary
        parameters = call_parameters(known)
        found = default_variant(parameters, False, tables_of(provider, known.tables), static)
        ranges = () if domains is None else ranges_told(self.source().name, parameters, domains)
        return classes.evolve(found, alike=self._alike(), ranges=ranges)

    def static_of(self, values: Mapping[str, Any]) -> Static:
        """Return the static leaves of a call, none where a value is no number of its type."""
        types = self.types
        try:
            found = [spelled(types, name, values[name]) for name in sorted(self.static)]
        except (KeyError, ValueError, OverflowError, TypeError):
            return ()  # the native core refuses the call
        return tuple(leaf for leaves in found for leaf in leaves)

    def _alike(self) -> Groups:
        """Return the groups of outputs that the variant writes on the same ranges."""
        result = self.summary.signature.result
        if result is None:
            return self.summary.outputs
        return all_alike(OUT, result) if self.alike is None else self.alike
