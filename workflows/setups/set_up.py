"""`setup`: prepare a program once, as a model does before its time loop, and call it many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from ...runtime.process import ArgumentError, warn_of_old
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..entries.bound_program import BoundProgram, laid_out
from ..entries.decorated import address_of, signature_of
from ..entries.program import Program
from ..options.tags import backend_for
from .collecting import note
from .ranges import mismatches
from .request import BOUND, BOUND_STATIC, DEFAULT_STATIC, Request, Static, make_request, warn_of

Wanted = list[tuple[Variant, Mapping[str, Any] | None]]


class _Unset:
    """Marks a missing backend, because None means embedded."""

    def __repr__(self) -> str:
        return "the program's own"


UNSET: Final = _Unset()


class SetUpProgram(BoundProgram):
    """A program that is ready for a time loop; `setup` makes it.

    A call gives the remaining arguments, by position or by keyword, at the price of `bind`.

    Attributes:
        program: the program with its static parameters and backend.
        request: the fixed arguments, and those compiled in.

    """

    program: Program
    request: Request
    _provider: Mapping[str, Any] | None
    _original: tuple[Program, bool]

    def __new__(
        cls,
        original: Program,
        request: Request,
        provider: Mapping[str, Any] | None,
        precompile: bool,
    ) -> Self:
        """Bind the arguments; start the builds if `precompile`."""
        is_closed = precompile and original.backend is not None and not request.open_names()
        program = _with_static(original, request, is_closed)
        signature = signature_of(program.definition)
        self = super().__new__(
            cls, program, program, program._calls.native, signature, request.fixed, provider
        )
        self.program, self.request = program, request
        self._provider, self._original = provider, (original, precompile)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        original, precompile = self._original
        return _set_up, (original, self.request, self._provider, precompile)

    @property
    def backend(self) -> Backend | None:
        """The backend that compiles it; None runs embedded."""
        return self.program.backend

    @property
    def variants(self) -> str:
        """The variants that were built, as a table, and why each argument is static."""
        return self.program._variants_text(self.request.reasons())

    def wanted(self) -> Wanted:
        """Return every variant that the loop can need, each with its offset provider.

        Bound fields determine the layout; other fields are taken to be as our constructors make
        them.
        """
        if self.backend is None or self.request.open_names():
            return []
        static = self.request.static_values(self.program._variants.shape.types)
        found = self.program.wanted(self._provider, static)
        parameters = self.program._variants.shape.parameters
        return [(laid_out(each, parameters, self.request.fixed), given) for each, given in found]

    def compile(self) -> Self:  # type: ignore[override]  # the set-up knows all values
        """Start to build every variant that is missing, in the background."""
        missing = [(each, given) for each, given in self.wanted() if each not in self._table]
        if missing:
            self.program._variants.begin(missing)
        return self

    def wait(self) -> Self:
        """Wait for the builds, and compare the bound fields with the sizes.

        Raises:
            DomainError: a bound field is too small for the sizes.

        """
        for variant, given in self.wanted():
            self.program.provide(variant, given)
        self.check_sizes()
        return self

    def check_sizes(self) -> None:
        """Refuse sizes for which a bound field is too small, in all variants that are built."""
        for entry in tuple(self._table.entries.values()):
            plan = getattr(entry, "plan", None)
            error = next(mismatches(plan, self.request.fixed), None) if plan is not None else None
            if error is not None:
                raise error

    def checked(self, *args: Any, **kwargs: Any) -> None:
        """Make a call with checks: it raises `CheckError` rather than write an invalid number."""
        fixed: dict[str, Any] = dict(self.request.fixed)
        if self._provider is not None:
            fixed["offset_provider"] = self._provider
        given = dict(zip(self.parameters, args, strict=False))
        self.program.checked(**fixed, **given, **kwargs)

    @property
    def _table(self) -> Any:
        return self.program._variants.table


def setup(
    program: Program,
    *,
    backend: Any = UNSET,
    backend_tag: str | None = None,
    horizontal_sizes: Mapping[str, Any] | None = None,
    vertical_sizes: Mapping[str, Any] | None = None,
    constant_args: Mapping[str, Any] | None = None,
    bound_args: Mapping[str, Any] | None = None,
    bound_static_args: Mapping[str, Any] | None = None,
    static_args: Static = DEFAULT_STATIC,
    variants: Mapping[str, Sequence[Any]] | None = None,
    offset_provider: Mapping[str, Any] | None = None,
    precompile: bool = True,
    options: Mapping[str, Any] | None = None,
) -> SetUpProgram:
    """Prepare a program for a time loop: fix constant arguments, compile all variants.

    Returns a callable that takes the remaining arguments, which its signature shows.

    Args:
        program: the program; one with bound arguments keeps them.
        backend: compiles it: a tag ('cpp_cpu', 'dace_gpu'), a device ('cpu', 'gpu', `DeviceType`)
            for which the option database chooses, a `Backend`, a dictionary with 'backend_factory'
            and 'device'. None runs embedded. The default is the program's own.
        backend_tag: deprecated: `backend` takes a tag, too.
        horizontal_sizes: horizontal bounds of domains, by parameter.
        vertical_sizes: vertical bounds, by parameter.
        constant_args: fields and scalars that do not change, by parameter; whether the scalars
            are compiled in is for `static_args` to say.
        bound_args: deprecated: `constant_args`, with a `static_args` that does not name them.
        bound_static_args: deprecated: `constant_args`, with a `static_args` that names them.
        static_args: what is compiled in: groups ('horizontal', 'vertical', 'constants': the scalars
            of `constant_args`) and single parameters. By default vertical sizes and constants. A
            mapping has all values of parameters that calls still give, as `variants` has, and
            leaves the groups at their default.
        variants: for parameters that calls still give, all their values. Every combination is
            compiled.
        offset_provider: neighbour tables.
        precompile: whether to start all builds now, in the background; a call with other values
            of `variants` is then an error. Without it calls build what they need. Inside
            `with plan():` the builds wait for `plan.build`.
        options: backend options that overrule the option database.

    Raises:
        ArgumentError: a name is no parameter, is given twice, or its value has another type; both
            `backend` and `backend_tag` are given.
        DomainError: raised by `wait`, by `plan.build` and by the call: a field is too small for
            the sizes.

    Warns:
        SetUpWarning: a static parameter has unknown values, or is a float with variants.

    >>> import fieldforge as ff
    >>> I, K = ff.Dimension("I"), ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
    >>> Slab = ff.Field[ff.Dims[I, K], ff.float64]
    >>> @ff.field_operator
    ... def relaxed(u: Slab, rate: float, twice: bool) -> Slab:
    ...     return u * rate * rate if twice else u * rate
    >>> @ff.program(backend=ff.cpu)
    ... def relax(u: Slab, rate: float, twice: bool, out: Slab, bottom: ff.int32, top: ff.int32):
    ...     relaxed(u, rate, twice, out=out, domain={I: (0, 2), K: (bottom, top)})
    >>> step = ff.setup(
    ...     relax,
    ...     vertical_sizes={"bottom": ff.int32(0), "top": ff.int32(3)},
    ...     constant_args={"rate": 0.5},
    ...     variants={"twice": [False, True]},
    ... )
    >>> step.parameters
    ('u', 'twice', 'out')
    >>> u, out = ff.ones({I: 2, K: 3}), ff.zeros({I: 2, K: 3})
    >>> step(u, True, out)
    >>> out.asnumpy()[0]
    array([0.25, 0.25, 0.25])

    """
    if not isinstance(program, Program):
        raise ArgumentError(
            f"'setup' takes a program, got an object of type '{type(program).__name__}'.",
            hint="Decorate the function with 'program'; call operators in a program.",
        )
    _warn_of_bound({BOUND: bound_args, BOUND_STATIC: bound_static_args})
    if backend_tag is not None:
        backend = _tagged(backend, backend_tag)
    if not isinstance(backend, _Unset) or options:
        given = program.backend if isinstance(backend, _Unset) else backend
        found = backend_for(given, address_of(program.__definition__), options)
        program = program.with_backend(found)
    own, sizes = dict(program._made.bound), program._made.sizes
    program = program._changed(bound=()) if own else program
    types = program._variants.shape.types
    known = {name: own.pop(name) for name in sizes & own.keys()}
    fixed: dict[str, Mapping[str, Any] | None] = {
        "horizontal_sizes": known | dict(horizontal_sizes or {}),
        "vertical_sizes": vertical_sizes,
        "constant_args": {**own, **(constant_args or {})},
        BOUND: bound_args,
        BOUND_STATIC: bound_static_args,
    }
    request = make_request(program.__name__, types, fixed, static_args, variants)
    warn_of(program.__name__, types, request, stacklevel=3)
    return _set_up(program, request, offset_provider, precompile)


def _warn_of_bound(given: Mapping[str, Any]) -> None:
    for name, values in given.items():
        if values is not None:
            warn_of_old(
                f"'{name}' of 'setup' is deprecated; use 'constant_args', and let 'static_args' "
                "name what is compiled in."
            )


def _tagged(backend: Any, tag: str) -> str:
    warn_of_old("'backend_tag' of 'setup' is deprecated; use 'backend'.")
    if not isinstance(backend, _Unset):
        raise ArgumentError(
            f"Both 'backend' and 'backend_tag' are given: {backend!r} and {tag!r}.",
            hint="Give one of them.",
        )
    if not isinstance(tag, str):
        raise ArgumentError(
            f"'backend_tag' takes a text such as 'cpu' or 'gpu:A100', got {tag!r}.",
            hint="Give backends and descriptors as 'backend'.",
        )
    return tag


def _set_up(
    program: Program, request: Request, provider: Mapping[str, Any] | None, precompile: bool
) -> SetUpProgram:
    made = SetUpProgram(program, request, provider, precompile)
    if precompile and not note(made):
        made.compile()
    return made


def _with_static(program: Program, request: Request, is_closed: bool) -> Program:
    """Return the program with the static parameters of the request; a closed one builds no others.

    A call of a closed program may build another layout, but no other static value.
    """
    types = program._variants.shape.types
    names = {*request.static_values(types), *request.open_names()}
    names |= set(program.compilation_options.static_params or ())
    options: dict[str, Any] = {"enable_jit": False} if is_closed else {}
    chosen: Program = program.with_compilation_options(
        static_params=tuple(sorted(names)) or None, **options
    )
    return chosen
