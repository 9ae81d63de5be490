"""Loops of drawn programs, for predictions."""

from typing import Any

import attrs
from tests.generated.large import LargeCase, large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff
from fieldforge.stages.codegen.plan.sizes import Sizes
from fieldforge.stages.ir.loops.kernel import Kernel
from fieldforge.stages.ir.loops.reader import read
from fieldforge.workflows.builds.building import trace
from fieldforge.workflows.tuning.refit import sizes_of
from fieldforge.workflows.tuning.subject import make_subject


def loops_of(
    case: LargeCase, size: int, backend: Any = ff.cpu, **options: Any
) -> tuple[Kernel, Sizes, dict[str, Any]]:
    """Return the loops of a program with some options, the sizes of a call, and its tables."""
    chosen = backend.with_options(**options) if options else backend
    given = arguments_of(case, size, ff.cpu)
    subject = make_subject(program_of(case).with_backend(chosen), given)
    entry = subject.on(chosen)
    step = trace(entry.__definition__, entry.backend, subject.variant(entry), "codegen")["codegen"]
    tables = {name: each.asnumpy() for name, each in (subject.provider or {}).items()}
    return read(step.loops), sizes_of(subject.arguments, subject.provider), tables


def with_few_levels(seed: int, levels: int = 8) -> LargeCase:
    """Return a drawn program with few levels, so that a small grid has rows."""
    case = large_case(seed)
    return attrs.evolve(case, levels=min(case.levels, levels))
