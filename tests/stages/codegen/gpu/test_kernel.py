import re

from fieldforge.stages import ThreadBlock, ThreadPoints, Variant
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.lower.graph import Graph

from ..programs import REAL, I, J, K, all_unit, laplacians, make_program, whole

STAGE = CodegenGpu(GpuTarget("sm_90"))
ONE_POINT = CodegenGpu(
    GpuTarget("sm_90"), points=ThreadPoints(x=1, y=1), block=ThreadBlock(x=32, y=8, z=1)
)


def pointwise():
    graph, dims = Graph(), (I, J, K)
    u, bottom = graph.input("u", dims, REAL), graph.input("bottom", (K,), REAL)
    value = graph.map("mul", (graph.shift(u, J, -1), bottom))
    fields = [("u", REAL, dims), ("bottom", REAL, (K,)), ("out", REAL, dims)]
    return make_program("one", graph, fields, [("out", whole("out", dims), value)])


def test_a_small_program_is_written_as_one_would_by_hand() -> None:
    lowered = pointwise()
    made = ONE_POINT.run(lowered=lowered, variant=all_unit(lowered, I))
    source = made["generated"].source
    assert source[source.index("KERNEL __") :].strip() == (
        "KERNEL __launch_bounds__(256) k0(f64* p0, f64* p1, f64* p2, s64 n0, s64 n1, s64 n2, "
        "s64 n3, s64 n4, s64 n5, s64 n6, s64 n7, s64 n8, s64 n9, s64 n10) {  // nest 0\n"
        "  for (s64 i0 = n9 + s64(blockIdx.z) * 1 + threadIdx.z; i0 < n10; "
        "i0 += s64(gridDim.z) * 1) {\n"
        "    for (s64 i1 = n7 + s64(blockIdx.y) * 8 + threadIdx.y; i1 < n8; "
        "i1 += s64(gridDim.y) * 8) {\n"
        "        const f64 v1 = p1[i0 * n2];\n"
        "      f64* const r0 = p0 + (i1 - 1) * n0 + i0 * n1;\n"
        "      f64* const r1 = p2 + i1 * n3 + i0 * n4;\n"
        "      const s64 i2 = n5 + s64(blockIdx.x) * 32 + threadIdx.x; if (i2 < n6) {\n"
        "          const f64 v0 = r0[i2];\n"
        "          const f64 v2 = v0 * v1;\n"
        "          r1[i2] = v2;\n"
        "  }}}\n"
        "}"
    )


def test_a_launch_names_integers_of_the_plan() -> None:
    lowered = pointwise()
    interface = ONE_POINT.run(lowered=lowered, variant=all_unit(lowered, I))["interface"]
    (launch,) = interface.launches
    assert [str(interface.ints[place]) for place in launch.blocks] == [
        "floordiv(mul(start(out, I), -1) + stop(out, I) + 31, 32)",
        "min(65535, floordiv(mul(start(out, J), -1) + stop(out, J) + 7, 8))",
        "min(65535, mul(start(out, K), -1) + stop(out, K))",
    ]
    assert launch.threads == (32, 8, 1)
    assert interface.platform == "cuda"
    assert interface.device == 2


def test_a_program_is_one_text_for_both_vendors() -> None:
    lowered = laplacians(3)
    sources = [
        CodegenGpu(GpuTarget(arch)).run(lowered=lowered, variant=Variant())["generated"].source
        for arch in ("sm_90", "gfx90a")
    ]
    assert sources[0] == sources[1]


def test_the_source_has_no_name_of_the_user_and_no_header() -> None:
    source = STAGE.run(lowered=laplacians(3), variant=Variant())["generated"].source
    assert "#include" not in source
    assert "__builtin" not in source
    assert not re.search(r"\b(u|out|chain|I|J)\b", source)


def test_the_loops_say_what_is_a_thread_and_why_values_are_where_they_are() -> None:
    lowered = laplacians(3)
    loops = STAGE.run(lowered=lowered, variant=all_unit(lowered, I))["generated"].loops
    assert "  gpu block " in loops
    assert re.search(r"^ +thread I: start", loops, re.MULTILINE)
    assert re.search(r"# %\d+ is (computed in place|an array): \d+ points", loops)
