"""Stencils go to other processes and come back, with what their names stand for."""

from __future__ import annotations

import copy
import importlib
import multiprocessing
import pickle
import sys

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval
from fieldforge.workflows.entries.pickling import NotImportableError, OtherDefinitionError

from ..importable import importable, there_and_back

MODULE = """
import numpy as np
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval

GAIN = 3.0


@gtscript.function
def amplified(x):
    return GAIN * x


@gtscript.stencil(backend="numpy")
def decorated(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        b = amplified(a)


@gtscript.lazy_stencil(backend="numpy", externals={"more": 1.0})
def lazy(a: Field["T"], b: Field["T"]):
    from __externals__ import more
    with computation(PARALLEL), interval(...):
        b = a + more


def plain(a: Field["T"], b: Field["T"], *, w: float = 2.0):
    from __externals__ import more
    with computation(PARALLEL), interval(...):
        b = w * a + more + GAIN


def result_of(stencil):
    a, b = np.ones((2, 1, 3)), np.zeros((2, 1, 3))
    stencil(a, b)
    return b[1, 0, 2]
"""
OPTIONS = {"externals": {"more": 10.0}, "dtypes": {"T": np.float64}}


@pytest.fixture
def model(tmp_path):
    text = MODULE.replace("lazy_stencil(", "lazy_stencil(dtypes={'T': np.float64}, ")
    with importable("pickled_stencils", text, tmp_path) as made:
        yield made


def test_a_decorated_stencil_comes_back_as_itself(model):
    assert there_and_back(model.decorated) is model.decorated
    assert copy.deepcopy(model.decorated) is model.decorated


def test_a_stencil_of_a_plain_function_comes_back_with_its_options(model):
    made = gtscript.stencil("numpy", model.plain, name="models.tracer", **OPTIONS)

    found = there_and_back(made)

    assert type(found).__name__ == type(made).__name__
    assert (found._gt_id_, found.options, found.constants) == (
        made._gt_id_, made.options, made.constants,
    )  # fmt: skip
    assert found.definition_func is model.plain
    assert model.result_of(found) == model.result_of(made) == 2.0 + 10.0 + 3.0


def test_names_keep_what_they_stood_for(model, monkeypatch):
    made = gtscript.stencil("numpy", model.plain, **OPTIONS)
    content = pickle.dumps(made)
    monkeypatch.setattr(model, "GAIN", 100.0)

    assert model.result_of(pickle.loads(content)) == 2.0 + 10.0 + 3.0


@pytest.mark.needs_compiler
def test_a_backend_with_options_comes_back(model):
    backend = ff.cpu.with_options(numerics="strict")
    made = gtscript.stencil(backend, model.plain, **OPTIONS)

    found = there_and_back(made)

    assert found.program.backend == made.program.backend
    assert model.result_of(found) == 15.0


def test_frozen_and_lazy_stencils_and_programs_come_back(model):
    at = {"origin": {"a": (0, 0, 0), "b": (0, 0, 0)}, "domain": (2, 1, 3)}
    frozen = there_and_back(model.decorated.freeze(**at))
    a, b = np.ones((2, 1, 3)), np.zeros((2, 1, 3))

    frozen(a=a, b=b)

    assert frozen.stencil_object is model.decorated
    assert b.tolist() == (3.0 * a).tolist()
    assert model.result_of(there_and_back(model.lazy)) == 2.0
    assert there_and_back(model.lazy).backend.name == "numpy"
    program = there_and_back(model.decorated.program.with_backend("rows"))
    assert program.backend == model.decorated.program.with_backend("rows").backend
    assert program.parameters == model.decorated.program.parameters


def test_a_build_is_neither_repeated_nor_reported_there(model):
    info = {}
    made = gtscript.stencil("numpy", model.plain, rebuild=True, build_info=info, **OPTIONS)

    found = there_and_back(made)

    assert found.options["rebuild"] is False
    assert found._made.options.build_info is None


def test_another_process_makes_the_same_stencil(model):
    made = gtscript.stencil("rows", model.plain, **OPTIONS)

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(model.result_of, (made,)) == 15.0
        assert pool.apply(model.result_of, (model.decorated,)) == 3.0


def test_another_text_under_the_name_is_refused(model, tmp_path):
    content = pickle.dumps(model.decorated)
    file = tmp_path / "pickled_stencils.py"
    file.write_text(file.read_text().replace("b = amplified(a)", "b = amplified(a) + 1.0"))
    sys.modules.pop("pickled_stencils")
    importlib.invalidate_caches()

    with pytest.raises(OtherDefinitionError, match="is not what was pickled"):
        pickle.loads(content)


def test_a_stencil_without_an_importable_name_is_refused(model):
    @gtscript.stencil(backend="numpy")
    def inner(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = a

    with pytest.raises(NotImportableError, match="it is defined inside a function"):
        pickle.dumps(inner)
    old = gtscript.stencil("numpy", model.plain, **OPTIONS)
    model.plain = inner
    with pytest.raises(NotImportableError, match="something else is imported"):
        pickle.dumps(old)
