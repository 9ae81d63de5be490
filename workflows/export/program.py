"""The programs of an exported library: names, parameters as leaves, and compiled variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...runtime.calls.plan import Plan
from ...runtime.fields.device import DeviceType
from ...runtime.language import Dimension, FieldType, ScalarType, leaves
from ...runtime.process import classes
from ...runtime.process.errors import OptionError
from ...stages.artifacts import Generated, Interface, Variant
from ...stages.bind.plans import plan_of
from ...stages.ir.literal import number
from ..builds.building import beyond_fields, call_parameters, trace
from ..entries.program import Program
from ..setups.set_up import SetUpProgram
from ..variants.naming import leaf_name
from .names import c_name

CODEGEN: Final = "codegen"
USUAL: Final = "usual"
FIRST: Final = "first"
LAST: Final = "last"
ANY: Final = "any"
LAYOUTS: Final = (USUAL, FIRST, LAST, ANY)


@classes.frozen
class Leaf:
    """One parameter of an exported function: a field, a neighbour table or a scalar.

    Attributes:
        name: the name of the leaf in the program, as in 'pair.0'.
        c: its name in C.
        dtype: the type of its numbers.
        dims: the dimensions of a field or table; None for a scalar.
        is_table: whether it is a neighbour table.
        is_written: whether a variant writes the field.

    """

    name: str
    c: str
    dtype: str
    dims: tuple[Dimension, ...] | None = None
    is_table: bool = False
    is_written: bool = False


@classes.frozen
class Built:
    """One variant: its plan, its source, and the values of its static leaves.

    Calls that read beyond fields run `beyond`, if there is such a call.
    """

    plan: Plan
    generated: Generated
    static: Mapping[str, Any]
    beyond: Built | None = None


@classes.frozen
class Exported:
    """One program of a library.

    Attributes:
        name: the name of the program, and of the function after the name of the library.
        about: the docstring of the program.
        leaves: the parameters of the function.
        variants: the compiled variants; the first one that fits runs.
        fixed: leaves that are compiled in with one value, which the function does not take.

    """

    name: str
    about: str
    leaves: tuple[Leaf, ...]
    variants: tuple[Built, ...]
    fixed: Mapping[str, Any]

    def parts(self) -> Iterator[tuple[str, Built]]:
        """Yield all that is compiled, by name: each variant, before it what runs beyond fields."""
        for place, built in enumerate(self.variants):
            if built.beyond is not None:
                yield f"{place}_beyond", built.beyond
            yield str(place), built


def exported(
    given: Any,
    static: Mapping[str, Sequence[Any]],
    provider: Mapping[str, Any] | None,
    layouts: Sequence[str],
) -> Exported:
    """Generate the code of every variant of a program or set-up, for each layout.

    Raises:
        OptionError: the backend runs on no CPU, or writes no C++.

    """
    program, values, tables = _opened(given, provider)
    types = program._variants.shape.types
    values |= {name: each for name, each in static.items() if name in types}
    built = tuple(_built(program, values, tables, layouts))
    fixed = _common(built)
    signature = call_parameters(program._variants.shape.summary)
    own = [
        (leaf_name(name, path), leaf) for name, type_ in signature for path, leaf in leaves(type_)
    ]
    written = {a.name for each in built for a in each.plan.arguments if a.written}
    found = [_leaf(name, type_, name in written) for name, type_ in own if name not in fixed]
    found += [
        Leaf(a.name, c_name(a.name), a.dtype, a.dims, is_table=True)
        for a in built[0].plan.arguments
        if a.kind == "table"
    ]
    about = (program.__doc__ or "").partition("\n")[0]
    return Exported(program.__name__, about, tuple(found), built, fixed)


def _opened(
    given: Any, provider: Mapping[str, Any] | None
) -> tuple[Program, dict[str, Sequence[Any]], Mapping[str, Any] | None]:
    """Return program, static values and neighbour tables; a set-up brings its own."""
    if isinstance(given, SetUpProgram):
        program = given.program
        static = given.request.static_values(program._variants.shape.types)
        return _on_cpu(program), {**static}, provider or given._provider
    if not isinstance(given, Program):
        raise OptionError(
            f"'export' takes programs and set-ups, got a '{type(given).__name__}'.",
            hints=["Call an operator in a program."],
        )
    program = given._changed(bound=()) if given._made.bound else given
    return _on_cpu(program), {}, provider


def _on_cpu(program: Program) -> Program:
    if program.backend is None:
        chosen: Program = program.with_backend("cpu")
        return chosen
    if getattr(program.backend.allocator, "device_type", None) != DeviceType.CPU:
        raise OptionError(
            f"'{program.__name__}' has backend '{program.backend.name}'; only programs for CPUs "
            "can be exported.",
        )
    return program


def _built(
    program: Program,
    static: Mapping[str, Sequence[Any]],
    provider: Mapping[str, Any] | None,
    layouts: Sequence[str],
) -> Iterator[Built]:
    fresh = program._changed(
        options=classes.evolve(program.compilation_options, static_params=None)
    )
    wanted = [variant for variant, _ in fresh.wanted(provider, dict(static))]
    types = {
        leaf_name(name, path): leaf
        for name, type_ in call_parameters(fresh._variants.shape.summary)
        for path, leaf in leaves(type_)
    }
    for variant in dict.fromkeys(
        _laid_out(each, layout, types) for layout in layouts for each in wanted
    ):
        values = {name: number(text, str(types[name])) for name, text in variant.static}
        made = _generated(fresh, variant, values)
        other = _generated(fresh, beyond_fields(variant), values) if made.plan.is_inside else None
        yield classes.evolve(made, beyond=other)


def _laid_out(variant: Variant, layout: str, types: Mapping[str, Any]) -> Variant:
    """Return the variant for fields of a layout."""
    if layout == USUAL:
        return variant
    if layout == ANY:
        return classes.evolve(variant, unit=())
    if layout not in (FIRST, LAST):
        raise OptionError(f"There is no layout '{layout}'.", name=layout, known=LAYOUTS)
    dims = {name: leaf.dims for name, leaf in types.items() if isinstance(leaf, FieldType)}
    place = {FIRST: 0, LAST: -1}
    unit = tuple((name, own[place[layout]].value) for name, own in dims.items() if own)
    return classes.evolve(variant, unit=unit)


def _generated(program: Program, variant: Variant, values: Mapping[str, Any]) -> Built:
    assert program.backend is not None, "'_on_cpu' selects one"
    found = trace(program.__definition__, program.backend, variant, CODEGEN)[CODEGEN].artifacts
    generated: Generated = found["generated"]
    interface: Interface = found["interface"]
    if generated.language != "c++" or interface.launches:
        raise OptionError(
            f"Backend '{program.backend.name}' of '{program.__name__}' writes no C++ to export."
        )
    return Built(plan_of(interface), generated, values)


def _common(built: Iterable[Built]) -> Mapping[str, Any]:
    """Return the static leaves that have one value in all variants."""
    values: dict[str, dict[Any, Any]] = {}
    for each in built:
        for name, value in each.static.items():
            values.setdefault(name, {})[str(value)] = value
    return {name: next(iter(own.values())) for name, own in values.items() if len(own) == 1}


def _leaf(name: str, type_: Any, is_written: bool) -> Leaf:
    if isinstance(type_, FieldType):
        return Leaf(name, c_name(name), type_.dtype.name, type_.dims, is_written=is_written)
    assert isinstance(type_, ScalarType), "parameters of programs are fields and scalars"
    return Leaf(name, c_name(name), type_.name)
