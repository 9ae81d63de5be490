"""`NativeEntry`: a decorated function that the core calls while that is all there is to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self
from weakref import WeakSet

from ...runtime import _core
from ...runtime.calls import observation
from ...runtime.calls.refusals import reject
from ...runtime.process import settings
from .calls import Calls, is_native
from .entry_point import EntryPoint, Made
from .pickling import reduced
from .variant_table import Variants


class NativeEntry(EntryPoint, _core.Program):
    """A function that is called through the native core, which asks for a variant if none fits.

    Where a call takes more than that, the instance is one of a class with a `__call__` of its own,
    and it can become one and cease to be: when calls are watched.
    """

    _calls: Calls
    _is_plain: bool
    _natively: ClassVar[type[NativeEntry]]
    _by_python: ClassVar[type[NativeEntry]]
    _otherwise: ClassVar[Any] = None  # calls without some of the parameters

    @classmethod
    def _entry(cls, made: Made, parameters: tuple[str, ...]) -> Self:
        """Make an instance that takes these parameters."""
        held: list[Self] = []  # the core wants its callbacks before there is an object
        otherwise: Callable[..., Any] | None = cls._otherwise
        self = _core.Program.__new__(
            cls,
            made.definition.name,
            parameters,
            lambda *given: held[0]._missed(*given),  # noqa: PLW0108  (not there yet)
            reject,
            otherwise and (lambda *args, **kwargs: otherwise(held[0], *args, **kwargs)),
        )
        held.append(self)
        self._wear(made)
        variants = self._new_variants(parameters)
        self._sets = (variants,)
        self._is_plain = not made.bound and is_native(made.backend)
        # the core calls an instance with all arguments, but bound ones are not given again
        self._calls = Calls(self.__name__, variants, self if self._is_plain else None, self._guard)
        self._settle()
        if self._is_plain:
            _plain.add(self)
        return self

    def _new_variants(self, parameters: tuple[str, ...], **more: Any) -> Variants:
        options = self._made.options
        return Variants(
            self._current,
            self._made.backend,
            options.enable_jit,
            parameters,
            static=options.static_params or (),
            static_domains=options.static_domains,
            build_budget=options.build_budget,
            **more,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self)

    def __copy__(self) -> Self:
        return self  # nobody can change it

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    @classmethod
    def _made_by(cls) -> type[EntryPoint]:
        return cls._natively

    def _missed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._renew()
        self._sets[0].on_miss(args, kwargs)
        self.watch(self._watched().triples(), self._renew)

    def _settle(self) -> None:
        """Be called natively if that is all there is to do."""
        fast = self._is_plain and not observation.active() and not self._is_checked
        self.__class__ = self._natively if fast else self._by_python


_plain: WeakSet[NativeEntry] = WeakSet()


def _settle_all(_: bool) -> None:
    for each in tuple(_plain):
        each._settle()


def _prepared_as_well(_: bool = True) -> None:
    """Let bound and recorded calls go the ordinary way while programs do more than run."""
    _core.set_observed(observation.active() or bool(settings.current().check))


def _settings_changed() -> None:
    _settle_all(True)
    _prepared_as_well()


observation.subscribe(_settle_all)
observation.subscribe(_prepared_as_well)
settings.on_change(_settings_changed)
