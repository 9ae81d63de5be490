"""Functions written out in generated code: how right they are, and when they are taken."""

import functools
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mathematics import Function, compiled as newly_compiled, definitions, drawn, errors, special

from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages import Lowered, Target, Variant
from fieldforge.stages.codegen import mathematics
from fieldforge.stages.codegen.cpu.stage import FLAGS, Codegen
from fieldforge.stages.ir import dataflow
from fieldforge.stages.lower.graph import Graph

from ..programs import REAL, TARGET, Field, I, all_unit, make_program, whole

compiled = functools.cache(newly_compiled)

# units in the last place; longer runs (`make ulps`) find little more
LARGEST = {"log_f64": 0.9, "log_f32": 0.9, "arctan_f64": 0.9}
LARGEST |= dict.fromkeys(("arcsin_f64", "arccos_f64", "cbrt_f64"), 0.7)
LARGEST |= dict.fromkeys(("sinh_f64", "arcsinh_f64", "arctanh_f64"), 1.8)
LARGEST |= {"arccosh_f64": 2.4, "arctanh_f64": 2.1, "tanh_f64": 1.4}
ROUNDED = 0.51  # what is computed in float64 and then rounded to float32


def largest(name: str) -> float:
    return ROUNDED if is_rounded(name) else LARGEST.get(name, 1.2)


def is_rounded(name: str) -> bool:
    return name.endswith("f32") and name not in ("exp_f32", "log_f32")


def of_one_operation(*ops: str, dtype: str = REAL) -> Lowered:
    graph = Graph()
    row = graph.input("a", (I,), dtype)
    for op in ops:
        row = graph.map(op, (row, row) if op == "pow" else (row,))
    fields = [("a", dtype, (I,)), ("out", dtype, (I,))]
    return make_program("one", graph, fields, [("out", whole("out", (I,)), row)])


def source_of(lowered: Lowered, **options: object) -> str:
    stage = Codegen(**{"target": TARGET, **options})  # type: ignore[arg-type]
    return stage.run(lowered=lowered, variant=all_unit(lowered, I))["generated"].source  # type: ignore[attr-defined, no-any-return]


# Most functions of float32 convert what those of float64 give; two of them always run.
ROUNDED_ONES = {each for each in mathematics.NAMES if is_rounded(each)}
SOME = [
    pytest.param(each, marks=pytest.mark.in_full)
    if each in ROUNDED_ONES - {"tanh_f32", "cbrt_f32"}
    else each
    for each in mathematics.NAMES
]
needs_libquadmath = pytest.mark.skipif(os.uname().machine != "x86_64", reason="no libquadmath")


@needs_libquadmath
@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", SOME)
def test_functions_are_right_to_about_one_unit_in_the_last_place(name: str) -> None:
    most, at = errors(compiled(name), count=20_000)
    assert most <= largest(name), at


@needs_libquadmath
@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", ["exp_f64", "log_f32", "pow_f64", "pow_f32", "arctan_f64"])
def test_bits_depend_on_no_instruction_set_and_no_place_in_a_loop(name: str) -> None:
    known, other = compiled(name, "x86-64"), compiled(name)
    for arguments in drawn(known, 1000, seed=3):
        expected = bits(known, *arguments)
        np.testing.assert_array_equal(bits(other, *arguments), expected)
        few = [np.ascontiguousarray(each[:61:-1][:13]) for each in arguments]
        np.testing.assert_array_equal(bits(other, *few), expected[:61:-1][:13])


def bits(function: Function, *arguments: np.ndarray) -> np.ndarray:
    values = function.call("own", *arguments)
    values[np.isnan(values)] = np.nan  # of any sign and payload
    return values.view(f"u{values.itemsize}")


@needs_libquadmath
@pytest.mark.needs_compiler
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_powers_have_the_values_of_c99_where_they_are_special(dtype: str) -> None:
    function = compiled(f"pow_{dtype}")
    base, exponent = (
        np.ascontiguousarray(each.ravel())
        for each in np.meshgrid(special(function.dtype, every=200), [0.0, -0.0, 0.5, -3, 2, np.inf])
    )
    exponent = exponent.astype(function.dtype)
    with np.errstate(all="ignore"):
        expected = np.float_power(base, exponent).astype(function.dtype)
    given = function.call("own", base, exponent)
    np.testing.assert_array_equal(np.isnan(given), np.isnan(expected))
    np.testing.assert_array_equal(np.signbit(given), np.signbit(expected) & ~np.isnan(expected))
    np.testing.assert_array_equal(given == 0, expected == 0)


def report_on_loops(isa: str) -> str:
    """Compile a loop of each function at once; return what GCC says of the lines."""
    lines: list[str] = []
    for name in mathematics.NAMES:
        lines += [line for line in definitions(name) if line not in lines]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "loops.cpp")
        for name in mathematics.NAMES:
            real, two = name[-3:], name.startswith("pow")
            lines += [
                f'extern "C" void loop_of_{name}'
                f"(const {real}* a, const {real}* b, {real}* __restrict out, s64 n) {{",
                "#pragma omp simd",
                f'#line 1 "{name}"',
                f"for (s64 i = 0; i < n; ++i) out[i] = {name}(a[i]{', b[i]' * two}); }}",
            ]
        path.write_text("\n".join(lines))
        flags = [*(flag for flag in FLAGS if flag != "-shared"), *Target(isa=isa).flags, "-c"]
        command = ["c++", *flags, "-fopt-info-vec-optimized", str(path), "-o", f"{folder}/o"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.needs_compiler
@pytest.mark.parametrize("isa", ["x86-64-v3", "x86-64-v4"])
def test_loops_of_functions_are_vectorised(isa: str) -> None:
    version = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
    if "Free Software Foundation" not in version.stdout or os.uname().machine != "x86_64":
        pytest.skip("the report is one of GCC for x86-64")
    found = r"^(\w+):1:.*loop vectorized using \d+ byte vectors"
    assert set(re.findall(found, report_on_loops(isa), re.MULTILINE)) == set(mathematics.NAMES)


@pytest.mark.needs_compiler
def test_flags_that_reorder_sums_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.cpp"
    path.write_text("\n".join(definitions("exp_f64")))
    command = ["c++", "-fsyntax-only", "-ffast-math", str(path)]
    report = subprocess.run(command, capture_output=True, text=True, check=False)
    assert report.returncode != 0
    assert "choose mathematics='library'" in report.stderr


def test_only_the_functions_that_are_used_are_written() -> None:
    source = source_of(of_one_operation("exp"))
    assert "exp_f64(r" in source
    assert "log_f64" not in source
    assert "exp_f32" not in source
    assert "omp declare simd" not in source


def test_functions_are_defined_before_those_that_call_them() -> None:
    source = source_of(of_one_operation("tanh", "pow", "cbrt", dtype="float32"))
    names = re.findall(r"^EACH \w+ (\w+)\(", source, re.MULTILINE)
    for place, name in enumerate(names):
        first = re.search(rf"\b{name}\(", source)
        assert first is not None
        assert source[: first.start()].count("\nEACH ") >= place - names[:place].count(name)


@pytest.mark.parametrize(
    "options",
    [
        {"mathematics": "library"},
        {"numerics": "strict"},
        {"numerics": "fast"},  # sums in any order would undo what the functions rest on
        {"target": Target(isa="x86-64-v2")},  # multiply-adds would be calls
    ],
)
def test_the_library_is_called_where_functions_of_our_own_would_not_do(
    options: dict[str, object],
) -> None:
    source = source_of(of_one_operation("exp", "tanh"), **options)
    assert "EACH" not in source
    assert "__builtin_tanh" in source


def test_functions_without_a_text_of_their_own_stay_with_the_library() -> None:
    source = source_of(of_one_operation("exp", "sin", "gamma"))
    assert "exp_f64(r" in source
    assert "__builtin_sin(" in source  # a target without libmvec
    assert "__builtin_tgamma(" in source


@pytest.mark.parametrize("exponent", [("float64", "2.0"), ("int32", "2")])
def test_a_square_is_a_product(exponent: tuple[str, str]) -> None:
    source = source_of(power_of(lambda graph: graph.literal(*exponent)))
    assert "v0 * v0" in source
    assert "pow" not in source


def test_an_integer_exponent_is_converted() -> None:
    lowered = power_of(lambda graph: graph.input("n", (I,), "int32"), ("n", "int32", (I,)))
    assert "pow_f64(v0, f64(v1))" in source_of(lowered)


def power_of(exponent: Callable[[Graph], int], *more: Field) -> Lowered:
    graph = Graph()
    args = (graph.input("a", (I,), REAL), exponent(graph))
    row = graph.add(dataflow.Map(op="pow", args=args, dims=(I,), dtype=REAL))
    fields = [("a", REAL, (I,)), *more, ("out", REAL, (I,))]
    return make_program("one", graph, fields, [("out", whole("out", (I,)), row)])


def test_the_option_is_part_of_the_key() -> None:
    assert Codegen(target=TARGET) != Codegen(target=TARGET, mathematics="library")


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(
        OptionError, match=r"'mathematics' of stage 'codegen' takes .*, got 'libary'"
    ):
        Codegen(target=TARGET, mathematics="libary")


def test_a_variant_without_strides_has_the_same_functions() -> None:
    lowered = of_one_operation("log")
    stage = Codegen(target=TARGET)
    source = stage.run(lowered=lowered, variant=Variant())["generated"].source
    assert "log_f64(r" in source
