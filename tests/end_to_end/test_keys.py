"""T7: whatever can change a library changes its key, and nothing else does.

The key is that of the deep record, which covers every stage up to the library; nothing is built.
"""

import importlib.util
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.runtime.process.settings import COMPILER_VARIABLES, Settings
from fieldforge.stages import Stage, Target, Variant
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.parse.key import forget
from fieldforge.workflows.engine.deep import find_shortcut
from fieldforge.workflows.engine.handle import given

TEXT = """
from dataclasses import dataclass
import numpy as np
import fieldforge as ff
from fieldforge import astype, where, neighbor_sum
I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
C, E = ff.Dimension("C"), ff.Dimension("E")
E2CDim = ff.Dimension("E2C", kind=ff.DimensionKind.LOCAL)
E2C = ff.FieldOffset("E2C", source=C, target=(E, E2CDim))
Plane = ff.Field[ff.Dims[I, J], ff.float64]
Column = ff.Field[ff.Dims[I, K], ff.float64]
FACTOR = 2.0
COUNT = 3

@dataclass(frozen=True)
class Constants:
    weight: float = 0.5
    unused: float = 1.0

constants = Constants()

@ff.field_operator
def deepest(a: Plane) -> Plane:
    return a * 3.0

@ff.field_operator
def helper(a: Plane) -> Plane:
    return deepest(a) + 1.0

@ff.field_operator
def smooth(a: Plane, b: Plane) -> Plane:
    # a comment
    return helper(a(I + 1)) * FACTOR + b * constants.weight

@ff.scan_operator(axis=K, forward=True, init=0.0)
def total(state: ff.float64, x: ff.float64) -> ff.float64:
    return state + x

@ff.field_operator
def over_edges(c: ff.Field[ff.Dims[C], ff.float64]) -> ff.Field[ff.Dims[E], ff.float64]:
    return neighbor_sum(c(E2C), axis=E2CDim)

@ff.program
def run(a: Plane, b: Plane, out: Plane):
    smooth(a, b, out=out)
"""


class Machine:
    """A compiler that only says who it is, and modules that are written and imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cxx = folder / "bin" / "c++"
        self.cxx.parent.mkdir()
        self.compiler("test 1.0")
        self.count = 0

    def compiler(self, version: str, extra: str = "") -> None:
        worker = self.folder / "cc1plus"
        worker.write_text("worker")
        self.cxx.write_text(
            f'#!/bin/sh\ncase "$1" in --version) echo "{version}";; '
            '*cc1plus) echo "$(cd "${0%/*}"/..; pwd)/cc1plus";; *) echo none;; esac\n' + extra
        )
        self.cxx.chmod(self.cxx.stat().st_mode | stat.S_IXUSR)

    def module(self, text: str, name: str = "") -> Any:
        """Import a text from a file of its own."""
        self.count += 1
        path = self.folder / f"m{self.count}" / f"{name or 'stencils'}.py"
        path.parent.mkdir()
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        with ff.using(ff.Engine(Memory())):
            spec.loader.exec_module(module)
        return module

    def stage(self, **changes: Any) -> Compile:
        return attrs.evolve(Compile(cxx=str(self.cxx), variables=(("PATH", "/bin"),)), **changes)

    def backend(self, **changes: Any) -> ff.Backend:
        backend = ff.recipes.cpu(target=Target(isa="x86-64-v2"))
        return backend.with_workflow(backend.workflow.replace(compile=self.stage(**changes)))

    def key(self, text: str = TEXT, which: str = "run", backend=None, variant=None, **more) -> str:
        """Return the key of a program that was written like this."""
        forget()
        program = getattr(self.module(text, **more), which)
        return self.key_of(program.__definition__, backend, variant)

    def key_of(self, definition, backend=None, variant=None) -> str:
        flow = (backend or self.backend()).workflow
        outside = {
            "definition": given(definition),
            "variant": given(variant or Variant(unit=(("a", "I"),))),
        }
        return find_shortcut(Memory(), flow, outside, "p").key


@pytest.fixture
def machine(tmp_path):
    yield Machine(tmp_path)
    forget()


# What the person wrote.

EDITS = [
    ("number", "a * 3.0", "a * 4.0", "run"),
    ("operator", "* FACTOR +", "* FACTOR -", "run"),
    ("shift", "a(I + 1)", "a(I + 2)", "run"),
    ("dimension of a shift", "a(I + 1)", "a(J + 1)", "run"),
    ("order of operands", "helper(a(I + 1)) * FACTOR", "FACTOR * helper(a(I + 1))", "run"),
    ("callee", "deepest(a) + 1.0", "deepest(a) - 1.0", "run"),
    ("callee of a callee", "a * 3.0", "a * 3.0 * a", "run"),
    ("which is called", "return helper(a(I + 1))", "return deepest(a(I + 1))", "run"),
    ("global float", "FACTOR = 2.0", "FACTOR = 2.5", "run"),
    ("global that is nearly equal", "FACTOR = 2.0", "FACTOR = 2.0000000000000004", "run"),
    ("sign of a global zero", "FACTOR = 2.0", "FACTOR = -0.0", "run"),
    ("type of a global", "FACTOR = 2.0", "FACTOR = np.float64(2.0) + np.float64(1)", "run"),
    ("member of a namespace", "weight: float = 0.5", "weight: float = 0.25", "run"),
    ("name of a dimension", 'ff.Dimension("J")', 'ff.Dimension("JJ")', "run"),
    ("kind of a dimension", 'J = ff.Dimension("I"), ff.Dimension("J")',
     'J = ff.Dimension("I"), ff.Dimension("J", kind=ff.DimensionKind.VERTICAL)', "run"),
    ("element type", "Plane = ff.Field[ff.Dims[I, J], ff.float64]",
     "Plane = ff.Field[ff.Dims[I, J], ff.float32]", "deepest32"),
    ("dimensions of a field", "Plane = ff.Field[ff.Dims[I, J]",
     "Plane = ff.Field[ff.Dims[I, J, K]", "run"),
    ("name of a parameter", "def run(a: Plane, b: Plane, out: Plane):\n    smooth(a, b, out=out)",
     "def run(a: Plane, c: Plane, out: Plane):\n    smooth(a, c, out=out)", "run"),
    ("order of parameters", "def run(a: Plane, b: Plane,", "def run(b: Plane, a: Plane,", "run"),
    ("order of arguments", "    smooth(a, b, out=out)", "    smooth(b, a, out=out)", "run"),
    ("domain of a statement", "out=out)", "out=out, domain={I: (0, 3), J: (0, 3)})", "run"),
    ("slice of an output", "out=out)", "out=out[1:-1, 1:-1])", "run"),
    ("kind of grid", "@ff.program\n", "@ff.program(grid_type=ff.GridType.CARTESIAN)\n", "run"),
    ("direction of a scan", "forward=True", "forward=False", "total"),
    ("start of a scan", "init=0.0", "init=1.0", "total"),
    ("body of a scan", "state + x", "state - x", "total"),
    ("axis of a scan", 'K = ff.Dimension("K"', 'K = ff.Dimension("L"', "total"),
    ("source of an offset", "source=C, target=(E,", "source=E, target=(C,", "turned"),
    ("name of an offset", 'ff.FieldOffset("E2C"', 'ff.FieldOffset("E2V"', "over_edges"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new", "which"), EDITS, ids=[edit[0] for edit in EDITS])
def test_an_edit_with_a_meaning_changes_the_key(machine, what, old, new, which):
    one, other = TEXT, TEXT.replace(old, new)
    assert one != other
    if which == "deepest32":
        which, other = "deepest", other.replace("3.0", "ff.float32(3.0)")
        other = other.split("@ff.field_operator\ndef helper")[0]
        one = one.split("@ff.field_operator\ndef helper")[0]
    if which == "turned":
        which = "over_edges"
        other = other.replace(
            "c: ff.Field[ff.Dims[C], ff.float64]) -> ff.Field[ff.Dims[E]",
            "c: ff.Field[ff.Dims[E], ff.float64]) -> ff.Field[ff.Dims[C]",
        )
    assert machine.key(one, which) != machine.key(other, which)


SAME = [
    ("nothing", "", ""),
    ("another name in scope", "FACTOR = 2.0", "FACTOR = 2.0\nOTHER = object()"),
    ("a name that is not used", "COUNT = 3", "COUNT = 4"),
    ("a member that is not used", "unused: float = 1.0", "unused: float = 7.0"),
    ("the place in the file", "import numpy as np\n", "import numpy as np\n\n\n# moved down\n"),
    ("a function that is not called", "state + x", "state * x"),
    ("an alias of an annotation", "def deepest(a: Plane)",
     "Alias = Plane\n@ff.field_operator\ndef unused(a: Alias) -> Alias:\n    return a\n\n"
     "@ff.field_operator\ndef deepest(a: Plane)"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new"), SAME, ids=[each[0] for each in SAME])
def test_an_edit_around_a_program_leaves_its_key(machine, what, old, new):
    edited = TEXT.replace(old, new) if old else TEXT
    if what == "an alias of an annotation":
        edited = edited.replace("@ff.field_operator\nAlias", "Alias")
    assert machine.key() == machine.key(edited)


def test_the_file_and_the_module_of_a_program_are_not_in_its_key(machine):
    assert machine.key() == machine.key(name="another_module")


# How it is built.


def keep_loops(kernel, rules):
    return kernel


OPTIONS: list[tuple[str, Any]] = [
    ("lower.fold", False),
    ("lower.checked", True),
    ("codegen.checked", True),
    ("codegen.passes", ("tile", "plan_arena")),
    ("codegen.passes", ("tile", keep_loops, "plan_arena")),
    ("numerics", "strict"),
    ("numerics", "fast"),
    ("codegen.parallel_from", 1),
    ("codegen.arrays", ("%1",)),
    ("codegen.inline", ("%1",)),
    ("codegen.stream_from", 0),
    ("codegen.jam", False),
    ("codegen.many_outputs", True),
    ("codegen.prefetch", False),
    ("codegen.unswitch", False),
    ("codegen.patches", False),
    ("codegen.tile_size", 16),
    ("codegen.effort", 2),
    ("codegen.machine", "epyc"),
    ("codegen.mathematics", "library"),
    *(
        ("target", attrs.evolve(Target(isa="x86-64-v2"), **change))
        for change in (
            {"isa": "x86-64-v3"}, {"cores": 7}, {"vector_bytes": 64}, {"l2": 1},
            {"bandwidth": 1e9}, {"vector_math": True},
        )
    ),
]  # fmt: skip


def name_of(value: Any) -> str:
    """Name a parameter alike in every process: functions print their address."""
    parts = value if isinstance(value, tuple) else (value,)
    return " ".join(getattr(part, "__name__", str(part)) for part in parts)[:40]


@pytest.mark.parametrize(("option", "value"), OPTIONS, ids=name_of)
def test_every_option_that_changes_a_result_changes_the_key(machine, option, value):
    changed = machine.backend().with_options(**{option: value})
    assert machine.key() != machine.key(backend=changed)


def test_every_option_of_the_workflow_is_tried_above_or_does_not_count():
    tried = {option for option, _ in OPTIONS}
    tried |= {"lower.numerics", "codegen.numerics", "codegen.target", "compile.flags"}
    for name, stage in ff.recipes.cpu().workflow.nodes:
        counted = {field.name for field in attrs.fields(type(stage)) if field.eq}
        assert {f"{name}.{option}" for option in counted} <= tried


VARIANTS = [
    Variant(),
    Variant(unit=(("a", "J"),)),
    Variant(unit=(("a", "I"), ("b", "I"))),
    Variant(unit=(("a", "I"),), static=(("n", "3"),)),
    Variant(unit=(("a", "I"),), static=(("n", "4"),)),
    Variant(unit=(("a", "I"),), domain=True),
    Variant(unit=(("a", "I"),), tables=(("E2C", 2, False),)),
    Variant(unit=(("a", "I"),), tables=(("E2C", 3, False),)),
    Variant(unit=(("a", "I"),), tables=(("E2C", 2, True),)),
    Variant(unit=(("a", "I"),), alike=(("out", "other"),)),
    Variant(unit=(("a", "I"),), ranges=(("a", "I", 0, 8),)),
    Variant(unit=(("a", "I"),), ranges=(("a", "I", 1, 8),)),
    Variant(unit=(("a", "I"),), ranges=(("a", "I", 0, 9),)),
]


def test_every_part_of_a_variant_is_in_the_key(machine):
    definition = machine.module(TEXT).run.__definition__
    keys = {machine.key_of(definition, variant=variant) for variant in VARIANTS}
    assert len(keys | {machine.key_of(definition)}) == len(VARIANTS) + 1


@pytest.mark.parametrize("name", [name for name in COMPILER_VARIABLES if name != "PATH"])
def test_every_variable_that_a_compiler_reads_is_in_the_key(machine, name):
    keys = {machine.key()}
    for value in ("", "/opt/a", "/opt/b"):  # unset, empty and set are three things
        variables = (("PATH", "/bin"), (name, value))
        keys.add(machine.key(backend=machine.backend(variables=variables)))
    assert len(keys) == 4


def test_flags_are_in_the_key_in_order(machine):
    flags = [(), ("-O3",), ("-g",), ("-O3", "-g"), ("-g", "-O3")]
    assert len({machine.key(backend=machine.backend(flags=each)) for each in flags}) == 5


def test_the_compiler_is_in_the_key_by_version_digest_worker_and_options(machine):
    keys = {machine.key()}
    machine.compiler("test 1.1")
    keys.add(machine.key())
    machine.compiler("test 1.1", "# patched, with the same version\n")
    keys.add(machine.key())
    (machine.folder / "cc1plus").write_text("patched worker")
    keys.add(machine.key())
    keys.add(machine.key(backend=machine.backend(cxx=f"{machine.cxx} -m32")))
    assert len(keys) == 5


def test_the_place_of_a_compiler_is_not_in_the_key(machine, tmp_path):
    before = machine.key()
    moved = tmp_path / "elsewhere" / "c++"
    moved.parent.mkdir()
    machine.cxx.rename(moved)
    machine.cxx = moved
    assert machine.key() == before


@attrs.frozen
class Twice(Stage):
    """Stands for a pass of the user's."""

    name = "twice"
    needs = ("generated",)
    provides = ff.recipes.cpu().workflow["codegen"].provides | {}
    times: int = 2

    def run(self, *, generated: Any) -> Any:
        return {"generated": generated}


def test_a_stage_that_is_inserted_its_options_and_its_version_are_in_the_key(machine, monkeypatch):
    def inserted(stage: Any) -> str:
        flow = machine.backend().workflow
        return machine.key(
            backend=machine.backend().with_workflow(flow.insert_after("codegen", stage))
        )

    monkeypatch.setattr(Twice, "provides", {"generated": Twice.provides["generated"]})
    keys = {machine.key(), inserted(Twice()), inserted(Twice(times=3))}
    monkeypatch.setattr(Twice, "version", "2", raising=False)
    keys.add(inserted(Twice()))
    assert len(keys) == 4


# What must not count.


def test_settings_that_say_where_or_how_many_are_not_in_the_key(machine, tmp_path, monkeypatch):
    from fieldforge.runtime.process import settings

    before = machine.key(backend=ff.recipes.cpu(cxx=str(machine.cxx)))
    changed = Settings(
        cache_dir=tmp_path / "c", local_dir=tmp_path / "l", jobs=7, dump=("lower",), log="debug",
        collect_metrics=10, verbose_exceptions=True, cache_size=1, enable_jit=False,
        compiler_variables=settings.current().compiler_variables,
    )  # fmt: skip
    settings.set_current(changed)
    assert machine.key(backend=ff.recipes.cpu(cxx=str(machine.cxx))) == before


def test_sizes_and_contents_of_tables_are_not_in_the_key(machine):
    program = machine.module(TEXT).over_edges.with_backend(machine.backend())
    mine = sys.modules[type(program).__module__]
    assert mine is not None
    module = program.__definition__.function.__globals__
    keys = set()
    for edges in (4, 9):
        table = np.arange(2 * edges).reshape(edges, 2) % 5
        domain = {module["E"]: edges, module["E2CDim"]: 2}
        provider = {"E2C": ff.as_connectivity(domain, module["C"], table)}
        shape = program._variants.shape
        keys.add(machine.key_of(program.__definition__, variant=shape.default(provider)))
    assert len(keys) == 1


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.end_to_end.test_keys import Machine, TEXT
import tempfile
with tempfile.TemporaryDirectory() as folder:
    print(Machine(Path(folder)).key())
"""


def test_two_processes_agree_whatever_surrounds_them(tmp_path):
    """Hash seed, folder, temporary files, host name, process and rank are different."""
    root = str(Path(__file__).parents[2])
    said = set()
    for number in (1, 2):
        place = tmp_path / f"p{number}"
        place.mkdir()
        environ = {
            "PATH": os.environ["PATH"], "PYTHONHASHSEED": str(number), "TMPDIR": str(place),
            "HOME": str(place), "OMPI_COMM_WORLD_RANK": str(number), "SLURM_PROCID": str(number),
            "HOSTNAME": f"node{number}", "USER": f"user{number}",
            "LANG": ("C", "C.UTF-8")[number - 1],
        }  # fmt: skip
        command = [sys.executable, "-c", SCRIPT, root]
        done = subprocess.run(
            command, env=environ, cwd=place, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1
