"""Pickle decorated functions: by the name under which they are imported, never by their code.

A pickle holds the module and qualified name of the function, a digest of its definition, and the
choices since its decoration: backend, options, grid, bound arguments, cuts of `split`. Another
process imports the module and makes the same choices; a definition that has changed there is an
error.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Final

from ...cache.fingerprint import components_key
from ...runtime.language import Definition, Kind, ScanOptions
from ...runtime.language.capture import capture
from ...runtime.language.generics import instances
from ...runtime.process import FieldforgeError, classes
from ...stages.parse.key import components
from ..backends.backend import Backend
from ..derivatives.derivative import Derived, derived_definition
from .cut_definition import Cutting, Repeated, cut_definition
from .decorated import CompilationOptions, Made
from .entry_point import EntryPoint
from .rebinding import watch

_SCRIPTS: Final = ("__main__", "__mp_main__")


class NotImportableError(FieldforgeError, pickle.PicklingError):
    """A program or operator has no name by which another process could import it."""


class OtherDefinitionError(FieldforgeError, pickle.UnpicklingError):
    """The name of a pickled program has another definition here, or none."""


@classes.frozen
class Pickled:
    """The content of a pickled program or operator; `made_by` is the class of the object."""

    module: str
    name: str
    digest: str
    made_by: type[EntryPoint]
    kind: Kind
    backend: Backend | None
    options: CompilationOptions
    grid_type: str | None
    scan: ScanOptions | None
    bound: tuple[tuple[str, Any], ...]
    sizes: frozenset[str] = frozenset()
    cut: tuple[Repeated, ...] | None = None
    derived: Derived | None = None


def reduced(entry: EntryPoint) -> tuple[Any, ...]:
    """Return the result of `__reduce__`; without an importable name it is an error."""
    definition, made = entry._current(), entry._made
    cut, origin = made.cut, entry.__definition__.origin
    function = cut.function if cut else origin.function if origin else entry.definition
    check_importable(
        entry.__module__,
        entry.__qualname__,
        lambda value: getattr(value, "__wrapped__", value) is function,
    )
    found = Pickled(
        module=entry.__module__,
        name=entry.__qualname__,
        digest=_digest(definition),
        made_by=type(entry),
        kind=definition.kind,
        backend=made.backend,
        options=made.options,
        grid_type=definition.grid_type,
        scan=definition.scan,
        bound=made.bound,
        sizes=made.sizes,
        cut=cut.wanted if cut else None,
        derived=made.derived,
    )
    return restored, (found,)


def restored(found: Pickled) -> Any:
    """Return the program or operator that a pickle describes; the imported one if it is equal."""
    value = imported(found.module, found.name)
    function = getattr(value, "__wrapped__", value)
    if not isinstance(function, FunctionType):
        reason = "there is no decorated function under this name"
        raise other_definition(found.module, found.name, reason)
    definition = capture(function, found.kind, scan=found.scan, grid_type=found.grid_type)
    cut = None
    if found.cut is not None:
        cut = Cutting(function, found.cut)
        definition = cut_definition(definition, found.cut)
    for stage in found.derived.stages if found.derived else ():
        definition = derived_definition(definition, stage)
    made = Made(
        definition=definition,
        watch=watch(definition),
        backend=found.backend,
        options=found.options,
        bound=found.bound,
        sizes=found.sizes,
        cut=cut,
        derived=found.derived,
    )
    entry = found.made_by._of(made)
    if _digest(entry._current()) != found.digest:
        reason = "its text, its annotations or a name that it reads has changed"
        raise other_definition(found.module, found.name, reason)
    known = getattr(value, "_made", None)
    is_same = (
        isinstance(value, found.made_by)
        and known is not None
        and not (found.bound or known.bound or cut or found.derived)
        and (known.definition.grid_type, known.backend) == (found.grid_type, found.backend)
        and known.options == found.options
    )
    return value if is_same else entry


def bound_again(
    program: Any, values: Mapping[str, Any], offset_provider: Mapping[str, Any] | None
) -> Any:
    """Return the program with fixed arguments that a pickle describes."""
    return program.bind(offset_provider=offset_provider, **values)


def check_importable(module: str, name: str, is_same: Callable[[Any], bool]) -> None:
    """Raise an error unless the right object can be imported by other processes under a name."""
    reason = ""
    if module in _SCRIPTS:
        reason = "it is defined in the script that runs, which other processes do not import"
    elif "<locals>" in name:
        reason = "it is defined inside a function"
    else:
        try:
            found = imported(module, name)
        except (ImportError, AttributeError):
            reason = "nothing can be imported under this name"
        else:
            if not is_same(found):
                reason = "something else is imported under this name"
    if reason:
        raise NotImportableError(
            f"'{module}.{name}' cannot be pickled: {reason}.",
            hints=["Define it at the top level of a module that every process can import."],
        )


def imported(module: str, name: str) -> Any:
    """Import an object by the name of its module and its qualified name."""
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def other_definition(module: str, name: str, reason: str) -> OtherDefinitionError:
    """Return the error for a name that does not mean here what was pickled."""
    return OtherDefinitionError(
        f"'{module}.{name}' is not what was pickled: {reason}.",
        hints=["Let all processes run the same version of the code."],
    )


def _digest(definition: Definition) -> str:
    """Digest the definition with all that it reaches; the same in every process."""
    parts = {
        f"{place}.{label}": part
        for place, each in enumerate(instances(definition))
        for label, part in components(each).items()
        if label != "python"
    }
    return components_key(parts)
