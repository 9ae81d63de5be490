"""Compare derivatives of generated programs: `python -m tests.generated.derivatives 1000`.

Tangents and adjoints, as the interpreter runs them, are compared with the tape of embedded
execution, and by a dot product with each other. Fields hold finite numbers; where a program makes
others of them, or numbers so large that nothing can be compared, it counts as such. Rounding errors
may be as large as those of the terms of a derivative, which are larger than their sum where they
cancel. With `--second` two orders of second derivatives are compared.
"""

import argparse
import random
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.runtime.language.structure import leaves_of

from .case import Case
from .derivative_calls import Incomparable, Subject
from .derivative_errors import check_equal, check_transposed, sizes, terms
from .features import EVERY
from .fuzz import BATCH
from .pieces import Draw
from .programs import program
from .second_derivatives import compare_second


def compare(subject: Subject, backend: Any = None) -> None:
    """Raise `AssertionError` where derivatives of a program differ."""
    run, given, tables = subject.run, subject.given, subject.tables
    values, moved = ff.jvp(run, given, subject.tangents, offset_provider=tables)
    for _, leaf in leaves_of(tuple(values[name] for name in subject.adjoints)):
        if not np.isfinite(leaf.asnumpy()).all():
            raise Incomparable("an output is not finite")
    _, pull = ff.vjp(run, given, offset_provider=tables)
    pulled = pull(subject.adjoints)
    with terms():
        _, moved_terms = ff.jvp(run, given, sizes(subject.tangents), offset_provider=tables)
        pulled_terms = pull(sizes(subject.adjoints))
    pushed = subject.pushed(backend)
    for name, found in pushed.items():
        own = found, moved[name], moved_terms[name]
        check_equal(f"tangent of '{name}'", *own, subject.limit)
    back = subject.pulled(backend)
    for name, found in back.items():
        own = found, pulled[name], pulled_terms[name]
        check_equal(f"adjoint of '{name}'", *own, subject.limit)
    check_transposed(subject, pushed, back, moved_terms, pulled_terms)


def drawn(seed: int, count: int) -> Iterator[tuple[str, Case]]:
    """Yield the programs of the fuzzer, each with what finds it again."""
    for number in range(count):
        batch, place = divmod(number, BATCH)
        draw = Draw(random.Random(f"{seed}/{batch}/{place}").randrange)
        yield f"{batch}/{place}", program(draw, EVERY)


def outcomes(case: Case, backend: Any, second: bool) -> Iterator[str]:
    """Compare what a case has; yield what came of it."""
    what = ""
    try:
        subject = Subject.of(case)
        compare(subject, backend)
        yield "agree"
        if second:
            what = "second derivatives: "
            yield what + ("agree" if compare_second(subject, backend) else "agree, all are 0")
    except (Incomparable, ff.errors.DerivativeError) as error:
        yield what + str(error).partition("\n")[0]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Compare derivatives of generated programs.")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default=None)
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--only", default=None)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = 0
    warnings.simplefilter("ignore")
    with ff.using(ff.Engine(Memory())), np.errstate(all="ignore"):
        for where, case in drawn(options.seed, options.count):
            if options.only in (None, where):
                try:
                    counts.update(outcomes(case, options.backend, options.second))
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
