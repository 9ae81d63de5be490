"""Compare derivatives of generated programs: `python -m tests.generated.derivatives 1000`.

Tangents and adjoints, as the interpreter runs them, are compared with the tape of embedded
execution. Fields hold finite numbers; where a program makes others of them, or numbers so large
that nothing can be compared, it counts as such. Rounding errors may be as large as those of the
terms of a derivative, which are larger than their sum where they cancel.
"""

import argparse
import inspect
import random
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.runtime.language.active_numbers import _Entry
from fieldforge.runtime.language.structure import leaves_of, map_leaves

from .building import define
from .case import Case
from .features import EVERY
from .fuzz import BATCH
from .memory import arguments_of, grouped
from .pieces import Draw
from .programs import program

LARGEST: Final = 1e30
SINGLE, DOUBLE = 2e-4, 1e-9


class Incomparable(Exception):
    """The numbers of a program cannot be compared; the text says why."""


def compare(case: Case, backend: Any = None) -> None:
    """Raise `AssertionError` where derivatives of a case differ."""
    names = define(case.text, case.unstructured)
    run, tables = names["program_under_test"], names.get("tables", {})
    rng = np.random.default_rng(case.seed)
    given = grouped(case, _finite(arguments_of(case), rng), names)
    try:
        derived = ff.adjoint(run), ff.tangent(run)
    except ff.errors.DerivativeError as error:
        raise Incomparable(str(error).partition(",")[0]) from None
    wrt, of = (getattr(derived[0]._made.derived.stages[0], name) for name in ("wrt", "of"))
    if not wrt or not of:
        raise Incomparable("nothing is active")
    tangents = {name: _like(given[name], rng) for name in wrt}
    adjoints = {name: _like(given[name], rng) for name in of}
    values, moved = ff.jvp(run, given, tangents, offset_provider=tables)
    for _, leaf in leaves_of(tuple(values[name] for name in of)):
        if not np.isfinite(leaf.asnumpy()).all():
            raise Incomparable("an output is not finite")
    _, pull = ff.vjp(run, given, offset_provider=tables)
    pulled = pull(adjoints)
    with _terms():
        _, moved_terms = ff.jvp(run, given, _sizes(tangents), offset_provider=tables)
        pulled_terms = pull(_sizes(adjoints))
    for program_, expected, terms, more in (
        (derived[1], moved, moved_terms, {name: tangents.get(name) for name in (*wrt, *of)}),
        (derived[0], pulled, pulled_terms, adjoints),
    ):
        found = _called(program_.with_backend(backend), given, more, tables)
        stage = program_._made.derived.stages[0]
        for name in of if stage.name == "tangent" else wrt:
            limit = SINGLE if "float32" in case.text else DOUBLE
            own = found[stage.names.format(name)], expected[name], terms[name]
            _equal(f"{stage.name} of '{name}'", *own, limit)


@contextmanager
def _terms() -> Iterator[None]:
    """Let tapes add the sizes of the terms of derivatives in the place of the terms."""
    pull = _Entry.pull
    with patch.object(_Entry, "pull", lambda entry, place, b: np.abs(pull(entry, place, b))):
        yield


def _sizes(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: map_leaves(lambda leaf: ff.as_field(leaf.domain, np.abs(leaf.asnumpy())), value)
        for name, value in values.items()
    }


def _finite(arguments: Mapping[str, Any], rng: Any) -> dict[str, Any]:
    """Return arguments with moderate numbers in the place of all floats."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, np.floating):
            found[name] = type(value)(rng.uniform(0.5, 2.0))
        elif hasattr(value, "domain") and value.dtype.dtype.kind == "f":
            numbers = rng.uniform(0.2, 2.0, value.shape) * rng.choice([1, 1, 1, -1], value.shape)
            found[name] = ff.as_field(value.domain, numbers.astype(value.dtype.dtype))
        else:
            found[name] = value
    return found


def _like(value: Any, rng: Any) -> Any:
    return map_leaves(
        lambda leaf: ff.as_field(leaf.domain, rng.normal(size=leaf.shape).astype(leaf.dtype.dtype)),
        value,
    )


def _called(
    run: Any, given: Mapping[str, Any], more: Mapping[str, Any], tables: Mapping[str, Any]
) -> dict[str, Any]:
    """Call a derivative with copies; adjoints that are only written are poisoned with NaN."""
    arguments = {}
    stage = run._made.derived.stages[0]
    partners = {stage.names.format(name): name for name in given}
    for name in inspect.signature(run.definition).parameters:
        if name in given:
            arguments[name] = map_leaves(_copy, given[name])
            continue
        own = partners[name]
        if more.get(own) is not None:
            arguments[name] = map_leaves(_copy, more[own])
        else:
            fill = 0.0 if stage.name == "tangent" else np.nan
            arguments[name] = map_leaves(
                lambda leaf, fill=fill: ff.as_field(
                    leaf.domain, np.full(leaf.shape, fill, leaf.dtype.dtype)
                ),
                given[own],
            )
    run(**arguments, offset_provider=tables)
    return arguments


def _copy(leaf: Any) -> Any:
    return ff.as_field(leaf.domain, leaf.asnumpy().copy()) if hasattr(leaf, "domain") else leaf


def _equal(what: str, found: Any, expected: Any, terms: Any, limit: float) -> None:
    every = zip(leaves_of(found), leaves_of(expected), leaves_of(terms), strict=True)
    for (path, one), (_, other), (_, term) in every:
        got, meant = one.asnumpy(), other.asnumpy()
        if not np.isfinite(meant).all():
            raise Incomparable("a derivative is not finite")
        size = float(np.abs(meant).max(initial=0.0))
        if size > LARGEST:
            raise Incomparable("a derivative is too large")
        sizes = np.where(np.isfinite(term.asnumpy()), term.asnumpy(), 0.0)
        wrong = ~(np.abs(got - meant) <= limit * np.maximum(sizes, max(size, 1.0)))
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise AssertionError(
                f"{what}{list(path) or ''} at {place}: meant {meant[place]}, got {got[place]}"
            )


def drawn(seed: int, count: int) -> Iterator[tuple[str, Case]]:
    """Yield the programs of the fuzzer, each with what finds it again."""
    for number in range(count):
        batch, place = divmod(number, BATCH)
        draw = Draw(random.Random(f"{seed}/{batch}/{place}").randrange)
        yield f"{batch}/{place}", program(draw, EVERY)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Compare derivatives of generated programs.")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default=None)
    parser.add_argument("--only", default=None)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = 0
    warnings.simplefilter("ignore")
    with ff.using(ff.Engine(Memory())), np.errstate(all="ignore"):
        for where, case in drawn(options.seed, options.count):
            if options.only in (None, where):
                try:
                    compare(case, options.backend)
                    counts["agree"] += 1
                except (Incomparable, ff.errors.DerivativeError) as error:
                    counts[str(error).partition("\n")[0]] += 1
                except Exception as error:
                    wrong += 1
                    told = f"{type(error).__name__}: {error}"
                    sys.stdout.write(f"--seed {options.seed} --only {where}: {told}\n")
                    if options.only:
                        sys.stdout.write(f"{case.source}\n{traceback.format_exc()}\n")
    rows = [f"{count:6} {what}" for what, count in counts.most_common()]
    sys.stdout.write("\n".join([*rows, f"{wrong:6} differ", ""]))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
