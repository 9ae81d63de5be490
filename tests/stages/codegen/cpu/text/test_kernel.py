import re
from typing import Any

import numpy as np
import pytest

from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.ir.bounds import Const, DomainSymbol, Range, ScalarSymbol
from fieldforge.stages.lower.graph import Graph

from ...programs import REAL, TARGET, I, J, K, Runner, all_unit, laplacians, make_program, whole

RNG = np.random.default_rng(7)


def stencil(u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    total = ((u[2:, 1:-1] + u[:-2, 1:-1]) + u[1:-1, 2:]) + u[1:-1, :-2]
    return 4.0 * u[1:-1, 1:-1] - total


def fortran(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.asfortranarray(RNG.random(shape))


def test_the_source_has_no_name_of_the_user_and_no_header() -> None:
    lowered = laplacians(3)
    source = Codegen(target=TARGET).run(lowered=lowered, variant=Variant())["generated"].source
    assert "#include" not in source
    assert not re.search(r"\b(u|out|chain|I|J)\b", source)


def test_a_small_program_is_written_as_one_would_by_hand() -> None:
    graph, dims = Graph(), (I, J, K)
    u, bottom = graph.input("u", dims, REAL), graph.input("bottom", (K,), REAL)
    value = graph.map("mul", (graph.shift(u, J, -1), bottom))
    fields = [("u", REAL, dims), ("bottom", REAL, (K,)), ("out", REAL, dims)]
    lowered = make_program("one", graph, fields, [("out", whole("out", dims), value)])
    stage = Codegen(target=TARGET, parallel_from=1000, stream_from=0, prefetch=False)
    source = stage.run(lowered=lowered, variant=all_unit(lowered, I))["generated"].source
    assert source.partition("  {  // nest 0\n")[2] == (
        "  if (n5 < n6 && n7 < n8 && n9 < n10) {\n"
        "  const s64 m0 = later(0, n10 - n9);\n"
        "  const s64 m1 = later(0, n8 - n7);\n"
        "  share(context, m0 * m1, 65536, (n10 - n9) * (n8 - n7) * (n6 - n5), 1000, "
        "[=](s64 begin, s64 end, s64) INLINE {\n"
        "    for (s64 turn = begin, i0 = n9 + (begin / m1), i1 = n7 + (begin % m1); "
        "turn < end; ++turn, ++i1) {\n"
        "      if (i1 >= n8) i1 = n7, i0 += 1;\n"
        "        const f64 v1 = p1[i0 * n2];\n"
        "        f64* r0 = p0 + (i1 - 1) * n0 + i0 * n1;\n"
        "        f64* r1 = p2 + i1 * n3 + i0 * n4;\n"
        "        {\n"
        "          const auto strip = [=](s64 b, s64 count) INLINE {\n"
        "#pragma omp simd\n"
        "            for (s64 l = 0; l < 4; ++l) if (l < count) {\n"
        "              const s64 i2 = b + l;\n"
        "              r1[i2] = r0[i2] * v1;\n"
        "            }\n"
        "          };\n"
        "          s64 b = n5;\n"
        "          const bool again = n6 - b >= 4 && p2 != p0;\n"
        "          const s64 whole = n6 - (again ? 0 : (n6 - b) % 4);\n"
        "          for (; b < whole; b += 4) {\n"
        "            b = earlier(b, n6 - 4);\n"
        "            strip(b, 4);\n"
        "          }\n"
        "          if (b < n6) masked(strip, b, n6 - b);\n"
        "        }\n"
        "  }});}}\n"
        "  return 0;\n"
        "}\n"
    )


@pytest.mark.needs_compiler
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_chains_of_stencils_agree_bit_for_bit_in_any_layout(count: int) -> None:
    lowered = laplacians(count)
    u = fortran((12 + 2 * count, 9 + 2 * count))
    expected = u
    for _ in range(count):
        expected = stencil(expected)
    origins = [(-count, 5 - count), (0, 5)]
    layouts = {
        "I": (u, np.zeros((12, 9), order="F")),
        "J": (np.ascontiguousarray(u), np.zeros((12, 9))),
        "": (np.repeat(u, 3, axis=0)[::3], np.zeros((24, 18))[::2, ::2]),
    }
    for dim, (source, out) in layouts.items():
        variant = Variant(unit=tuple((name, dim) for name in ("u", "out") if dim))
        Runner(lowered, variant, parallel_from=1)(source, out, origins=origins)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.needs_compiler
def test_values_over_fewer_dimensions_scalars_and_bools_meet() -> None:
    graph, dims = Graph(), (I, J, K)
    u, z = graph.input("u", dims, "float32"), graph.input("z", (I, J), "float32")
    p, q = graph.input("p", (K,), "float32"), graph.input("q", (), "float32")
    dt, on = graph.scalar("dt", "float32"), graph.scalar("on", "bool")
    mask = graph.map("and", (graph.input("mask", (J,), "bool"), on))
    heavy = graph.map("sqrt", (graph.map("sqrt", (graph.map("mul", (z, dt)),)),))
    value = graph.map("add", (graph.map("mul", (u, heavy)), graph.map("div", (p, q))))
    value = graph.map("select", (mask, value, u))
    shapes = {"u": dims, "z": (I, J), "p": (K,), "q": (), "out": dims}
    fields = [(name, "float32", over) for name, over in shapes.items()]
    fields += [("mask", "bool", (J,)), ("dt", "float32", None), ("on", "bool", None)]
    lowered = make_program("mixed", graph, fields, [("out", whole("out", dims), value)])
    sizes = {I: 9, J: 7, K: 5}
    arrays = [
        RNG.random(tuple(sizes[d] for d in over)).astype("float32") for over in shapes.values()
    ]
    u_, z_, p_, q_, _ = arrays
    mask_ = RNG.random(7) < 0.5
    result = u_ * np.sqrt(np.sqrt(z_ * np.float32(0.3)))[:, :, None] + p_ / q_

    for variant in (Variant(), all_unit(lowered, K)):
        out = np.zeros((9, 7, 5), "float32")
        arrays[4] = out
        if variant == Variant():
            arrays[0] = np.asfortranarray(u_)
        Runner(lowered, variant)(*arrays, mask_, 0.3, True)
        np.testing.assert_array_equal(out, np.where(mask_[:, None], result, u_))
        arrays[0] = u_


@pytest.mark.needs_compiler
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_an_empty_domain_touches_nothing(shape: tuple[int, int]) -> None:
    # no halo at all: any read would be outside
    Runner(laplacians(3))(np.zeros((0, 0)), np.zeros(shape))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("box", ["u", "w"])
def test_two_fields_are_swapped_by_one_statement(box: str) -> None:
    graph, dims = Graph(), (I, J)
    u, w = graph.input("u", dims, REAL), graph.input("w", dims, REAL)
    stores = [("u", whole("u", dims), w), ("w", whole(box, dims), u)]
    lowered = make_program("swap", graph, [("u", REAL, dims), ("w", REAL, dims)], stores)
    u_, w_ = RNG.random((6, 5)), RNG.random((6, 5))
    old = u_.copy(), w_.copy()
    Runner(lowered)(u_, w_)
    np.testing.assert_array_equal(u_, old[1])
    np.testing.assert_array_equal(w_, old[0])


@pytest.mark.needs_compiler
@pytest.mark.parametrize("n", [0, 20, 50])
def test_a_field_is_updated_in_place_in_two_parts(n: int) -> None:
    graph, split = Graph(), ScalarSymbol("n")
    u = graph.input("u", (I,), REAL)
    stores = [
        ("u", (Range(I, Const(0), split),), graph.map("add", (u, u))),
        ("u", (Range(I, split, DomainSymbol("stop", "u", I)),), graph.map("neg", (u,))),
    ]
    lowered = make_program("parts", graph, [("u", REAL, (I,)), ("n", "int32", None)], stores)
    u_ = RNG.random(50)
    expected = np.concatenate([u_[:n] + u_[:n], -u_[n:]])
    runner = Runner(lowered)
    runner(u_, n)
    np.testing.assert_array_equal(u_, expected)
    assert "arena" not in runner.loops


@pytest.mark.needs_compiler
def test_constants_and_fields_without_dimensions_are_written() -> None:
    graph = Graph()
    q = graph.input("q", (), REAL)
    seven = graph.literal("int32", "7")
    fields = [("q", REAL, ()), ("r", REAL, ()), ("o", "int32", (K,))]
    statements = [[("r", (), graph.map("add", (q, q)))], [("o", whole("o", (K,)), seven)]]
    lowered = make_program("small", graph, fields, *statements)
    r, o = np.array(0.0), np.zeros(9, "int32")
    Runner(lowered)(np.array(2.5), r, o)
    assert r == 5.0
    np.testing.assert_array_equal(o, np.full(9, 7, "int32"))
