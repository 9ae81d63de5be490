from pathlib import Path

import pytest

from fieldforge.runtime import _core
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.bind.stage import Bind
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.decorate.stage import Load
from fieldforge.stages.ir import dataflow
from fieldforge.stages.ir.bounds import DomainSymbol, Range
from fieldforge.stages.lower.boxes.infer_boxes import infer_boxes
from fieldforge.stages.lower.graph import Graph

pytestmark = pytest.mark.needs_compiler

I = Dimension("I")


def test_a_compiled_program_becomes_an_entry_that_keeps_its_library(tmp_path: Path) -> None:
    graph = Graph()
    u = graph.input("u", (I,), "float64")
    box = (Range(I, DomainSymbol("start", "out", I), DomainSymbol("stop", "out", I)),)
    leaves = tuple(
        dataflow.Leaf(name, (i,), "field", "float64", (I,)) for i, name in enumerate(("u", "out"))
    )
    store = dataflow.Store("out", box, graph.map("add", (u, u)))
    statements = (dataflow.Statement((store,)),)
    lowered = infer_boxes(
        dataflow.Dataflow("double", ("u", "out"), leaves, tuple(graph.values), statements)
    )
    generated = Codegen().run(lowered=lowered, variant=Variant())
    bound = Bind().run(interface=generated["interface"])["bound"]
    compiler = Compile(variables=current().compiler_variables)
    compiled = compiler.run(generated=generated["generated"])["compiled"]

    stage = Load(directory=tmp_path / "libraries")
    entry, again = (stage.run(bound=bound, compiled=compiled)["entry"] for _ in range(2))

    assert isinstance(entry, _core.Entry)
    assert entry.plan == bound.plan
    assert entry.keepalive is not None
    assert entry.address == again.address
    assert len(list((tmp_path / "libraries").iterdir())) == 1
