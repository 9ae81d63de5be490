import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import where
from fieldforge.runtime.fields.constructors import as_field, zeros
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.errors import ArgumentError, OptionError, UndefinedSymbolError
from fieldforge.workflows.backends.backend import cpu, reference
from fieldforge.workflows.entries.decorators import field_operator, program

from ...dimensions import I, J, Plane
from ...processes import python

pytestmark = pytest.mark.usefixtures("own_engine")


@field_operator(backend=None)
def laplacian(u: Plane) -> Plane:
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u


@field_operator(backend=None)
def parts(u: Plane, least: float) -> tuple[Plane, Plane]:
    """Split at a value."""
    return where(u < least, u, 0.0), where(u < least, 0.0, u)


@program(backend=None)
def smooth(u: Plane, out: Plane):
    """Apply the operator inside."""
    laplacian(u, out=out, domain={I: (1, 7), J: (1, 5)})


@pytest.fixture
def u():
    return as_field((I, J), np.random.default_rng(7).normal(size=(8, 6)))


def by_hand(u):
    a = u.asnumpy()
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4.0 * a[1:-1, 1:-1]


def test_decorated_objects_look_like_their_functions():
    assert (parts.__name__, parts.__doc__) == ("parts", "Split at a value.")
    assert (smooth.__name__, smooth.__doc__) == ("smooth", "Apply the operator inside.")
    assert smooth.definition.__name__ == "smooth"
    assert smooth.__definition__.kind == "program"
    assert smooth.backend is None
    assert repr(smooth.with_backend("cpu")) == "<program smooth (cpu)>"


def test_backend_that_is_an_allocator_is_that_of_the_program():
    assert smooth.with_backend(cpu).__gt_allocator__ is cpu.allocator
    with pytest.raises(ArgumentError, match="runs embedded and has no allocator"):
        _ = smooth.__gt_allocator__


def test_a_name_of_the_language_that_was_not_imported_is_shown_with_its_import():
    with pytest.raises(UndefinedSymbolError, match="'fmod'") as caught:

        @field_operator
        def remainder(u: Plane) -> Plane:
            return fmod(u, u)  # noqa: F821

    assert caught.value.hints == ("Use 'fmod' of the language: 'from fieldforge import fmod'.",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"enable_jti": True},
            "no compilation option 'enable_jti'.\nHint: Did you mean 'enable_jit'",
        ),
        ({"backend": "cup"}, "no backend 'cup'.\nHint: Did you mean 'cpu'"),
        ({"grid_type": "round"}, "no grid type 'round'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        field_operator(laplacian.definition, **options)


def test_default_backend_is_read_from_the_environment(tmp_path):
    script = "from tests_script import op\nprint(op.backend.name)"
    (tmp_path / "tests_script.py").write_text(
        "from fieldforge import *\n"
        "from fieldforge import Dimension, Field, field_operator\n"
        "I = Dimension('I')\n"
        "@field_operator\n"
        "def op(u: Field[[I], float64]) -> Field[[I], float64]:\n"
        "    return u + 1.0\n"
    )
    variables = {"FIELDFORGE_BACKEND": "reference", "FIELDFORGE_CACHE_DIR": str(tmp_path / "cache")}

    done = python("-c", script, cwd=tmp_path, env=variables)

    assert (done.stdout, done.stderr) == ("reference\n", "")


def test_embedded_program_advises_to_select_a_backend(u):
    with pytest.warns(UserWarning, match="Program 'smooth' runs embedded") as seen:
        smooth(u, zeros({I: 8, J: 6}))

    assert seen[0].filename == __file__


def test_operator_does_not_warn(u):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        laplacian(u, out=zeros({I: (1, 7), J: (1, 5)}))


@pytest.mark.needs_compiler
def test_layout_without_unit_stride_runs(u):
    wide = make(np.zeros((16, 12))[::2, ::2], domain({I: 8, J: 6}))

    smooth.with_backend(cpu)(u, wide)

    np.testing.assert_allclose(wide.asnumpy()[1:-1, 1:-1], by_hand(u), rtol=1e-14)


@pytest.mark.needs_compiler
def test_one_program_may_be_called_by_many_threads(u, seen):
    compiled = smooth.with_backend(cpu)
    start = threading.Barrier(8)

    def call(_):
        out = zeros({I: 8, J: 6})
        start.wait()
        compiled(u, out)
        return out.asnumpy()[1:-1, 1:-1]

    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(call, range(8)):
            np.testing.assert_allclose(result, by_hand(u), rtol=1e-14)

    assert len(seen.ran("compile")) == 1


@pytest.mark.needs_compiler
def test_trace_shows_every_stage(own_engine):
    trace = smooth.with_backend(cpu).trace()

    assert list(trace) == ["parse", "lower", "codegen", "compile", "bind", "decorate"]
    assert trace["lower"].text.startswith("program smooth(u, out)")
    assert "fieldforge_entry_v1" in trace["codegen"].text
    assert trace["codegen"].loops.startswith("kernel smooth")


def test_trace_stops_where_it_is_told(u):
    assert list(smooth.with_backend(cpu).trace(u, u, until="lower")) == ["parse", "lower"]


def test_trace_of_an_embedded_program_is_that_of_the_reference():
    assert list(smooth.trace()) == ["parse", "lower", "interpret"]


def test_own_pass_is_run_keyed_and_shown(u, seen):
    changed = reference.with_workflow(reference.workflow.insert_after("lower", keep))
    own = smooth.with_backend(changed)
    out = zeros({I: 8, J: 6})

    own(u, out)

    np.testing.assert_allclose(out.asnumpy()[1:-1, 1:-1], by_hand(u), rtol=1e-14)
    assert seen.ran("keep") == ("keep",)
    assert own.trace()["keep"].text == own.trace()["lower"].text
    assert own.trace()["keep"].outcome == "memory"


def keep(program):
    return program


def test_compile_of_an_embedded_program_is_refused():
    with pytest.raises(OptionError, match="runs embedded; there is nothing to compile"):
        smooth.compile()
