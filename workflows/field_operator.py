"""`FieldOperator`: a decorated operator, called with `out=` or inside other operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ..runtime import _core, embedded
from ..runtime.compiled import reject
from ..runtime.errors import MissingArgumentError
from ..runtime.types import FieldType, leaves
from .building import OUT, Variants, parameter_types, parsed
from .calls import call_python, domain_scalars, is_native
from .entry_point import EntryPoint, Made, parameter_names
from .variants import leaf_name


class FieldOperator(EntryPoint):
    """An operator on fields; as a call from Python it is a program of one statement."""

    def __init__(self, made: Made) -> None:
        own = (*parameter_names(made.definition.function), OUT)
        self._wear(made)
        self._sets = (self._variants(own),)
        self._whole = self._callable(self._sets[0])
        self._part: Any = None  # for calls with 'domain=', made by the first of them

    @classmethod
    def _of(cls, made: Made) -> Self:
        return cls(made)

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        domain: Any = None,
        offset_provider: Mapping[str, Any] | None = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Write the result to `out`, whole or on `domain`; inside embedded operators return it."""
        if out is None:
            if embedded.active():
                return embedded.call_operator(self.__definition__, args, kwargs)
            raise MissingArgumentError(
                None, OUT, True, hints=[f"Call it as '{self.__name__}(..., out=field)'."]
            )
        if self.backend is None or embedded.active():
            embedded.run_operator(
                self._current(),
                args,
                kwargs,
                out=out,
                domain=domain,
                offset_provider=offset_provider,
            )
        elif domain is None:
            self._whole(*args, out=out, enable_jit=enable_jit, **kwargs)
        else:
            scalars = domain_scalars(out, domain)
            self._on_part()(*args, out=out, enable_jit=enable_jit, **kwargs, **scalars)
        return None

    def _variants(self, parameters: tuple[str, ...]) -> Variants:
        made = self._made
        return Variants(self._current, made.backend, made.options.enable_jit, parameters)

    def _callable(self, variants: Variants) -> Any:
        if not is_native(self.backend):
            return _Called(variants)
        program = _core.Program(self.__name__, variants.parameters, variants.on_miss, reject)
        variants.add = program.add
        return program

    def _on_part(self) -> Any:
        if self._part is None:
            variants = self._variants((*self._sets[0].parameters, *self._bounds()))
            self._part = self._callable(variants)
            self._sets = (self._sets[0], variants)
        return self._part

    def _bounds(self) -> list[str]:
        """Name the scalars that hold the ends of a domain, in the order that `lower` gives them."""
        _, result = parameter_types(parsed(self._current()).root)[-1]
        return [
            f"domain.{leaf_name(OUT, path)}.{dim.value}.{end}"
            for path, leaf in leaves(result)
            if isinstance(leaf, FieldType)
            for dim in leaf.dims
            for end in ("start", "stop")
        ]


class _Called:
    """Stands for the native program where a backend gives Python functions."""

    def __init__(self, variants: Variants) -> None:
        self._variants = variants

    def __call__(self, *args: Any, enable_jit: bool | None = None, **kwargs: Any) -> None:
        call_python(self._variants, args, kwargs, enable_jit)
