"""The tree of errors, worded for the person who wrote the stencil.

    FieldforgeError
      DSLError                     something in the source of an operator or program; has a place
        CallError                  an argument of a call, which has none: `ArgumentError`, ...
      OptionError ... and so on    something in the settings, on the machine, on disk

The error of a wrong argument is both a `DSLError` and a `TypeError` or `ValueError`.

Each error has one sentence as its `message`, and `hints` that say what to do. Errors can be
pickled with all their attributes, so that worker processes can raise them in their parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from .source import Span

if TYPE_CHECKING:  # a program without errors does not import the printing of errors
    from .excerpt import Related

LAST_LINES = 20
_STAGGERED: Final = r"\b_Staggered(\w+)"


class FieldforgeError(Exception):
    """The base of all errors of fieldforge."""

    def __init__(self, message: str, *, hint: str | None = None, hints: Iterable[str] = ()) -> None:
        message = in_words(message)
        super().__init__(message)
        self.message = message
        self.hints = tuple(map(in_words, (*([hint] if hint else []), *hints)))

    def __str__(self) -> str:
        return "\n".join([self.message, *_wrapped("Hint", self.hints)])

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and Jupyter show: the error and the user's own line."""
        from ..start.error_text import lines

        return lines(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__.copy())


def in_words(text: str) -> str:
    """Write staggered dimensions as 'I_staggered', not by their internal names."""
    return re.sub(_STAGGERED, r"\1_staggered", text)


def _restore(
    kind: type[FieldforgeError], args: tuple[Any, ...], state: Mapping[str, Any]
) -> FieldforgeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like `name`, if one is close.

    >>> nearest("gtnf_cpu", ["gtfn_cpu", "gtfn_gpu"])
    'gtfn_cpu'
    """
    import difflib

    found = difflib.get_close_matches(name, sorted(known), n=1)
    return found[0] if found else None


def _spelling(name: str) -> str:
    return name.lower().replace("_", "")


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the hint that names the known name that is spelled most like `name`, if one is."""
    found = nearest(name, known)
    return f"Did you mean '{found}'?" if found else None


def _meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, [did_you_mean(name, known)]))


def _wrapped(title: str, texts: Iterable[str]) -> list[str]:
    from .excerpt import wrapped

    return [wrapped(title, text) for text in texts]


def _as_related(given: Related | tuple[Span, str | None]) -> Related:
    from .excerpt import Related

    return given if isinstance(given, Related) else Related(*given)


# --- the source of an operator or program -----------------------------------------------------


class DSLError(FieldforgeError):
    """Something in the source of an operator or program is wrong, at `location`."""

    code: ClassVar[str | None] = None

    def __init__(
        self,
        location: Span | None,
        message: str,
        *,
        label: str | None = None,
        related: Iterable[Related | tuple[Span, str | None]] = (),
        notes: Iterable[str] = (),
        hints: Iterable[str] = (),
    ) -> None:
        super().__init__(message, hints=hints)
        self.location = location
        self.label = None if label is None else in_words(label)
        self.related = tuple(map(_as_related, related))
        self.notes = tuple(map(in_words, notes))

    def at(self, location: Span) -> Self:
        """Say where the error is, unless that is known; returns the error itself."""
        self.location = self.location or location
        return self

    def __str__(self) -> str:
        from .excerpt import excerpt

        lines = [self.message]
        if self.location is not None:
            lines.append(excerpt(self.location, self.label, self.related))
        lines += [*_wrapped("Note", self.notes), *_wrapped("Hint", self.hints)]
        return "\n".join(lines)


class UnsupportedPythonFeatureError(DSLError):
    """A piece of Python that the language does not have."""

    code = "unsupported-syntax"

    def __init__(self, location: Span | None, feature: str, **details: Any) -> None:
        details.setdefault(
            "notes", ("Only a subset of Python is valid inside operators and programs.",)
        )
        super().__init__(location, f"Unsupported Python syntax: '{feature}'.", **details)
        self.feature = feature


class UndefinedSymbolError(DSLError):
    """A name that is not defined where it is used."""

    code = "undefined-symbol"

    def __init__(
        self, location: Span | None, sym_name: str, candidates: Iterable[str] = (), **details: Any
    ) -> None:
        details["hints"] = (*_meant(sym_name, candidates), *details.get("hints", ()))
        super().__init__(location, f"Undefined symbol '{sym_name}'.", **details)
        self.sym_name = sym_name


class MissingAttributeError(DSLError):
    """An attribute that its object does not have."""

    def __init__(
        self,
        location: Span | None,
        attr_name: str,
        *,
        owner: str = "The object",
        candidates: Iterable[str] = (),
        **details: Any,
    ) -> None:
        details["hints"] = (*_meant(attr_name, candidates), *details.get("hints", ()))
        super().__init__(location, f"{owner} has no attribute '{attr_name}'.", **details)
        self.attr_name = attr_name


class MissingArgumentError(DSLError, TypeError):
    """An argument that a call needs and does not give."""

    def __init__(
        self, location: Span | None, arg_name: str, is_kwarg: bool, **details: Any
    ) -> None:
        kind = "keyword-argument" if is_kwarg else "argument"
        super().__init__(location, f"Expected {kind} '{arg_name}'.", **details)
        self.arg_name = arg_name
        self.is_kwarg = is_kwarg


class DSLTypeError(DSLError, TypeError):
    """The types of an expression, argument or annotation do not fit."""


class MissingParameterAnnotationError(DSLTypeError):
    """A parameter without a type."""

    def __init__(self, location: Span | None, param_name: str, **details: Any) -> None:
        super().__init__(location, f"Parameter '{param_name}' has no type annotation.", **details)
        self.param_name = param_name


class InvalidAnnotationError(DSLTypeError):
    """An annotation that is not a type of the language."""

    code = "invalid-annotation"

    def __init__(self, location: Span | None, annotation: str, **details: Any) -> None:
        super().__init__(location, f"Invalid type annotation '{annotation}'.", **details)
        self.annotation = annotation


class InvalidParameterAnnotationError(DSLTypeError):
    """A parameter of a type that no argument can have."""

    def __init__(
        self, location: Span | None, param_name: str, annotated_type: object, **details: Any
    ) -> None:
        super().__init__(
            location,
            f"Parameter '{param_name}' must be annotated with a scalar, a field or a tuple of "
            f"them, got '{annotated_type}'.",
            **details,
        )
        self.param_name = param_name


class CheckError(DSLError, FloatingPointError):
    """A checked program was about to write a number that is not finite.

    Attributes:
        operator: the operator where the number arose.
        index: where in the output it is, as {dimension: index}.
        value: the number.

    """

    def __init__(
        self,
        location: Span | None,
        message: str,
        operator: str,
        index: Mapping[Any, int],
        value: float,
    ) -> None:
        super().__init__(location, message)
        self.operator = operator
        self.index = dict(index)
        self.value = value


# --- a call and its arguments -----------------------------------------------------------------


class CallError(DSLError):
    """An argument does not fit; without a `location`, because the place is the user's own call."""

    def __init__(self, message: str, *, hint: str | None = None, hints: Iterable[str] = ()) -> None:
        super().__init__(None, message, hints=(*([hint] if hint else []), *hints))


class ArgumentError(CallError, TypeError):
    """An argument of a call has the wrong type, dtype or dimensions, or is one too many."""


class DomainError(CallError, ValueError, IndexError):
    """A domain does not fit: an input too small, an output not covered, a dimension missing."""


class ReadOnlyError(CallError, ValueError):
    """An output is read-only."""


class OverlapError(CallError, ValueError):
    """Two outputs of one call share memory."""


class DeviceError(CallError, ValueError):
    """Memory lies on the wrong device, or the device does not exist."""


class EmbeddedExecutionError(FieldforgeError):
    """An operation on fields that embedded execution cannot do."""


class MissingOffsetError(EmbeddedExecutionError, CallError, KeyError):
    """A neighbour table that the offset provider of a call does not have."""

    @classmethod
    def of(cls, name: str, given: object) -> Self:
        """Return the error for the table `name`, where `given` is the provider, or its names.

        Only a name that is spelled alike is a misspelling: 'E2C' and 'C2E2C' are two tables.
        """
        names = sorted(map(str, given)) if isinstance(given, Iterable) else []
        alike = [each for each in names if _spelling(each) == _spelling(name)]
        there = f", beside {', '.join(map(repr, names))}" if names else ""
        return cls(
            f"Offset '{name}' not found in offset provider.",
            hint=f"Did you mean '{alike[0]}'?" if alike else
            f"Pass 'offset_provider={{\"{name}\": ...}}'{there}, with a table made by "
            f"'as_connectivity'; of a mesh pass 'mesh.connectivities({name})'.",
        )  # fmt: skip


class IndexOutOfBounds(EmbeddedExecutionError, DomainError):  # noqa: N818 - a name of the language
    """An index outside the domain of a field; nothing is ever clipped."""


class NonContiguousDomain(EmbeddedExecutionError, DomainError):  # noqa: N818 - the same
    """A result that would live on a domain with holes."""


class DerivativeError(FieldforgeError, ValueError):
    """A derivative that does not exist, or that is not there yet."""

    @classmethod
    def of(cls, operation: str) -> Self:
        """Return the error for an operation whose derivative is not there yet."""
        return cls(
            f"The derivative of '{operation}' is not there yet.",
            hints=[f"Compute '{operation}' outside, and pass its result as a field."],
        )


# --- options, tools, files --------------------------------------------------------------------


class OptionError(FieldforgeError, ValueError):
    r"""An unknown option, backend or setting, or an invalid value of one.

    >>> str(OptionError("Unknown backend 'gup'.", name="gup", known=["cpu", "gpu"]))
    "Unknown backend 'gup'.\nHint: Did you mean 'gpu'? Known are 'cpu', 'gpu'."
    """

    def __init__(
        self,
        message: str,
        *,
        name: str = "",
        known: Iterable[str] = (),
        hints: Iterable[str] = (),
    ) -> None:
        known = sorted(known)
        listing = f"Known are {', '.join(map(repr, known))}." if known else ""
        hint = " ".join((*_meant(name, known), listing)).strip()
        super().__init__(message, hints=(*([hint] if hint else []), *hints))


class NotCompilableError(OptionError, RuntimeError):
    """There is nothing to compile: the program runs embedded."""


class CodegenError(FieldforgeError):
    """A backend cannot write code for this program."""


class CompilerNotFoundError(FieldforgeError):
    """No C++ compiler was found."""


class MissingPackageError(FieldforgeError, ImportError):
    """A package that an optional feature needs is not installed."""


class DaceNotFoundError(FieldforgeError):
    """The backend `dace_cpu` found no usable DaCe."""


class CompilationError(FieldforgeError):
    """A compiler was run and failed; holds its command, exit code and log."""

    def __init__(
        self,
        message: str,
        *,
        command: Sequence[str] = (),
        exit_code: int | None = None,
        log: str = "",
        log_path: str | None = None,
        hints: Iterable[str] = (),
    ) -> None:
        super().__init__(message, hints=hints)
        self.command = tuple(command)
        self.exit_code = exit_code
        self.log = log
        self.log_path = log_path

    def __str__(self) -> str:
        lines = [self.message]
        if self.command:
            lines.append(f"  Command: {' '.join(self.command)}")
        if self.exit_code is not None:
            lines.append(f"  Exit code: {self.exit_code}")
        log = self.log.rstrip().splitlines()
        if log:
            cut = f" (last {LAST_LINES} of {len(log)} lines)" if len(log) > LAST_LINES else ""
            lines += [f"  Log{cut}:", *(f"    {line}" for line in log[-LAST_LINES:])]
        if self.log_path:
            lines.append(f"  Full log: {self.log_path}")
        return "\n".join([*lines, *_wrapped("Hint", self.hints)])


class LibraryError(FieldforgeError):
    """A compiled library is incomplete, cannot be written or loaded, or lacks its entry point."""


class StoreError(FieldforgeError):
    """The store of stage results could not do its work."""


class StoreReadError(StoreError):
    """An entry of the store is damaged or cannot be read."""


class StoreWriteError(StoreError):
    """An entry could not be written: the disk is full, or the folder went away."""


class StorePermissionError(StoreError):
    """The folder of the store may not be read or written by this user."""


class WorkflowError(FieldforgeError):
    """Stages that do not fit together, or a stage that does not exist."""


class InputDataError(FieldforgeError, ValueError):
    """An input file has the wrong content."""
