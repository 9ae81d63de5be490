"""`StencilObject`: a stencil that can be called with arrays, an origin and a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn, Self

from ...runtime import _core
from .arguments import GivenCall, Origins, domain_of, is_placed, origins_of
from .checks import (
    check_domain,
    check_fields,
    check_intervals,
    check_numbers,
    check_origins,
    warn_of_layouts,
)
from .definitions import DomainInfo, FieldInfo, ParameterInfo
from .frozen import FrozenStencil
from .parts import StencilParts
from .program import StencilProgram
from .timing import CallTimes


class StencilObject(_core.Stencil):
    """A stencil of GTScript; each build has a class of its own with one immutable instance.

    A call takes the arguments of the definition, by position or by name, and four options:

    * `origin`: the element of each array that is the first point of the domain: None, an integer,
      three integers, or a dictionary by field, in which '_all_' stands for the others. Without,
      arrays begin at their attribute `__gt_origin__`, else at zero.
    * `domain`: the sizes of the compute domain; by default what all fields have room for.
    * `validate_args`: whether arguments are checked in GTScript's words. Nothing is ever read or
      written beyond an array.
    * `exec_info`: a dictionary that receives the times of the call.

    >>> import numpy as np
    >>> from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval, stencil
    >>> @stencil(backend="numpy")
    ... def rise(a: Field[float], b: Field[float]):
    ...     with computation(PARALLEL), interval(...):
    ...         b = a[1, 0, 0] - a
    >>> a, b = np.arange(3.0).reshape(3, 1, 1), np.zeros((2, 1, 1))
    >>> rise(a, b)
    >>> b.ravel().tolist(), rise.field_info["a"].boundary.upper_indices
    ([1.0, 1.0], (1, 0, 0))
    """

    _gt_id_: ClassVar[str] = ""
    _made: ClassVar[StencilParts]
    _instance: ClassVar[Any] = None
    definition_func: ClassVar[Callable[..., Any]]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return the instance of the class."""
        if not hasattr(cls, "_made"):
            raise TypeError(
                f"'{cls.__name__}' has no definition: 'gtscript.stencil' makes stencils."
            )
        own: Self | None = cls.__dict__.get("_instance")
        if own is None:
            own = super().__new__(cls, **cls._made.native())
            cls._instance = own
        return own

    # --- what it tells of itself ------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self._made.backend.name

    @property
    def source(self) -> str:
        """The text of the definition."""
        return self._made.definition.source.text

    @property
    def domain_info(self) -> DomainInfo:
        """The axes of the domain, and the fewest levels that it may have."""
        return self._made.domain

    @property
    def field_info(self) -> dict[str, FieldInfo]:
        """The fields by name: access, boundary, axes, element type."""
        return self._made.fields

    @property
    def parameter_info(self) -> dict[str, ParameterInfo]:
        """The scalar parameters by name."""
        return self._made.numbers

    @property
    def constants(self) -> Mapping[str, Any]:
        """The externals that are numbers."""
        return self._made.constants

    @property
    def options(self) -> dict[str, Any]:
        """The options of the build."""
        found = self._made.options.as_dict()
        del found["build_info"]
        return found

    @property
    def program(self) -> StencilProgram:
        """The program behind the stencil, for everything in fieldforge that takes programs."""
        return self._made.program

    __entry_point__ = program

    def __str__(self) -> str:
        made = self._made
        return (
            f'<StencilObject: {made.options.qualified_name}> [backend="{self.backend}"]\n'
            f"    - I/O fields: {self.field_info}\n"
            f"    - Parameters: {self.parameter_info}\n"
            f"    - Constants: {dict(self.constants)}\n"
            f"    - Version: {self._gt_id_}\n"
            f"    - Definition ({self.definition_func}):\n{self.source}"
        )

    def __repr__(self) -> str:
        return f"<StencilObject {self._made.options.qualified_name} ({self.backend})>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(self._gt_id_)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"A stencil is immutable: '{name}' cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A stencil is immutable: '{name}' cannot be deleted.")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from .pickling import PickledStencil  # most processes pickle nothing

        made = self._made
        own = PickledStencil.of(self.definition_func, made.definition, made.backend, made.options)
        return made.restore, (own,)

    # --- calls ------------------------------------------------------------------------------------

    def freeze(
        self, *, origin: dict[str, tuple[int, ...]], domain: tuple[int, ...]
    ) -> FrozenStencil:
        """Return the stencil with an origin for each field and a domain, for calls by name."""
        return FrozenStencil(self, origin, domain)

    def clean_call_args_cache(self) -> None:
        """Forget nothing: every call checks its arguments."""

    def _call_in_python(self, /, *args: Any, **kwargs: Any) -> None:
        """Make a call that the native core has left: find a way, or say what is wrong."""
        if kwargs.get("exec_info") is not None and is_placed(kwargs, self._made.fields):
            self._timed(args, **kwargs)
            return
        options = {name: kwargs.pop(name, None) for name in ("domain", "origin", "exec_info")}
        is_checked = kwargs.pop("validate_args", True)
        name, made = type(self).__name__, self._made
        times = CallTimes.begin(options["exec_info"], name, made)
        call = made.given(made.bound(name, args, kwargs))
        if is_checked:
            check_fields(call.fields, made.fields)
        origins = origins_of(options["origin"], call.fields, made.fields)
        domain = domain_of(options["domain"], call.fields, made.fields, origins)
        if is_checked:
            self._check(call, domain, origins)
        times.ready(domain, origins)
        self._run(call, origins, domain, times)
        times.end()

    def _timed(
        self, args: tuple[Any, ...], *, origin: Any, domain: Any, exec_info: Any, **kwargs: Any
    ) -> None:
        """Make a call whose origins and domain are given, natively if it can be, and time it."""
        fields = self._made.fields
        times = CallTimes.begin(exec_info, type(self).__name__, self._made)
        origins = origins_of(origin, {}, fields)
        times.ready(domain_of(domain, {}, fields, origins), origins)
        with times.of_run():
            self(*args, origin=origin, domain=domain, **kwargs)
        times.end()

    def _check(self, call: GivenCall, domain: tuple[int, ...], origins: Origins) -> None:
        made = self._made
        name = made.options.name
        check_domain(name, domain, call.fields, made.fields, origins, made.domain)
        if made.recommends_layouts:
            preset = made.backend.storage_info
            warn_of_layouts(call.fields, made.fields, preset, self._is_new_layout)
        check_origins(made.fields, origins)
        check_numbers(call.numbers, made.numbers)
        check_intervals(made.info.in_order, call.numbers, domain[-1])

    def _is_new_layout(self, name: str) -> bool:
        """Tell whether nobody was warned of the layout of a field; it is accepted from now on."""
        known = self._made.accepted
        if name in known:
            return False
        known.add(name)
        self.accept_layout(name)
        return True

    def _run_in_python(
        self,
        /,
        _domain_: Any = None,
        _origin_: Any = None,
        exec_info: dict[str, Any] | None = None,
        **values: Any,
    ) -> None:
        """Run with domain and origins as they are given; the program itself refuses to overrun."""
        made = self._made
        for name in (*made.fields, *made.numbers):
            if name not in values:
                raise TypeError(f"{type(self).__name__}.run() misses the argument '{name}'.")
        call = made.given(values)
        origins = origins_of(_origin_, {}, made.fields)
        domain = domain_of(_domain_, call.fields, made.fields, origins)
        self._run(call, origins, domain, CallTimes.begin(exec_info, "", made))

    def _run(
        self, call: GivenCall, origins: Origins, domain: tuple[int, ...], times: CallTimes
    ) -> None:
        with times.of_run():
            self._made.run(call, origins, domain)
            if self._made.waits:
                self._wait()

    def _wait(self) -> None:
        """Wait for the GPU that the stencil runs on."""
        from ...runtime import gpu

        gpu.current_device().sync()

    # --- what programs of fieldforge have ---------------------------------------------------------

    def __entry_arguments__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name as those of the program: fields, then sizes."""
        made, own = self._made, dict(given)
        options = {name: own.pop(name, None) for name in ("domain", "origin")}
        call = made.given(made.bound(type(self).__name__, (), own))
        check_fields(call.fields, made.fields)
        origins = origins_of(options["origin"], call.fields, made.fields)
        domain = domain_of(options["domain"], call.fields, made.fields, origins)
        self._check(call, domain, origins)
        found = made.program_arguments(call, origins, domain)
        return dict(zip(made.program.parameters, found, strict=True))

    def checked(self, **given: Any) -> None:
        """Make a call by name with checks: it raises `CheckError` rather than write NaN or inf."""
        self.program.checked(**self.__entry_arguments__(given))

    def capture(self, *, path: Any = None, **given: Any) -> Any:
        """Make a call by name and write a capsule of it, one file that replays it elsewhere."""
        return self.program.capture(path=path, **self.__entry_arguments__(given))

    # --- orchestration by DaCe, in whose place fieldforge records calls ---------------------------

    def __sdfg__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to be part of a program of DaCe."""
        raise TypeError(
            "Only dace backends are supported in DaCe-orchestrated programs. "
            f'(found "{self.backend}")'
        )

    __sdfg_signature__ = __sdfg__
    __sdfg_closure__ = __sdfg__


def class_of(parts: StencilParts, name: str, digest: str, doc: str) -> type[StencilObject]:
    """Return the class of one build."""
    body = {
        "__doc__": doc or StencilObject.__doc__,
        "__module__": f"_GT_.{parts.options.qualified_name}",
        "__signature__": parts.signature,
        "_gt_id_": digest,
        "_made": parts,
        "definition_func": staticmethod(parts.program.definition),
    }
    return type(name, (StencilObject,), body)
