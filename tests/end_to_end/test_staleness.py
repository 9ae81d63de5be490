"""T9: after each of these changes the answer is the new one, from a store full of old results.

The first part runs programs before and after an edit, by the interpreter, over one store; the other
one changes what compiles them.
"""

import os
from pathlib import Path

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.cache.memory import Memory
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.parse.key import forget
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.graph.graph import Workflow

from .test_keys import Machine

TEXT = """
import enum
from dataclasses import dataclass
import numpy as np
import fieldforge as ff
from fieldforge import minimum, maximum, where
I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Line = ff.Field[ff.Dims[K], ff.float64]
FACTOR = 2.0
FLAG = True
PAIR = (1.0, (2.0, 3.0))

class Level(enum.IntEnum):
    TOP = 1

@dataclass(frozen=True)
class Constants:
    weight: float = 0.5

constants = Constants()

def make(n):
    @ff.field_operator
    def scaled(a: Line) -> Line:
        return a * n
    return scaled

scaled = make(3.0)

@ff.field_operator
def deepest(a: Line) -> Line:
    return a - 7.0

@ff.field_operator
def helper(a: Line) -> Line:
    return deepest(a) * 1.5

@ff.scan_operator(axis=K, forward=True, init=0.25)
def total(state: float, x: float) -> float:
    return state * 0.5 + x

@ff.field_operator
def all_of_it(a: Line) -> Line:
    b = helper(a) * FACTOR + constants.weight
    c = where(a > 3.0, b, scaled(b)) if FLAG else b
    d = c + PAIR[1][0] * a - PAIR[0]
    return minimum(total(d), 1000.0)

@ff.program
def run(a: Line, out: Line):
    all_of_it(a, out=out, domain={K: (0, 6)})
"""

EDITS = [
    ("global", "FACTOR = 2.0", "FACTOR = 2.5"),
    ("global flag", "FLAG = True", "FLAG = False"),
    ("global in a tuple", "PAIR = (1.0, (2.0, 3.0))", "PAIR = (1.0, (2.25, 3.0))"),
    ("first of a tuple", "PAIR = (1.0,", "PAIR = (1.125,"),
    ("constant in a namespace", "weight: float = 0.5", "weight: float = 0.75"),
    ("closure of a factory", "make(3.0)", "make(4.0)"),
    ("body of a factory", "return a * n", "return a + n"),
    ("helper", "deepest(a) * 1.5", "deepest(a) * 1.25"),
    ("helper of a helper", "a - 7.0", "a - 6.5"),
    ("which helper", "return deepest(a) * 1.5", "return a * 1.5"),
    ("start of a scan", "init=0.25", "init=0.5"),
    ("direction of a scan", "forward=True", "forward=False"),
    ("body of a scan", "state * 0.5", "state * 0.75"),
    ("condition", "a > 3.0", "a > 2.0"),
    ("builtin", "minimum(total(d), 1000.0)", "maximum(total(d), 2.0)"),
    ("domain", "domain={K: (0, 6)}", "domain={K: (1, 6)}"),
    ("order of statements", "c + PAIR[1][0] * a - PAIR[0]", "PAIR[0] - (c + PAIR[1][0] * a)"),
    ("a name bound to another operator",
     "def helper(a: Line) -> Line:\n    return deepest(a) * 1.5",
     "def other(a: Line) -> Line:\n    return deepest(a) * 2.5\n\nhelper = other"),
    ("the same name for something else", "FACTOR = 2.0", "FACTOR = PAIR_ = 2.0 + 1.0"),
]  # fmt: skip


@pytest.fixture
def machine(tmp_path):
    yield Machine(tmp_path)
    forget()


def answer(machine: Machine, text: str, backend: str | None, disk: Disk | Memory) -> np.ndarray:
    forget()
    module = machine.module(text)
    a = ff.as_field([module.K], np.arange(6.0) * 1.25)
    out = ff.zeros({module.K: 6})
    with ff.using(Engine(disk)):
        module.run.with_backend(backend)(a, out)
    return out.asnumpy()


@pytest.mark.filterwarnings("ignore:Program 'run' runs embedded")
@pytest.mark.parametrize(("what", "old", "new"), EDITS, ids=[edit[0] for edit in EDITS])
def test_an_edit_is_never_answered_by_an_old_result(machine, what, old, new):
    assert old in TEXT
    store = Disk(machine.folder / "store")
    before = answer(machine, TEXT, "reference", store)
    after = answer(machine, TEXT.replace(old, new), "reference", store)
    meant = answer(machine, TEXT.replace(old, new), None, Memory())
    assert not np.array_equal(before, after)
    assert np.array_equal(after, meant)
    assert np.array_equal(answer(machine, TEXT, "reference", store), before)  # and back


# What compiles it.

SOURCE = '#include <answer.h>\nextern "C" int answer() { return ANSWER; }\n'
GENERATED = Generated("c++", SOURCE, "", ("-O1", "-shared", "-fPIC"))
PLAIN = attrs.evolve(GENERATED, source="int answer() { return 1; }")


class Build:
    """A store, and the one stage that compiles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ran(self, stage: Compile, generated: Generated = PLAIN) -> bool:
        """Compile in a new engine over the one store; tell whether the compiler ran."""
        seen = ff.Collector()
        engine = Engine(Disk(self.folder / "store"), observers=[seen])
        found = engine.run(Workflow.chain(stage), {"generated": generated})["compile"]
        assert found.outputs["compiled"].get().library
        return "compile" in seen.ran()


@pytest.fixture
def build(tmp_path):
    return Build(tmp_path)


def test_a_pass_of_the_user_s_that_was_edited_runs_again(machine, build):
    text = """
from fieldforge.stages.base import Stage
from fieldforge.stages.artifacts import Generated
import attrs

@attrs.frozen
class Pass(Stage):
    name = "my_pass"
    needs = ("generated",)
    provides = {"generated": Generated}

    def run(self, *, generated):
        return {"generated": attrs.evolve(generated, source=generated.source + "// one")}
"""

    def result(text: str) -> str:
        stage = machine.module(text).Pass()
        engine = Engine(Disk(build.folder / "store"))
        found = engine.run(Workflow.chain(stage), {"generated": PLAIN})["my_pass"]
        return found.outputs["generated"].get().source

    import sys

    for each in (text, text.replace("// one", "// two")):
        sys.modules.pop("stencils", None)
        assert result(each).endswith("// one" if each == text else "// two")


# Headers, with the real compiler.


@pytest.fixture
def headers(tmp_path):
    """Give two folders of headers, the first of them empty, and the stage that looks into them."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    write(second / "answer.h", "#define ANSWER 1\n")
    variables = dict(current().compiler_variables) | {"CPATH": f"{first}:{second}"}
    return first, second, Compile(variables=tuple(sorted(variables.items())))


def write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (1e9, 1e9 + len(path.read_text()) + path.stat().st_ino % 100))


@pytest.mark.needs_compiler
def test_an_edited_header_on_the_path_compiles_again(build, headers):
    _, second, stage = headers
    assert build.ran(stage, GENERATED)
    assert not build.ran(stage, GENERATED)
    write(second / "answer.h", "#define ANSWER 2  // edited\n")
    assert build.ran(stage, GENERATED)
    assert not build.ran(stage, GENERATED)


@pytest.mark.needs_compiler
def test_a_header_that_is_put_in_front_of_another_compiles_again(build, headers):
    first, _, stage = headers
    assert build.ran(stage, GENERATED)
    write(first / "answer.h", "#define ANSWER 3\n")
    assert build.ran(stage, GENERATED)


@pytest.mark.needs_compiler
def test_a_header_that_goes_away_is_looked_for(build, headers):
    from fieldforge.runtime.process.errors import CompilationError

    _, second, stage = headers
    assert build.ran(stage, GENERATED)
    (second / "answer.h").unlink()
    with pytest.raises(CompilationError, match="failed with exit code"):
        build.ran(stage, GENERATED)


@pytest.mark.needs_compiler
def test_a_header_that_is_not_read_does_not_matter(build, headers):
    _, second, stage = headers
    assert build.ran(stage, PLAIN)
    write(second / "answer.h", "#define ANSWER 4 // edited\n")
    assert not build.ran(stage, PLAIN)
