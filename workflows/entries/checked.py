"""Checked calls: run the program with checks compiled in; a failed call writes nothing.

A checked call saves the outputs and restores them if it fails. It then runs once more embedded,
with every operation recorded, to find the operator, the line and the operands. Checks therefore
cost little while they pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

import numpy as np

from ...runtime.calls.program_errors import NotFiniteError, ReadBeyondError
from ...runtime.embedded import invalid_values, provenance
from ...runtime.fields import Field, context
from ...runtime.language import Definition, leaves_of
from ...runtime.process import CheckError, CompilerNotFoundError, DeviceType, classes
from ...stages.ir import syntax
from ..backends.backend import Backend
from ..builds.building import OUT, parsed
from .calls import is_native

Array: TypeAlias = np.ndarray[Any, Any]
OutputPath: TypeAlias = tuple[str, tuple[int, ...]]  # a parameter, and a path inside
OPTION: Final = "codegen.checked"


def with_checks(backend: Backend | None) -> Backend | None:
    """Return the backend with checks compiled in, None if it has none."""
    if backend is None or not is_native(backend) or OPTION not in backend.options:
        return None
    return backend.with_options(checked=True)


def written_by(definition: Definition) -> tuple[OutputPath, ...]:
    """Return the leaves that a call writes: the output of an operator, the outputs of a program."""
    own = getattr(definition, "written", None)
    if own is not None:  # a stencil knows them
        return tuple((name, ()) for name in own)
    root = parsed(definition).root
    if not isinstance(root, syntax.Program):
        return ((OUT, ()),)
    outputs = (output for call in root.body for output in call.outputs)
    return tuple(dict.fromkeys((each.parameter, each.path) for each in outputs))


@classes.frozen(eq=False)
class Kept:
    """A written field and its values before the call."""

    field: Field
    before: Array

    def put_back(self) -> None:
        """Restore the values."""
        self.field.ndarray[...] = self.before


def _is_on_host(kept: Kept) -> bool:
    return kept.field.device_type == DeviceType.CPU


@classes.frozen(eq=False)
class Checks:
    """Makes checked calls: `compiled` has checks compiled in, or is None; `embedded` explains.

    `watch` looks at the arguments first; it may write to the outputs. `spare` is memory for saved
    outputs, reused by the next call.
    """

    compiled: Callable[..., Any] | None
    embedded: Callable[..., Any]
    written: tuple[OutputPath, ...]
    watch: Callable[[Mapping[str, Any]], None] | None = None
    spare: dict[Any, list[Array]] = classes.field(factory=dict, init=False)

    def run(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], given: Mapping[str, Any]
    ) -> None:
        """Make a call with `args` and `kwargs`; `given` are all arguments by name."""
        refused = None
        with self._kept(given) as kept, self._inputs_named(given):
            if self.watch is not None:
                self.watch(given)
                for each in kept:
                    each.put_back()
            if self.compiled is not None and not context.active():
                try:
                    self.compiled(*args, **{**kwargs, "enable_jit": None})
                    return
                except NotFiniteError as error:
                    refused = _refused(error, given, kept)
                except (CompilerNotFoundError, ReadBeyondError):
                    pass  # embedded execution needs no compiler, and knows which values exist
                for each in kept:
                    each.put_back()
                if refused is not None and not all(map(_is_on_host, kept)):
                    raise refused  # embedded execution, which would explain it, has NumPy
            self._run_embedded(args, kwargs, given)
            if refused is not None:  # compiled and embedded results may differ by rounding
                raise refused

    def _run_embedded(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], given: Mapping[str, Any]
    ) -> None:
        with provenance.checked(_leaves(given)), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Program .* runs embedded")
            self.embedded(*args, **kwargs)

    @contextmanager
    def _inputs_named(self, given: Mapping[str, Any]) -> Iterator[None]:
        """Say first which input was not finite before the call, unless an error does."""
        try:
            yield
        except CheckError as error:
            written = {name for name, _ in self.written}
            inputs = _leaves({name: each for name, each in given.items() if name not in written})
            told = invalid_values.first_bad_input({k: v for k, v in inputs.items() if _is_near(v)})
            if told is not None and "it comes from argument" not in error.message:
                error.message = f"{told} {error.message}"
            raise

    @contextmanager
    def _kept(self, given: Mapping[str, Any]) -> Iterator[list[Kept]]:
        """Save the outputs, and restore them if the block fails."""
        kept = [Kept(field, self._copy(field.ndarray)) for field in self._outputs(given)]
        try:
            yield kept
        except BaseException:
            for each in kept:
                each.put_back()
            raise
        finally:
            for each in kept:
                self.spare[_layout(each.before)].append(each.before)

    def _outputs(self, given: Mapping[str, Any]) -> list[Field]:
        """Return the fields that a call writes, each once; the call itself refuses other values."""
        found = {}
        for name, start in self.written:
            for path, leaf in leaves_of(given.get(name)):
                if path[: len(start)] == start and _is_writable(leaf):
                    found[id(leaf)] = leaf
        return list(found.values())

    def _copy(self, array: Array) -> Array:
        """Copy to spare memory of this shape and order, or to new memory."""
        model = np.empty_like(array, order="K")
        with suppress(IndexError):  # all of it is in use, maybe by other threads
            model = self.spare.setdefault(_layout(model), []).pop()
        np.copyto(model, array)
        return model


def _leaves(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields and numbers of arguments by name: 'pair[0]' is a part of 'pair'."""
    return {
        name + "".join(f"[{step}]" for step in path): leaf
        for name, value in given.items()
        for path, leaf in leaves_of(value)
    }


def _is_near(leaf: Any) -> bool:
    """Tell whether a leaf is a number, or a field that NumPy reads."""
    return not isinstance(leaf, Field) or isinstance(leaf.ndarray, np.ndarray)


def _layout(array: Array) -> Hashable:
    return array.dtype, array.shape, array.strides


def _is_writable(leaf: Any) -> bool:
    """Tell whether a leaf is a field on the CPU that may be written."""
    array = leaf.ndarray if isinstance(leaf, Field) else None
    return isinstance(array, np.ndarray) and array.flags.writeable


def _refused(error: NotFiniteError, given: Mapping[str, Any], kept: Iterable[Kept]) -> CheckError:
    """Return the error that compiled code can give: the output, and the first changed index."""
    name, *steps = error.output.split(".")
    field = dict(leaves_of(given.get(name))).get(tuple(map(int, steps)))
    before = next((each.before for each in kept if each.field is field), None)
    return invalid_values.refused(error.program, error.output, field, before)
