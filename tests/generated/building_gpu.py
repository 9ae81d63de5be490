"""Build many programs for the null platform at once: the kernels of all in one library.

Each has a namespace of its own and names of its own for its kernels, which its launches follow.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

import attrs

from fieldforge.runtime import _core
from fieldforge.runtime.calls.plan import Plan
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.process.library_file import place_library
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.vendors.dialect import BLOCK, MASKED, ONCE, WIDE
from fieldforge.stages.vendors.host import HOST

# The first has all that the others have; what another begins with stands after it.
PRELUDES = [
    HOST.dialect([*threads, *more])
    for threads in ([BLOCK], [WIDE], [])
    for more in ([ONCE, MASKED], [ONCE], [MASKED], [])
]


def source_of(programs: Sequence[str]) -> str:
    """Return one source of all: the prelude once, and each program apart."""
    begun = [next(each for each in PRELUDES if text.startswith(each)) for text in programs]
    parts = [PRELUDES[0]]
    for index, (text, head) in enumerate(zip(programs, begun, strict=True)):
        own = text.removeprefix(head)
        names = re.sub(rf"\b{HOST.entry('')}", rf"p{index}_\g<0>", own)
        parts.append(f"namespace n{index} {{\n{names}\n}}")
    return "\n".join(parts)


def renamed(plan: Plan, index: int) -> Plan:
    """Let the launches of a plan name the kernels of the program in its place."""
    launches = [attrs.evolve(each, kernel=f"p{index}_{each.kernel}") for each in plan.launches]
    return attrs.evolve(plan, launches=tuple(launches))


def compiled_for_gpu(programs: Sequence[Any], optimise: str) -> list[Any]:
    """Compile programs together and return the callables, in order."""
    settings = current()
    stage = Compile(flags=(optimise,), cxx=settings.cxx, variables=settings.compiler_variables)
    source = source_of([each.source for each in programs])
    outputs: Any = stage.run(generated=Generated("c++", source, "", HOST.flags))
    folder = settings.local_dir / "generated"
    library = os.fsencode(place_library(outputs["compiled"].library, folder))
    made = []
    for index, each in enumerate(programs):
        program = _core.Program(each.plan.program, each.plan.parameters, _never, reject)
        program.add(_core.Entry(renamed(each.plan, index), 0, (("host", library),)))
        made.append(program)
    return made


def _never(args: Any, kwargs: Any) -> None:
    raise AssertionError("No entry fits the arguments that the program was built for.")
