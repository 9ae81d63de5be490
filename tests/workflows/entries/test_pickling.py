"""Programs, operators, backends and fields go to other processes and come back."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import fieldforge as ff

from ...importable import importable, there_and_back

MODULE = """
import fieldforge as ff

I = ff.Dimension("I")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
Line = ff.Field[ff.Dims[I], ff.float64]
GAIN = 3.0


@ff.field_operator(backend=None)
def scaled(a: Line, by: float) -> Line:
    return a * by + GAIN


@ff.scan_operator(axis=K, forward=False, init=1.0, backend=None)
def summed(state: float, a: float) -> float:
    return state + a


@ff.program(backend=None)
def scale(a: Line, by: float, out: Line):
    scaled(a, by, out=out)


def _plain(a: Line) -> Line:
    return a + 1.0


decorated_later = ff.field_operator(_plain, backend="reference")


def run(program, field):
    out = ff.zeros(field.domain)
    program(field, 2.0, out)
    return out
"""


@pytest.fixture
def model(tmp_path):
    with importable("pickled_model", MODULE, tmp_path) as made:
        yield made


def test_what_was_decorated_comes_back_as_itself(model):
    assert there_and_back(model.scale) is model.scale
    assert there_and_back(model.scaled) is model.scaled
    assert there_and_back(model.summed) is model.summed
    assert there_and_back(model.decorated_later).backend == ff.reference


def test_choices_since_the_decorator_come_back(model):
    chosen = model.scale.with_backend("reference").with_static_params("by")

    found = there_and_back(chosen)

    assert type(found) is type(chosen)
    assert found.backend == ff.reference
    assert found.compilation_options == chosen.compilation_options
    assert there_and_back(model.scale.with_grid_type("cartesian")).__definition__.grid_type == (
        "cartesian"
    )


def test_bound_arguments_are_kept_by_value(model):
    u, out = ff.ones({model.I: 2}), ff.zeros({model.I: 2})
    programs = (
        model.scale.with_bound_args(a=u, by=2.0),
        model.scale.bind(a=u, by=2.0),
        model.scale.with_bound_args(by=2.0).bind(a=u),
    )

    found = [there_and_back(program) for program in programs]
    u.ndarray[...] = 7.0

    for program in found:
        out.ndarray[...] = 0.0
        program(out=out)
        assert out.asnumpy().tolist() == [5.0, 5.0]


def test_a_limit_on_threads_is_kept(model):
    limited = there_and_back(model.scale.with_backend("reference").with_threads(1))

    assert limited.threads == 1
    with pytest.raises(pickle.PicklingError, match="workspace"):
        pickle.dumps(model.scale.with_workspace(np.empty(8, np.uint8)))


def test_another_process_runs_a_pickled_program(model):
    field = ff.as_field([model.I], [1.0, 2.0])

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(model.run, (model.scale, field))

    assert found.asnumpy().tolist() == [5.0, 7.0]


def test_another_definition_under_the_name_is_an_error(model, monkeypatch):
    pickled = [pickle.dumps(value) for value in (model.scale, model.scaled)]
    monkeypatch.setattr(model, "GAIN", 4.0)

    for data in pickled:
        with pytest.raises(pickle.UnpicklingError, match=r"is not what was pickled.*has changed"):
            pickle.loads(data)


def test_a_name_that_holds_no_function_any_more_is_an_error(model, monkeypatch):
    pickled = pickle.dumps(model.scale)
    monkeypatch.setattr(model, "scale", 3)

    with pytest.raises(pickle.UnpicklingError, match="no decorated function"):
        pickle.loads(pickled)


def test_what_has_no_importable_name_says_so(model, monkeypatch):
    @ff.field_operator
    def local(a: ff.Field[[ff.Dimension("I")], float]) -> ff.Field[[ff.Dimension("I")], float]:
        return a

    with pytest.raises(pickle.PicklingError, match=r"local' cannot be pickled: .*a function"):
        pickle.dumps(local)
    before = model.summed
    monkeypatch.setattr(model, "summed", model.scaled)
    with pytest.raises(pickle.PicklingError, match="something else is imported"):
        pickle.dumps(before)


def test_what_a_script_defines_says_so(model):
    model.scale.__module__ = "__main__"

    with pytest.raises(pickle.PicklingError, match="the script that runs"):
        pickle.dumps(model.scale)


@pytest.mark.parametrize("name", ["cpu", "dace_cpu", "reference", "gpu", "dace_gpu"])
def test_a_backend_equals_its_original(name):
    from fieldforge.workflows.backends.backend import find_backend

    backend = find_backend(name)
    found = there_and_back(backend)

    assert found == backend
    assert hash(found) == hash(backend)
    assert found != ff.recipes.cpu(parallel_from=3)


def test_options_of_a_backend_come_back():
    backend = ff.recipes.cpu(parallel_from=3)

    found = there_and_back(backend)

    assert found == backend != ff.cpu
    assert found.options["codegen.parallel_from"] == 3


def test_fields_come_back_with_their_domains(model):
    field = ff.as_field([model.I], [1.0, 2.0], origin={model.I: 1})

    found = there_and_back(field)

    assert found.domain == field.domain
    assert found.asnumpy().tolist() == [1.0, 2.0]


def test_copies_of_a_program_are_itself(model):
    assert copy.copy(model.scale) is copy.deepcopy(model.scale) is model.scale


def test_both_halves_of_a_split_program_go_to_other_processes(model):
    whole, out = ff.as_field([model.I], np.arange(9.0)), ff.zeros({model.I: 9})
    halves = model.scale.split(halo={"a": {model.I: (2, 7)}}, out=out)

    again = pickle.loads(pickle.dumps(halves))

    assert str(again) == str(halves)
    assert again.ready == halves.ready
    for half in (again.inner, again.outer):
        half(whole, 2.0, out)
    np.testing.assert_array_equal(out.asnumpy(), 2 * np.arange(9.0) + 3)
    assert pickle.loads(pickle.dumps(model.scale)) is model.scale
