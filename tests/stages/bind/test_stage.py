import attrs

from fieldforge.runtime.calls.plan import Code, Status, Word
from fieldforge.runtime.calls.plan_text import show_plan
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.artifacts import Bound, Interface
from fieldforge.stages.bind.plans import Symbols, code_of
from fieldforge.stages.bind.stage import Bind
from fieldforge.stages.ir.dataflow import (
    Apply,
    Const,
    DomainSymbol,
    Leaf,
    Range,
    Ranges,
    Read,
    ScalarSymbol,
    Statement,
    Store,
    add,
)
from fieldforge.stages.ir.strides import Stride

I = Dimension("I")
N = ScalarSymbol("n")
LEAVES = (
    Leaf("u", (0,), "field", "float64", (I,)),
    Leaf("n", (1,), "scalar", "int32"),
    Leaf("pair.0", (2, 0), "field", "float64", (I,)),
    Leaf("pair.1", (2, 1), "field", "float32", (I,)),
)


def box(start: int, stop: int) -> Ranges:
    return (Range(I, Const(start), add(N, stop)),)


def interface(*reads: Read) -> Interface:
    return Interface(
        program="p",
        parameters=("u", "n", "pair"),
        leaves=LEAVES,
        fields=("u", "pair.0", "pair.1"),
        scalars=("n",),
        ints=(Stride("u", 0), N, DomainSymbol("stop", "u", I)),
        unit=(("pair.0", "I"),),
        statements=(Statement((Store("pair.0", box(0, 0), 0), Store("pair.1", box(0, 0), 0))),),
        reads=reads,
        workspace=Apply("mul", (Const(64), N)),
        backend="cpu",
    )


def spell(code: Code) -> str:
    return " ".join(f"{w.op}:{w.value}" if w.op in ("const", "int") else w.op for w in code)


def bind(*reads: Read) -> Bound:
    return Bind().run(interface=interface(*reads))["bound"]


def test_device_signature_and_codes_are_those_of_the_interface() -> None:
    facts = attrs.evolve(interface(), device=2, abi=7, statuses=((3, "not_finite", "pair.1"),))

    plan = Bind().run(interface=facts)["bound"].plan

    assert (plan.device, plan.abi) == (2, 7)
    assert plan.statuses == (Status(3, "not_finite", 3),)
    assert Bound.from_files(Bound(plan).files()).plan == plan
    assert Interface.from_files(facts.files()) == facts
    assert "on CUDA, ABI 7" in show_plan(plan)
    assert "code 3       pair.1 is not finite" in show_plan(plan)


def test_arguments_are_the_leaves_with_what_the_program_does_to_them() -> None:
    plan = bind(Read(0, "u", box(-1, 1), False)).plan
    assert [(a.name, a.path, a.unit, a.read, a.written) for a in plan.arguments] == [
        ("u", (0,), -1, True, False),
        ("n", (1,), -1, True, False),
        ("pair.0", (2, 0), 0, False, True),
        ("pair.1", (2, 1), -1, False, True),
    ]


def test_boxes_use_the_integers_that_are_already_there() -> None:
    (access,) = bind(Read(0, "u", box(-1, 1), False)).plan.accesses
    assert access.reads[0].argument == 0
    assert spell(access.reads[0].start[0]) == "const:-1"
    assert spell(access.reads[0].stop[0]) == "int:1 const:1 add"


def test_integers_refer_only_to_earlier_ones() -> None:
    plan = bind().plan
    assert [spell(code) for code in plan.ints] == ["stride", "scalar", "stop"]
    assert spell(plan.workspace) == "const:64 int:1 mul"


def test_only_pointwise_reads_of_the_same_type_may_share_memory() -> None:
    pointwise = bind(Read(0, "u", box(0, 0), True)).plan.accesses[0].pointwise
    assert pointwise == ((2, 0),)
    assert bind(Read(0, "u", box(0, 1), False)).plan.accesses[0].pointwise == ()


def test_a_field_that_is_updated_in_place_shares_its_own_memory() -> None:
    (access,) = bind(Read(0, "pair.0", box(0, 1), False)).plan.accesses
    assert access.pointwise == ((2, 2),)


def test_operations_of_several_operands_are_pairwise() -> None:
    bound = Apply("min", (Const(3), add(N, -1), Apply("mul", (Const(2), N))))
    code = code_of(bound, Symbols.of(LEAVES, ()))
    assert spell(code) == "const:3 scalar const:-1 add min const:2 scalar mul min"
    assert code[1] == Word("scalar", argument=1)


def test_a_deep_sum_needs_no_recursion() -> None:
    deep: Apply = Apply("mul", (N, N))
    for _ in range(20_000):
        deep = Apply("mul", (deep, Const(1)))
    symbols = Symbols.of(LEAVES, ())
    # an empty table of integers means that nothing of it is hashed or compared
    assert len(code_of(deep, symbols)) == 40_003


def test_the_plan_survives_its_files() -> None:
    bound = bind(Read(0, "u", box(0, 1), False))
    assert Bound.from_files(bound.files()) == bound
