"""Apply a pass to a kernel that is given as text."""

from collections.abc import Callable
from textwrap import dedent, indent

from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.codegen.passes import LoopPass
from fieldforge.stages.ir.loops.column import Column
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import rewrite
from fieldforge.stages.ir.loops.verify import verify

from .programs import TARGET

RULES = Rules(TARGET)
COLUMNS = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  scalar limit float64
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. 40)
  step 0
    column group 0 registers float64, bool  # acts
      reads u (I: 0 .. n, K: 0 .. 40)
      parallel I: 0 .. n
"""


def after(step: LoopPass, text: str, rules: Rules = RULES) -> str:
    """Return the text of a kernel after a pass."""
    return show(verify(step(verify(read(text)), rules)))


def unmarked(text: str) -> str:
    """Return a text without its lines of marks."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith("cpu "))


def acts_after(step: Callable[[Column], Column], text: str) -> str:
    """Return the acts of a column after a pass."""
    kernel = read(COLUMNS + indent(text.strip("\n") + "\n", " " * 8))
    made = rewrite(kernel, lambda node: step(node) if isinstance(node, Column) else node)
    return dedent(show(verify(made)).partition("      parallel I: 0 .. n\n")[2])
