"""`stencil`: its options, what a stencil object tells of itself, and what its identity holds."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import storage
from fieldforge.cache.memory import Memory
from fieldforge.cartesian import StencilObject, backend, gtscript
from fieldforge.cartesian.gtc.passes.oir_pipeline import DefaultPipeline, MaskInlining
from fieldforge.cartesian.gtscript import IJ, PARALLEL, Field, computation, interval
from fieldforge.cartesian.stencil_builder import StencilBuilder
from fieldforge.workflows.engine.events import Collector

from .stencils import COMPILED, INTERPRETED, inner_levels, made, slopes, value_of


def scaled(a: Field[float], b: Field[float]):
    from __externals__ import factor

    with computation(PARALLEL), interval(...):
        b = factor * a


def typed(a: Field["real"], b: Field[IJ, "real"], w: "real"):  # noqa: F821, UP037
    with computation(PARALLEL), interval(...):
        a = a + b + w


# --- what it tells of itself --------------------------------------------------------------------


def test_a_stencil_tells_what_it_is():
    stencil = made(slopes, COMPILED, name="model.dynamics.slopes_of_a", _hidden=1)

    assert isinstance(stencil, StencilObject)
    assert stencil.backend == COMPILED
    assert stencil.options["name"] == "slopes_of_a"
    assert stencil.options["module"] == "model.dynamics"
    assert stencil.options["_impl_opts"] == {"_hidden": 1}
    assert type(stencil).__name__ == f"slopes_of_a____gtcpu_kfirst_{stencil._gt_id_}"
    assert stencil.definition_func is slopes
    assert stencil.domain_info.parallel_axes == ("I", "J")
    assert stencil.field_info["a"].boundary == ((1, 1), (0, 1), (0, 0))
    assert stencil.field_info["a"].boundary.lower_indices == (1, 0, 0)
    assert stencil.field_info["unused"].mask == (True, True, False)
    assert stencil.parameter_info["w"].dtype == np.float64
    assert "t = a[1, 0, 0] - a" in stencil.source
    assert "Differences of differences" in type(stencil).__doc__
    assert "slopes_of_a" in str(stencil)


def test_a_stencil_has_the_signature_of_its_definition():
    names = [
        *inspect.signature(slopes).parameters,
        "domain",
        "origin",
        "validate_args",
        "exec_info",
    ]

    assert list(inspect.signature(made(slopes)).parameters) == names


def test_a_stencil_is_immutable_and_alone_in_its_class():
    stencil = made(slopes)

    with pytest.raises(AttributeError, match="immutable"):
        stencil.backend = "other"
    with pytest.raises(AttributeError, match="immutable"):
        del stencil.backend
    assert type(stencil)() is stencil
    assert copy.copy(stencil) is stencil
    assert copy.deepcopy(stencil) is stencil
    assert stencil == stencil  # noqa: PLR0124  (compared by class)
    assert stencil != made(scaled, externals={"factor": 1.0})
    assert len({stencil, stencil}) == 1


def test_a_stencil_is_a_definition():
    again = gtscript.stencil(backend="debug", definition=made(slopes))

    assert again.definition_func is slopes
    assert again.backend == "debug"


def test_orchestration_by_dace_is_refused():
    stencil = made(slopes)

    for call in (stencil.__sdfg__, stencil.__sdfg_signature__, stencil.__sdfg_closure__):
        with pytest.raises(TypeError, match="Only dace backends are supported"):
            call()


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("externals", 3, "Invalid 'externals' dictionary"),
        ("dtypes", [], "Invalid 'dtypes' dictionary"),
        ("build_info", "x", "Invalid 'build_info' dictionary"),
        ("cache_settings", 3, "Invalid 'cache_settings' dictionary"),
        ("rebuild", 1, "Invalid 'rebuild' bool value"),
        ("raise_if_not_cached", None, "Invalid 'raise_if_not_cached' bool value"),
        ("format_source", 0, "Invalid 'format_source' bool value"),
        ("name", 3, "Invalid 'name' string"),
        ("literal_int_precision", 16, "Invalid 'literal_int_precision'"),
        ("literal_float_precision", "64", "Invalid 'literal_float_precision'"),
    ],
)
def test_options_of_the_wrong_type_are_refused(option, value, words):
    with pytest.raises(ValueError, match=words):
        made(slopes, **{option: value})


@pytest.mark.parametrize("definition", [3, "text", len])
def test_what_is_no_function_is_refused(definition):
    with pytest.raises(ValueError, match="Invalid stencil definition object"):
        made(definition)


def test_unknown_backends_are_refused():
    with pytest.raises(ValueError, match=r"Backend 'x' is not registered. Valid options are: \["):
        made(slopes, "x")


def test_unknown_options_of_a_backend_warn():
    with pytest.warns(RuntimeWarning, match="Unknown options '{'speed'}' for backend 'numpy'"):
        made(slopes, speed="high")


def test_options_of_the_peer_are_known():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(slopes, COMPILED, opt_level="3", verbose=False, clean=True, debug_mode=False)
        made(slopes, oir_pipeline=DefaultPipeline(skip=[MaskInlining]), ignore_np_errstate=True)


def test_options_of_our_stages_are_taken():
    stencil = made(slopes, "cpu", numerics="strict")

    assert stencil.program.backend.options["lower.numerics"] == "strict"


def test_backends_of_ours_are_taken_as_objects():
    own = ff.cpu.with_options(numerics="strict")

    stencil = made(slopes, own)

    assert stencil.backend == "cpu"
    assert stencil.program.backend.options["codegen.numerics"] == "strict"


def test_no_backend_is_numpy():
    assert made(slopes, None).backend == "numpy"


@pytest.mark.parametrize("name", ["numpy", "debug", "gt:cpu_kfirst", "dace:cpu", "gt:gpu", "cpu"])
def test_names_of_the_peer_select_our_backends(name):
    kind = backend.from_name(name)
    expected = {"numpy": "reference", "debug": "reference", "gt:gpu": "gpu"}

    assert kind.name == name
    assert kind.selected().name == expected.get(name, "cpu")
    assert kind.storage_info["device"] == ("gpu" if "gpu" in name else "cpu")
    assert name in backend.REGISTRY.names


def test_backends_can_be_extended_and_registered():
    parent = backend.from_name("numpy")
    mine = type("Mine", (parent,), {"name": "of this test"})
    backend.register(mine)
    try:
        assert value_of(made(scaled, "of this test", externals={"factor": 2.0})) == 2.0
        with pytest.raises(ValueError, match="already registered"):
            backend.register(mine)
    finally:
        del backend.REGISTRY["of this test"]
        storage.register("of this test", None)


def test_a_class_without_a_definition_makes_no_stencil():
    with pytest.raises(TypeError, match="'StencilObject' has no definition"):
        StencilObject()


def test_build_info_receives_the_times():
    info = {}

    made(slopes, build_info=info)

    assert set(info) == {"parse_time", "module_time", "codegen_time", "build_time", "load_time"}
    assert info["parse_time"] > 0.0


@pytest.mark.parametrize(
    ("backend_name", "parts"),
    [
        ("rows", {"codegen_time", "load_time"}),
        pytest.param(
            COMPILED,
            {"codegen_time", "build_time", "load_time"},
            marks=pytest.mark.needs_compiler,
        ),
    ],
)
def test_build_info_has_the_times_of_what_was_built(backend_name, parts):
    """What the store has is only loaded."""
    spent = []
    with ff.using(ff.Engine(Memory())):
        for _ in range(2):
            info = {}
            made(inner_levels, backend_name, build_info=info).program.build()
            spent.append({name for name in parts if info[name] > 0.0})

    assert spent == [parts, {"load_time"}]


def test_builds_can_be_forbidden():
    with ff.using(ff.Engine(Memory())):
        with pytest.raises(ValueError, match="The stencil slopes is not up to date in the cache"):
            made(slopes, raise_if_not_cached=True)
        made(slopes)
        made(slopes, raise_if_not_cached=True)
        with pytest.raises(ValueError, match="is not up to date in the cache"):
            made(slopes, raise_if_not_cached=True, rebuild=True)


@pytest.mark.parametrize("backend_name", [INTERPRETED, "rows"])
def test_rebuild_runs_all_stages_again(backend_name):
    seen = Collector()
    with ff.using(ff.Engine(Memory(), observers=[seen])):
        made(inner_levels, backend_name).program.build()
        first = seen.ran()
        seen.events.clear()
        made(inner_levels, backend_name).program.build()
        second = seen.ran()
        seen.events.clear()
        info = {}
        again = made(inner_levels, backend_name, rebuild=True, build_info=info)

    assert {"parse_stencil", "lower"} <= set(first)
    assert not {"parse_stencil", "lower"} & set(second)
    assert {"parse_stencil", "lower"} <= set(seen.ran())
    assert info["codegen_time"] > 0.0
    a, b = np.ones((2, 2, 4)), np.zeros((2, 2, 4))
    again(a, b, domain=(2, 2, 4))
    assert b[0, 0].tolist() == [0, 1, 1, 0]


# --- externals, globals, types --------------------------------------------------------------------


def test_names_of_types_must_be_given():
    with pytest.raises(ValueError, match="Missing 'real' dtype definition for arg 'a'"):
        made(typed)


def test_annotations_stay_as_they_are():
    before = dict(typed.__annotations__)

    made(typed, dtypes={"real": float})

    assert typed.__annotations__ == before


# --- identity ----------------------------------------------------------------------------


def test_the_identity_holds_everything_that_changes_results():
    def identity(definition=scaled, **options):
        options.setdefault("externals", {"factor": 1.0})
        return made(definition, **options)._gt_id_

    def in_float32(a: Field[np.float32], b: Field[np.float32]):
        from __externals__ import factor

        with computation(PARALLEL), interval(...):
            b = factor * a

    found = [
        identity(),
        identity(externals={"factor": 2.0}),
        identity(externals={"factor": 1}),
        identity(externals={"factor": np.float32(1.0)}),
        identity(dtypes={float: np.float32}),
        identity(literal_float_precision=32),
        identity(literal_int_precision=32),
        identity(in_float32, name="scaled"),
        identity(name="another"),
    ]
    assert len(set(found)) == len(found)
    assert identity() == found[0]


def test_types_of_literals_do_not_stay_for_later_builds():
    def third(a: Field[float], b: Field[float]):
        with computation(PARALLEL), interval(...):
            b = a * 0.1

    single = value_of(made(third, dtypes={float: np.float32}))

    assert single == np.float64(np.float32(0.1))
    assert value_of(made(third)) == 0.1


# --- builders ----------------------------------------------------------------------------


def test_builders_change_and_build():
    builder = StencilBuilder(scaled, backend="debug").with_externals({"factor": 3.0})

    assert builder.gtir
    assert builder.definition is scaled
    assert builder.backend.name == "debug"
    assert builder.stencil_id.qualified_name.endswith("scaled")
    assert value_of(builder.build()()) == 3.0
    builder.with_backend("numpy").with_caching("nocaching")
    builder.with_options(name="other", module="place")
    assert builder.build()().options["module"] == "place"
    assert builder.build()().backend == "numpy"
