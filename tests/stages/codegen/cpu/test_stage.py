from pathlib import Path

from fieldforge.stages.artifacts import Generated, Interface, Variant
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.lower.graph import Graph

from ....processes import python
from ..programs import REAL, TARGET, I, J, laplacians, make_program, whole

PRINT_FILES = """
import hashlib
from {module} import TARGET, laplacians
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.cpu.stage import Codegen
results = Codegen(target=TARGET).run(lowered=laplacians(5), variant=Variant(unit=(("u", "I"),)))
for port, artifact in sorted(results.items()):
    for name, data in sorted(artifact.files().items()):
        print(port, name, hashlib.sha256(data).hexdigest())
"""


def test_artifacts_survive_their_files() -> None:
    results = Codegen(target=TARGET).run(lowered=laplacians(3), variant=Variant())
    generated, interface = results["generated"], results["interface"]
    assert Generated.from_files(generated.files()) == generated
    assert Interface.from_files(interface.files()) == interface


def test_bytes_do_not_depend_on_the_seed_of_hashes() -> None:
    here = Path(__file__).parents[1]
    script = PRINT_FILES.format(module="programs")
    outputs = [
        python("-c", script, check=True, cwd=here, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 4


def test_the_flags_name_the_instruction_set() -> None:
    generated = Codegen(target=TARGET).run(lowered=laplacians(1), variant=Variant())["generated"]
    assert "-march=x86-64-v3" in generated.flags
    assert "-ffp-contract=off" in generated.flags


def test_generated_code_has_no_threads_of_its_own() -> None:
    generated = Codegen(target=TARGET).run(lowered=laplacians(1), variant=Variant())["generated"]
    assert "context->parallel_for" in generated.source
    assert "omp parallel" not in generated.source
    assert "-fopenmp" not in generated.flags


def test_the_interface_reads_what_lowering_found() -> None:
    lowered = laplacians(5)
    interface = Codegen(target=TARGET).run(lowered=lowered, variant=Variant())["interface"]
    assert [read.box for read in interface.reads] == [read.box for read in lowered.reads]
    assert interface.statements == lowered.program.statements


def test_stores_of_different_boxes_are_listed_alone_and_together() -> None:
    graph, dims = Graph(), (I, J)
    u = graph.input("u", dims, REAL)
    fields = [(name, REAL, dims) for name in ("u", "a", "b")]
    stores = [("a", whole("a", dims), u), ("b", whole("b", dims), graph.shift(u, I, 1))]
    lowered = make_program("two", graph, fields, stores)
    interface = Codegen(target=TARGET).run(lowered=lowered, variant=Variant())["interface"]
    assert [[s.target for s in each.stores] for each in interface.statements] == [
        ["a"], ["b"], ["a", "b"],
    ]  # fmt: skip
    # 'a' is complete before 'u' is read for 'b', so 'u' may be neither of them
    assert [(read.statement, read.pointwise) for read in interface.reads] == [
        (0, True), (1, False), (2, True), (2, False),
    ]  # fmt: skip
