"""`StencilBuilder`: a definition with options, externals, types and a backend, and its build."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Self

from ...cache.fingerprint import components_key
from ...runtime.process import classes, current
from ...stages.gtscript import StencilDefinition, StencilInfo
from ...stages.gtscript.capture import capture
from ...stages.gtscript.stage import ParseStencil
from ..backends.backend import Backend as Compiling
from ..backends.first_tier import tiers_of
from ..engine.engine import engine
from ..engine.policy import has_policy
from ..entries.calls import is_native
from ..graph.graph import Workflow
from .backends import Backend, from_name
from .build_times import BuildTimes
from .caching import CachingStrategy, strategy_factory
from .definitions import BuildOptions, StencilID
from .oir_passes import OirPipeline
from .parts import StencilParts
from .program import StencilProgram
from .source import stencil_source
from .stencil_object import StencilObject, class_of

if TYPE_CHECKING:  # most processes pickle nothing
    from .pickling import PickledStencil

_PARSE: Final = Workflow.chain(ParseStencil())


class StencilBuilder:
    """Builds the class of a stencil object; methods named `with_...` change and return it.

    Args:
        definition_func: the Python function.
        backend: the name or the class of a backend; 'numpy' by default.
        options: the options of the build; by default the name and the module of the function.
        frontend: only GTScript has one.

    >>> from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval
    >>> def rise(a: Field[float], b: Field[float]):
    ...     with computation(PARALLEL), interval(...):
    ...         b = a[1, 0, 0] - a
    >>> stencil = StencilBuilder(rise, backend="numpy").build()()
    >>> stencil.field_info["b"].access.name
    'WRITE'
    """

    def __init__(
        self,
        definition_func: Callable[..., Any],
        *,
        backend: str | type[Backend] | None = None,
        options: BuildOptions | None = None,
        frontend: Any = None,
    ) -> None:
        self._function = definition_func
        own = BuildOptions(definition_func.__name__, definition_func.__module__)
        self.options = own if options is None else options
        self.frontend = frontend
        self._externals: dict[str, Any] = {}
        self._dtypes: dict[Any, Any] = {}
        self._kept: dict[str, Any] = {}
        self.caching: CachingStrategy = strategy_factory("jit", self)
        kind = (
            from_name(backend or "numpy")
            if backend is None or isinstance(backend, str)
            else backend
        )
        self.backend: Backend = kind(self)

    # --- what it builds ---------------------------------------------------------------------------

    @property
    def definition(self) -> Callable[..., Any]:
        """The Python function."""
        return self._function

    @property
    def externals(self) -> dict[str, Any]:
        """What the definition may import from `__externals__`."""
        return self._externals

    @property
    def dtypes(self) -> dict[Any, Any]:
        """The types by the names that stand for them."""
        return self._dtypes

    def with_options(self, *, name: str, module: str, **kwargs: Any) -> Self:
        """Replace all options."""
        self.options = BuildOptions(name, module, **kwargs)
        return self._afresh()

    def with_externals(self, externals: Mapping[str, Any]) -> Self:
        """Set what the definition may import from `__externals__`."""
        self._externals = dict(externals)
        return self._afresh()

    def with_dtypes(self, dtypes: Mapping[Any, Any]) -> Self:
        """Set the types by the names that stand for them."""
        self._dtypes = dict(dtypes)
        return self._afresh()

    def with_backend(self, backend_name: str) -> Self:
        """Set the backend by its name."""
        self.backend = from_name(backend_name)(self)
        return self._afresh()

    def with_caching(self, caching_strategy_name: str, *args: Any, **kwargs: Any) -> Self:
        """Set the strategy of caching by gt4py's name; results always lie in our store."""
        self.caching = strategy_factory(caching_strategy_name, self, *args, **kwargs)
        return self._afresh()

    def with_captured(self, definition: StencilDefinition) -> Self:
        """Take the definition as another process has captured it, in place of externals, types."""
        self._kept["captured"] = definition
        return self

    def _afresh(self) -> Self:
        self._kept.clear()
        return self

    # --- the build --------------------------------------------------------------------------------

    @property
    def captured(self) -> StencilDefinition:
        """The definition as a value, with its names as they were bound at first use."""
        if "captured" not in self._kept:
            self._kept["captured"] = capture(
                self._function,
                externals=self._externals,
                dtypes=self._dtypes,
                name=self.options.name or None,
                literal_int_precision=self.options.literal_int_precision,
                literal_float_precision=self.options.literal_float_precision,
            )
        found: StencilDefinition = self._kept["captured"]
        return found

    @property
    def gtir(self) -> StencilInfo:
        """The facts about the stencil; errors of the definition are raised here."""
        if "info" not in self._kept:
            begin, captured = perf_counter(), self.captured
            name = ParseStencil.name
            results = engine().run(
                _PARSE,
                {"definition": captured},
                program=captured.name,
                deep=False,
                afresh=(name,) if self.options.rebuild else (),
            )
            self._kept["info"] = results[name].outputs["info"].get()
            self._times.note("parse_time", begin)
        found: StencilInfo = self._kept["info"]
        return found

    @property
    def stencil_id(self) -> StencilID:
        """The name, and a digest of everything that determines the results."""
        kind = type(self.backend)
        rows = dict(self.captured.components())
        rows["format_source"] = str(self.options.format_source)
        for name, value in sorted(self.options.backend_opts.items()):
            if kind.options.get(name, {}).get("versioning", True):
                rows[f"option {name}"] = _spelled(value)
        return StencilID(self.options.qualified_name, components_key(rows)[:10])

    @property
    def class_name(self) -> str:
        """The name of the class: of the stencil, the backend, and the digest."""
        backend = re.sub(r"\W", "", self.backend.name)
        return f"{self.options.name}____{backend}_{self.stencil_id.version}"

    def build(self) -> type[StencilObject]:
        """Return the class of the stencil object; compiled code is built beside the program.

        Raises:
            GTError: the definition is no GTScript, or has no meaning.
            ValueError: with `raise_if_not_cached`, if something would have to be built.

        """
        self._check_options()
        info = self.gtir
        begin = perf_counter()
        kind = type(self.backend)
        source = stencil_source(self.captured, self._function, info, kind.name)
        program = StencilProgram.make(source, self._compiling(kind))
        self._times.note("module_time", begin)
        self._prepare(program)
        parts = StencilParts(self.captured, info, kind, self.options, program, restored)
        for sentence in info.warnings:
            warnings.warn(sentence, stacklevel=3)
        return class_of(parts, self.class_name, self.stencil_id.version, info.docstring)

    def _compiling(self, kind: type[Backend]) -> Compiling:
        """Return the backend of fieldforge, with those options that its stages have."""
        found, known = kind.selected(), _options_of_stages(kind)
        own = {name: value for name, value in self.options.backend_opts.items() if name in known}
        return found.with_options(**own) if own else found

    def _prepare(self, program: StencilProgram) -> None:
        """Build what the first call needs: the interpreter's here, compiled code in background."""
        assert program.backend is not None, "a stencil has a backend"
        order = program.order(program.usual(None), None, engine())
        if self.options.raise_if_not_cached and (self.options.rebuild or order.missing()):
            raise ValueError(f"The stencil {self.options.name} is not up to date in the cache")
        if not program.__definition__.written or has_policy():
            return
        if self.options.rebuild:
            order.rebuild()
            self._times.add_stages(order)
        if self.options.build_info is not None:
            awaited = set() if order.is_stored() else {order.variant}
            program.hear(self._times.listener(program, awaited))
        if not is_native(program.backend):
            order.build()
        elif current().jobs and current().enable_jit and tiers_of(program.backend) == "compiled":
            program.begin_usual()

    def _check_options(self) -> None:
        kind = type(self.backend)
        unknown = self.options.backend_opts.keys() - kind.options.keys() - _options_of_stages(kind)
        if unknown:
            warnings.warn(
                f"Unknown options '{set(unknown)}' for backend '{kind.name}'",
                RuntimeWarning,
                stacklevel=4,
            )

    @property
    def _times(self) -> BuildTimes:
        return BuildTimes(self.options.build_info)


def builder_of(found: PickledStencil) -> StencilBuilder:
    """Return the builder of a stencil that was pickled."""
    options = classes.evolve(found.options)  # builders change theirs
    made = StencilBuilder(found.address.function, backend=found.backend_class, options=options)
    return made.with_captured(found.definition)


def restored(found: PickledStencil) -> StencilObject:
    """Return the stencil that a pickle describes; the imported one if it is equal."""
    builder, value = builder_of(found), found.address.value
    if isinstance(value, StencilObject) and value.__reduce__()[1] == (found,):
        return value
    return builder.build()()


def _options_of_stages(kind: type[Backend]) -> set[str]:
    """Return the options of our stages, by name and as 'stage.option'."""
    names = set(kind.selected().options)
    return names | {name.rpartition(".")[2] for name in names}


def _spelled(value: Any) -> str:
    """Return a text for a value of an option that is the same in every process."""
    is_plain = value is None or isinstance(value, bool | int | float | str | OirPipeline)
    return repr(value) if is_plain else type(value).__qualname__
