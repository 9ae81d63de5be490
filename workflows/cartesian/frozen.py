"""`FrozenStencil`: a stencil with origins and domain, which calls do not repeat."""

from __future__ import annotations

from typing import Any

from ...runtime.process import classes
from .timing import CallTimes


@classes.frozen(eq=False)
class FrozenStencil:
    """A stencil with an origin for each field and a domain; calls give the arguments by name.

    >>> import numpy as np
    >>> from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval, stencil
    >>> @stencil(backend="numpy")
    ... def rise(a: Field[float], b: Field[float]):
    ...     with computation(PARALLEL), interval(...):
    ...         b = a[1, 0, 0] - a
    >>> frozen = rise.freeze(origin={"a": (0, 0, 0), "b": (0, 0, 0)}, domain=(2, 1, 1))
    >>> a, b = np.arange(3.0).reshape(3, 1, 1), np.zeros((2, 1, 1))
    >>> frozen(a=a, b=b)
    >>> b.ravel().tolist()
    [1.0, 1.0]
    """

    stencil_object: Any  # the stencil, whose module imports this one
    origin: dict[str, tuple[int, ...]]
    domain: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        for name, info in self.stencil_object.field_info.items():
            own = self.origin.get(name)
            if own is None or len(own) != info.ndim:
                raise ValueError(
                    f"'{name}' origin {own} is not a {info.ndim}-dimensional integer tuple"
                )

    def __call__(self, **kwargs: Any) -> None:
        """Run with these arguments; nothing but the memory of the arrays is checked."""
        stencil, info = self.stencil_object, kwargs.get("exec_info")
        if info is None:
            stencil.run(_domain_=self.domain, _origin_=self.origin, **kwargs)
            return
        with CallTimes.begin(info, "", stencil._made).of_frozen(self.domain, self.origin):
            stencil.run(_domain_=self.domain, _origin_=self.origin, **kwargs)

    def __sdfg__(self, *_: Any, **__: Any) -> Any:
        """Refuse to be part of a program of DaCe."""
        return self.stencil_object.__sdfg__()

    __sdfg_signature__ = __sdfg__
    __sdfg_closure__ = __sdfg__
