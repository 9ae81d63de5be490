"""`NativeEntry`: a decorated function whose calls go to the native core where they can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self
from weakref import WeakSet

from ...runtime import _core
from ...runtime.calls import observation
from ...runtime.calls.on_reject import reject
from ...runtime.process import settings
from ..variants.builds import Variants
from ..variants.call_shape import CallShape
from .calls import Calls, is_native, make_calls
from .decorated import Made
from .entry_point import EntryPoint, captured_names


class NativeEntry(EntryPoint, _core.Program):
    """A function that the native core calls; the core asks for a variant if none fits.

    Calls that need a Python step go through `_call_in_python`: embedded execution, Python
    functions, bound arguments, hooks, metrics and checks. `_choose_call_path` routes the calls
    when one of these begins or ends.
    """

    _calls: Calls
    _is_plain: bool
    _is_callable_natively: ClassVar[bool] = True
    _needs_last_by_name: ClassVar[bool] = False  # other calls go to `_call_in_python`

    @classmethod
    def _entry(cls, made: Made, parameters: tuple[str, ...]) -> Self:
        """Make an instance that takes these parameters."""
        held: list[Self] = []  # the core takes its callbacks before the object exists
        otherwise: Callable[..., Any] | None = None
        if cls._needs_last_by_name:
            otherwise = lambda *args, **kwargs: held[0]._call_in_python(*args, **kwargs)  # noqa: E731, PLW0108
        self = _core.Program.__new__(
            cls,
            made.definition.name,
            parameters,
            lambda *given: held[0]._missed(*given),  # noqa: PLW0108  (does not exist yet)
            reject,
            otherwise,
        )
        held.append(self)
        self._wear(made)
        self._is_plain = cls._is_callable_natively and not made.bound and is_native(made.backend)
        # with bound arguments, another native program takes all arguments
        self._calls = make_calls(
            self.__name__, self._shape(parameters), made.backend, made.options, self._guard,
            self if self._is_plain else None,
        )  # fmt: skip
        self._choose_call_path()
        if self._is_plain:
            _plain.add(self)
        return self

    def _shape(self, parameters: tuple[str, ...], **more: Any) -> CallShape:
        options = self._made.options
        more.setdefault("static", options.static_params or ())
        made = CallShape(self._current, parameters, static_domains=options.static_domains, **more)
        made.checked = self._made.checked
        return made

    @property
    def _variants(self) -> Variants:
        return self._calls.variants

    def _call_in_python(self, *args: Any, **kwargs: Any) -> Any:
        """Make a call that needs a Python step."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        from .pickling import reduced  # most processes pickle nothing

        return reduced(self)

    def __copy__(self) -> Self:
        return self  # it is immutable

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def _missed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Add the variant that a native call needs."""
        self._renew()
        self._variants.on_miss(args, kwargs)
        self._guard(self)

    @property
    def _is_ordinary(self) -> bool:
        """Whether the settings ask for neither checks nor a capsule of the next call."""
        wanted = settings.current()
        if not (wanted.check or wanted.capture):
            return True
        return not (self._is_checked or self._is_captured)

    def _capture_first(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Make the call that the settings want in a capsule."""
        from .capturing import capture_call

        captured_names.add(self.__name__)  # before the call is made, which would come here again
        try:
            capture_call(self, args, kwargs, f"{self.__name__}.capsule")
        finally:
            self._choose_call_path()

    def _choose_call_path(self) -> None:
        """Call natively if no call needs a Python step, else in Python."""
        fast = self._is_plain and not observation.active() and self._is_ordinary
        self.route(None if fast else self._call_in_python)


_plain: WeakSet[NativeEntry] = WeakSet()


def _choose_all_call_paths(_: bool = True) -> None:
    for each in tuple(_plain):
        each._choose_call_path()


def _choose_prepared_path(_: bool = True) -> None:
    """Send bound and recorded calls through Python while hooks, metrics or checks are active."""
    wanted = settings.current()
    _core.set_observed(observation.active() or bool(wanted.check or wanted.capture))


def _settings_changed() -> None:
    _choose_all_call_paths()
    _choose_prepared_path()


observation.subscribe(_choose_all_call_paths)
observation.subscribe(_choose_prepared_path)
settings.on_change(_settings_changed)
