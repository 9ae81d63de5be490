"""`EntryPoint`: the base of programs and operators: limited, checked and captured calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from ...runtime.calls.call_limits import Limited, as_workspace, checked_count
from ...runtime.language import Definition
from ...runtime.process import DerivativeError, classes, current
from ..backends.backend import Backend
from ..variants.call_shape import CallShape
from .compilable import Compilable
from .decorated import parameter_names
from .noting import note, paused

if TYPE_CHECKING:  # imported by the methods that need them, see decision 0005
    from ...runtime.calls.streams import OnStream
    from .checked import Checks

captured_names: Final[set[str]] = set()  # programs whose first call is captured, see `Settings`


class EntryPoint(Compilable):
    """A program or operator: a decorated function that can be called, compiled and inspected."""

    _checks: Checks | None = None

    def with_threads(self, count: int) -> Limited:
        """Limit the threads of a call: `program.with_threads(1)(...)`; variants are shared."""
        return Limited(self, checked_count(count))

    def with_workspace(self, buffer: Any) -> Limited:
        """Use the caller's memory for temporaries; see `workspace_size`. Variants are shared."""
        return Limited(self, 0, as_workspace(buffer))

    def with_stream(self, stream: Any) -> OnStream:
        """Queue the kernels of calls on a stream: ours, of CuPy, torch or cuda.core, an address."""
        from ...runtime.calls.streams import OnStream

        return OnStream(self, stream)

    # --- checked calls ----------------------------------------------------------------------------

    def checked(self, *args: Any, **kwargs: Any) -> None:
        """Make a call with checks: it raises `CheckError` rather than write an invalid number.

        The arguments are those of a call. The `CheckError` names the operator and line where the
        number arose, its index and value. The call also checks ranges, missing neighbours and
        overlapping outputs. Backend 'cpu' compiles the checks in, which takes one more build;
        other programs run embedded. `FIELDFORGE_CHECK` names programs whose calls are all checked.
        """
        self._check_original("Checked calls")
        bound = dict(self._made.bound)
        names = [name for name in parameter_names(self.definition) if name not in bound]
        self._check_call(args, kwargs, {**dict(zip(names, args, strict=False)), **bound, **kwargs})

    def _check_call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], given: Mapping[str, Any]
    ) -> None:
        """Make a call with checks; `given` are all arguments by name."""
        if self._checks is None:
            from .checked import Checks, with_checks, written_by

            backend = with_checks(self.backend)
            compiled: Any = None if backend is None else self._with_checks(backend)
            plain: Any = self.with_backend(None)
            written = written_by(self._current())
            self._checks = Checks(compiled, plain, written, self._argument_watch())
        note(self.checked, args, kwargs)
        with paused():
            self._checks.run(args, kwargs, given)

    def _argument_watch(self) -> Callable[[Mapping[str, Any]], None] | None:
        """Return what looks at the arguments of a checked call first, if anything does."""
        return None

    def _with_checks(self, backend: Backend) -> Self:
        """Return the same function with a backend that compiles checks in.

        A checked call may build even where `enable_jit` is off.
        """
        static = self._variants.shape.static or None
        options = classes.evolve(self._made.options, enable_jit=True, static_params=static)
        return self._changed(backend=backend, options=options, has_checks=True)

    @property
    def _is_checked(self) -> bool:
        """Whether the settings ask for checked calls, and this is not such a call already."""
        wanted = current().check
        if self.__name__ not in wanted or self._made.has_checks:
            return False
        from ...runtime.embedded import provenance  # most processes check nothing

        return not provenance.is_checking()

    # --- capsules ---------------------------------------------------------------------------------

    def capture(
        self,
        *args: Any,
        path: str | Path | None = None,
        seed: int | None = None,
        offset_provider: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Path:
        """Make a call and write a capsule of it: one file that replays the call elsewhere.

        It holds the parsed program, source, closure values, arguments, options, key components and
        results, and nothing that is executed when it is read. A call that raises is captured too.
        `fieldforge replay FILE` runs it, `fieldforge bisect FILE` finds where two backends part.

        Args:
            args: the arguments of the call, with `kwargs`.
            path: the file; the default is the name of the program with '.capsule'.
            seed: keep statistics of fields instead of their values, and the results for numbers
                drawn from them with this seed; the call itself is then not made.
            offset_provider: the neighbour tables of the call.
            kwargs: arguments by name, `out` and `domain` of an operator among them.

        Raises:
            CapsuleError: for an argument that no capsule can hold.

        """
        self._check_original("Capsules")
        from .capturing import capture_call

        given = {**kwargs, "offset_provider": offset_provider}
        return capture_call(self, args, given, path or f"{self.__name__}.capsule", seed)

    def _call_of(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Definition, CallShape, tuple[Any, ...], Mapping[str, Any]]:
        """Return the function that a call runs, its shape, and all arguments."""
        given = {**dict(self._made.bound), **kwargs}
        return self._current(), self._variants.shape, args, given

    def _check_original(self, what: str) -> None:
        """Refuse what derivatives do not have yet."""
        if self._made.derived is not None:
            raise DerivativeError(
                f"{what} of derivatives are not there yet: '{self.__name__}' is one.",
                hint="Take the program that it was made of.",
            )

    @property
    def _is_captured(self) -> bool:
        """Whether the settings ask for a capsule of the first call, and there is none yet."""
        wanted = current().capture
        return bool(wanted) and self.__name__ in wanted and self.__name__ not in captured_names


def entry_of(thing: Any) -> Any:
    """Return the program behind an object such as a stencil of GTScript; other objects as they are.

    Such an object has it as `__entry_point__`, and turns the arguments of its calls into those of
    the program by `__entry_arguments__`.
    """
    found = getattr(thing, "__entry_point__", None)
    return thing if found is None else found


def entry_arguments(thing: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call of an object as those of the program behind it."""
    convert = getattr(thing, "__entry_arguments__", None)
    found: Mapping[str, Any] = given if convert is None else convert(given)
    return found
