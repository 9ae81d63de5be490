"""Section 10: configuring and compiling programs and operators."""

import enum

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, int32
from fieldforge.workflows.backends.backend import BACKENDS

from ..dimensions import V2E, Edge, I, Line, V2EDim, Vertex
from .support import MESH, EdgeField, VertexField, assert_gives, field, random, scale, scaled


@ff.field_operator(backend=None)
def chosen(u: Line, flag: bool, n: int32) -> Line:
    return u * ff.astype(n, float64) if flag else -u


@ff.program(backend=None)
def choose(u: Line, flag: bool, n: int32, out: Line):
    chosen(u, flag, n, out=out)


@ff.field_operator(backend=None)
def around(e: EdgeField) -> VertexField:
    return ff.neighbor_sum(e(V2E), axis=V2EDim)


@ff.program(backend=None)
def go_around(e: EdgeField, out: VertexField):
    around(e, out=out)


class Mode(int, enum.Enum):
    SLOW = 2
    FAST = 3


def call(program, *args, **kwargs):
    """Call a program on a line of random numbers; return those and the result."""
    u, out = random(4), ff.zeros({I: 4})
    program(field(I, u), *args, out=out, **{"offset_provider": {}, **kwargs})
    return u, out.asnumpy()


class TestObjects:
    def test_10_attributes(self, compiled):
        program = scale.with_backend(compiled)

        assert program.__name__ == "scale"
        assert program.backend is compiled
        assert callable(program.definition)
        assert program.compilation_options.static_params is None
        assert program.__gt_allocator__ is compiled.allocator
        assert program.__gt_type__() is not None

    def test_10_methods_return_other_objects(self, compiled):
        other = scale.with_backend(compiled)

        assert other is not scale
        assert scale.backend is None
        assert other.with_backend(None).backend is None

    def test_10_the_grid_type_is_deduced_and_overridden(self):
        for grid in (ff.GridType.CARTESIAN, ff.GridType.UNSTRUCTURED):
            assert scale.with_grid_type(grid).__name__ == "scale"
        assert go_around.with_grid_type(ff.GridType.UNSTRUCTURED).__name__ == "go_around"
        with pytest.raises(ValueError, match=r"(?i)cartesian"):
            go_around.with_grid_type(ff.GridType.CARTESIAN)
        with pytest.raises(ValueError, match=r"(?i)cartesian"):
            ff.program(go_around.definition, grid_type=ff.GridType.CARTESIAN)

    def test_10_the_module_has_a_default_backend(self, monkeypatch, compiled):
        from fieldforge.ffront import decorator

        monkeypatch.setattr(decorator, "DEFAULT_BACKEND", compiled)

        assert ff.field_operator(scaled.definition).backend is compiled
        assert ff.field_operator(scaled.definition, backend=None).backend is None
        monkeypatch.undo()
        assert ff.field_operator(scaled.definition).backend is None


class TestBoundArguments:
    def test_10_bound_arguments_are_given_no_more(self, backend):
        u, out = call(scale.with_backend(backend).with_bound_args(by=3.0))

        np.testing.assert_array_equal(out, u * 3.0)

    def test_10_a_name_that_is_none_is_refused(self):
        with pytest.raises(TypeError, match="Keyword argument 'buy' is not a valid program param"):
            scale.with_bound_args(buy=1.0)

    def test_10_a_bound_argument_is_not_given_again(self, backend):
        bound = scale.with_backend(backend).with_bound_args(by=3.0)

        with pytest.raises(TypeError) as caught:
            call(bound, by=2.0)

        told = f"{caught.value}\n{caught.value.__cause__}"
        assert "Parameter 'by' already set as a bound argument." in told

    def test_10_bound_programs_are_compiled_ahead(self, compiled):
        program = scale.with_backend(compiled).with_compilation_options(enable_jit=False)
        tripled = program.with_bound_args(by=3.0)

        tripled.compile(offset_provider={})

        u = ff.as_field([I], np.array([1.0, 2.0]))
        out = ff.zeros({I: 2})
        tripled(u=u, out=out)
        np.testing.assert_array_equal(out.asnumpy(), [3.0, 6.0])


class TestCompile:
    def test_10_compile_returns_the_object(self, compiled):
        program = scale.with_backend(compiled)

        assert program.compile(offset_provider={}) is program

    def test_10_without_jit_a_variant_must_be_there(self, compiled):
        program = scale.with_backend(compiled).with_compilation_options(enable_jit=False)

        with pytest.raises(
            RuntimeError, match=r"No program compiled for this set of static arguments of 'scale'"
        ):
            call(program, 2.0)
        program.compile(offset_provider={})
        u, out = call(program, 2.0)

        np.testing.assert_array_equal(out, u * 2.0)

    def test_10_enable_jit_at_the_call_wins(self, compiled):
        never = scale.with_backend(compiled).with_compilation_options(enable_jit=False)
        always = scale.with_backend(compiled)

        u, out = call(never, 2.0, enable_jit=True)
        np.testing.assert_array_equal(out, u * 2.0)
        with pytest.raises(RuntimeError, match="No program compiled"):
            call(always, 2.0, enable_jit=False)

    def test_10_all_combinations_of_static_values_are_compiled(self, compiled):
        program = choose.with_backend(compiled).with_compilation_options(enable_jit=False)
        program.compile(flag=[True, False], n=[2, 3], offset_provider={})

        for flag in (True, False):
            for n in (2, 3):
                u, out = call(program, flag, n)
                np.testing.assert_array_equal(out, u * n if flag else -u)
        with pytest.raises(RuntimeError, match=r"(?s)flag.*True.*n.*4"):
            call(program, True, 4)

    def test_10_static_values_are_lists(self, compiled):
        with pytest.raises(TypeError):
            choose.with_backend(compiled).compile(flag=True, offset_provider={})

    def test_10_a_variant_is_compiled_once(self, compiled):
        program = choose.with_backend(compiled).compile(flag=[True], offset_provider={})

        with pytest.raises(ValueError, match=r"(?i)already"):
            program.compile(flag=[True], offset_provider={})

    def test_10_the_static_parameters_stay_the_same(self, compiled):
        program = choose.with_backend(compiled).compile(flag=[True], offset_provider={})

        with pytest.raises((ValueError, TypeError, ff.errors.FieldforgeError)):
            program.compile(n=[1], offset_provider={})

    def test_10_static_values_have_exactly_the_type(self, compiled):
        with pytest.raises(ff.errors.DSLTypeError, match=r"expected 'int32', but static value"):
            choose.with_backend(compiled).compile(n=[1.5], offset_provider={})
        with pytest.raises(ff.errors.DSLTypeError, match="Invalid static argument 'u' with type"):
            choose.with_backend(compiled).compile(u=[field(I, random(3))], offset_provider={})
        with pytest.raises(ff.errors.DSLTypeError, match="Invalid parameter expression 'm'"):
            choose.with_backend(compiled).compile(m=[1], offset_provider={})

    def test_10_tables_are_given_at_compile_and_at_calls(self, compiled):
        program = go_around.with_backend(compiled).with_compilation_options(enable_jit=False)
        program.compile(offset_provider=MESH)
        ff.wait_for_compilation()
        e, out = random(9), ff.zeros({Vertex: 6})

        program(field(Edge, e), out, offset_provider=MESH)

        assert out.asnumpy().any()

    def test_10_tables_may_be_a_list_or_an_option(self, compiled):
        several = go_around.with_backend(compiled).compile(offset_provider=[MESH])
        option = go_around.with_backend(compiled).with_compilation_options(connectivities=MESH)
        option.compile()

        for program in (several, option):
            out = ff.zeros({Vertex: 6})
            program(ff.ones({Edge: 9}), out, offset_provider=MESH)
            assert out.asnumpy().tolist() == [3.0, 4.0, 2.0, 2.0, 4.0, 3.0]

    def test_10_without_any_tables_compile_says_so(self, compiled):
        with pytest.raises(ValueError, match="connectivities"):
            go_around.with_backend(compiled).compile()

    def test_10_waiting_for_nothing_returns(self):
        assert ff.wait_for_compilation() is None

    def test_10_a_failure_in_the_background_is_raised_once(self):
        broken = ff.recipes.cpu(flags=("-fno-such-flag",))

        def build():
            scale.with_backend(broken).compile(offset_provider={})
            ff.wait_for_compilation()

        with pytest.raises(ff.errors.CompilationError):
            build()

        assert ff.wait_for_compilation() is None

    def test_10_operators_are_compiled_too(self, compiled):
        operator = scaled.with_backend(compiled).compile(offset_provider={})
        u = random(4)

        assert_gives(u * 2.0, operator, field(I, u), 2.0, on={I: 4}, backend=compiled)


class TestStaticParameters:
    def test_10_values_become_variants(self, compiled):
        program = choose.with_backend(compiled).with_static_params("flag", "n")

        for flag, n in ((True, 2), (False, 2), (True, 5)):
            u, out = call(program, flag, n)
            np.testing.assert_array_equal(out, u * n if flag else -u)

    def test_10_enum_members_count_by_value(self, compiled):
        program = choose.with_backend(compiled).with_static_params("n")
        program.compile(n=[Mode.SLOW, Mode.FAST], offset_provider={})

        u, out = call(program, True, 3, enable_jit=False)
        np.testing.assert_array_equal(out, u * 3.0)

    def test_10_static_parameters_may_be_tuples(self, compiled):
        @ff.field_operator(backend=None)
        def summed(u: Line, pair: tuple[float64, tuple[int32, float64]]) -> Line:
            return u * pair[0] + pair[1][1]

        @ff.program(backend=None)
        def program(u: Line, pair: tuple[float64, tuple[int32, float64]], out: Line):
            summed(u, pair, out=out)

        compiled_program = program.with_backend(compiled).with_static_params("pair")
        u, out = call(compiled_program, (2.0, (1, 0.5)))

        np.testing.assert_array_equal(out, u * 2.0 + 0.5)

    def test_10_fields_are_not_static(self, compiled):
        with pytest.raises(ff.errors.DSLTypeError, match="Invalid static argument 'u' with type"):
            call(choose.with_backend(compiled).with_static_params("u"), True, 2)

    def test_10_they_are_given_to_the_decorator_and_taken_back(self, compiled):
        static = ff.program(choose.definition, backend=compiled, static_params=("flag",))
        again = static.with_static_params(None)

        for program in (static, again):
            u, out = call(program, True, 2)
            np.testing.assert_array_equal(out, u * 2.0)

    def test_10_static_domains_are_part_of_the_variant(self, compiled):
        program = scale.with_backend(compiled).with_compilation_options(static_domains=True)

        for size in (3, 4, 3):
            u, out = random(size), ff.zeros({I: size})
            program(field(I, u), 2.0, out, offset_provider={})
            np.testing.assert_array_equal(out.asnumpy(), u * 2.0)


class TestBackends:
    """10.1."""

    def test_10_1_the_same_three_names_are_there(self):
        assert (ff.gtfn_cpu, ff.itir_python) == (ff.cpu, ff.reference)
        assert ff.gtfn_gpu.name

    def test_10_1_a_backend_has_a_name_and_an_allocator(self, request, compiled):
        name = request.node.callspec.params["compiled"]
        assert isinstance(compiled, ff.Backend)
        assert compiled.name in BACKENDS
        is_on_gpu = compiled.allocator.__gt_device_type__ != ff.DeviceType.CPU
        assert is_on_gpu == (name in ("gpu", "dace_gpu", "gpu-device"))
        assert ff.ones({I: 2}, allocator=compiled).shape == (2,)


def test_10_operators_are_static_too(compiled):
    operator = chosen.with_backend(compiled).with_compilation_options(static_params=("flag",))
    u, out = random(4), ff.zeros({I: 4})

    operator(field(I, u), True, 2, out=out)

    np.testing.assert_array_equal(out.asnumpy(), u * 2.0)
