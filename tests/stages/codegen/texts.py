"""Apply a pass to a kernel that is given as text."""

from fieldforge.stages.codegen.passes import LoopPass
from fieldforge.stages.codegen.schedule.rules import Rules
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.verify import verify

from .programs import TARGET

RULES = Rules(TARGET)


def after(step: LoopPass, text: str, rules: Rules = RULES) -> str:
    """Return the text of a kernel after a pass."""
    return show(verify(step(verify(read(text)), rules)))


def unmarked(text: str) -> str:
    """Return a text without its lines of marks."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith("cpu "))
