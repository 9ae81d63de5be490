"""The programs of an exported library: names in C and Fortran, parameters, compiled variants."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...runtime.calls.plan import Plan
from ...runtime.language import Dimension, FieldType, ScalarType, leaves
from ...runtime.process import DeviceType, OptionError, classes
from ...stages.artifacts import Generated, Interface, Variant
from ...stages.bind.plans import plan_of
from ...stages.ir.literal import number
from ..builds.building import beyond_fields, call_parameters, trace
from ..entries.program import Program
from ..setups.set_up import SetUpProgram
from ..variants.naming import leaf_name

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


C_TYPES: Final = {
    "bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t",
    "float32": "float", "float64": "double",
}  # fmt: skip
FORTRAN_TYPES: Final = {
    "bool": "logical(c_bool)", "int8": "integer(c_int8_t)", "uint8": "integer(c_int8_t)",
    "int16": "integer(c_int16_t)", "uint16": "integer(c_int16_t)", "int32": "integer(c_int32_t)",
    "uint32": "integer(c_int32_t)", "int64": "integer(c_int64_t)", "uint64": "integer(c_int64_t)",
    "float32": "real(c_float)", "float64": "real(c_double)",
}  # fmt: skip
DTYPES: Final = tuple(C_TYPES)  # the number of a type is its place
_RESERVED: Final = frozenset(
    re.findall(
        r"\w+",
        "auto bool break case catch char class const continue default delete do double else enum "
        "explicit export extern float for friend goto if inline int long mutable namespace new "
        "operator private protected public register restrict return short signed sizeof static "
        "struct switch template this throw true false try typedef typename union unsigned using "
        "virtual void volatile while and or not xor bitand bitor compl",
    )
)
_LONGEST: Final = 63  # letters of a name in Fortran


def c_name(leaf: str) -> str:
    """Return the name of a leaf in C.

    >>> c_name("pair.0.1"), c_name("new")
    ('pair_0_1', 'new_')
    """
    name = leaf.replace(".", "_")
    return f"{name}_" if name in _RESERVED else name


def fortran_names(names: Iterable[str]) -> dict[str, str]:
    """Return names that stay different where case does not count.

    >>> fortran_names(["T", "t"])
    {'T': 'T', 't': 't_2'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = (f"f{name}" if name.startswith("_") else name)[: _LONGEST - 3]
        chosen, count = plain, 1
        while chosen.lower() in taken:
            count += 1
            chosen = f"{plain}_{count}"
        taken.add(chosen.lower())
        found[name] = chosen
    return found


def checked_library(name: str) -> str:
    """Return the name of a library; one that is no identifier is refused."""
    if not re.fullmatch(r"[A-Za-z]\w*", name) or keyword.iskeyword(name) or name in _RESERVED:
        raise OptionError(f"The name of a library is an identifier, got '{name}'.")
    return name
