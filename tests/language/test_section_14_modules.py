"""Section 14: every module that models import is there, with the names that they take from it."""

from __future__ import annotations

import importlib
import sys
import types

import numpy as np
import pytest

import fieldforge as ff

from ..processes import python

I = ff.Dimension("I")

MODULES = {
    "common": "CartesianConnectivity Connectivity Dimension DimensionKind Dims DimsT Domain Field "
    "GridType Infinity NamedIndex NamedRange NeighborTable OffsetProvider UnitRange domain "
    "is_neighbor_table is_staggered named_range promote_dims unit_range _field",
    "ffront.decorator": "DEFAULT_BACKEND FieldOperator Program field_operator program "
    "scan_operator",
    "ffront.fbuiltins": "Dimension FieldOffset astype broadcast int32 float64 neighbor_sum where",
    "ffront.experimental": "as_offset concat_where",
    "experimental": "as_offset concat_where",
    "typing": "Allocator Backend FieldOperator OffsetProvider Program Scalar",
    "errors": "CompilationError DSLError DSLTypeError EmbeddedExecutionError GT4PyError "
    "IndexOutOfBounds InvalidAnnotationError InvalidParameterAnnotationError MissingArgumentError "
    "MissingAttributeError MissingParameterAnnotationError NonContiguousDomain "
    "UndefinedSymbolError UnsupportedPythonFeatureError",
    "config": "ADD_GPU_TRACE_MARKERS BUILD_CACHE_DIR BUILD_CACHE_LIFETIME BUILD_CACHE_VERSION_ID "
    "BUILD_JOBS BUILD_JOBS_MODE BuildCacheLifetime CMAKE_BUILD_TYPE COLLECT_METRICS_LEVEL DEBUG "
    "DUMP_METRICS_AT_EXIT ENABLE_JIT_DEFAULT SKIP_DACE_WARNINGS "
    "UNSTRUCTURED_HORIZONTAL_HAS_UNIT_STRIDE VERBOSE_EXCEPTIONS",
    "backend": "Backend",
    "allocators": "device_allocators is_field_allocation_tool is_field_allocation_tool_for "
    "is_field_allocator get_allocator",
    "custom_layout_allocators": "device_allocators is_field_allocation_tool "
    "is_field_allocation_tool_for",
    "constructors": "FieldConstructor as_connectivity as_field empty full ones zeros",
    "instrumentation.metrics": "ALL DISABLED INFO MINIMAL PERFORMANCE VERBOSE Source dump "
    "dump_json dumps dumps_json get_current_source_key is_any_level_enabled make_collector "
    "sources",
    "instrumentation.hooks": "compile_variant_hook compiled_program_call_context "
    "embedded_program_call_context program_call_context",
    "instrumentation.hook_machinery": "ContextHook EventHook",
    "named_collections": "element_names is_named_collection_type",
    "field_utils": "asnumpy",
    "program_processors.runners.gtfn": "GTFNBackendFactory run_gtfn run_gtfn_cached",
    "program_processors.runners.dace": "make_dace_backend run_dace_cpu transformations",
    "program_processors.runners.roundtrip": "default",
    "eve": "StrEnum",
    "_core.definitions": "DType ScalarT is_scalar_type",
    "embedded.nd_array_field": "NdArrayField",
    "type_system.type_specifications": "FieldType ScalarKind ScalarType TupleType",
    "type_system.type_translation": "from_type_hint from_value",
}


@pytest.mark.parametrize("module", MODULES)
def test_14_a_module_has_the_names_that_models_take_from_it(module):
    found = importlib.import_module(f"fieldforge.{module}")
    if module.endswith(".dace"):
        importlib.import_module(f"fieldforge.{module}.transformations")

    for name in MODULES[module].split():
        assert hasattr(found, name), name


@pytest.mark.parametrize("module", MODULES)
def test_14_what_a_module_lists_it_has(module):
    found = importlib.import_module(f"fieldforge.{module}")

    listed = getattr(found, "__all__", ())
    assert [name for name in listed if not hasattr(found, name)] == []
    assert len(set(listed)) == len(listed)
    assert found.__doc__


def test_14_compatibility_modules_wait_until_they_are_asked_for():
    script = "import fieldforge, sys; print(*sys.modules)"
    done = python("-c", script, check=True)

    early = {f"fieldforge.{module}" for module in MODULES} - {"fieldforge.errors"}
    assert early.isdisjoint(done.stdout.split())


def test_14_submodules_are_attributes_of_the_package():
    script = (
        "import fieldforge as ff\n"
        "print(ff.common.Infinity.POSITIVE, ff.constructors.zeros, ff.typing.Backend.__name__,\n"
        "      ff.ffront.decorator.Program.__name__, ff.instrumentation.metrics.ALL,\n"
        "      ff.program_processors.runners.gtfn.run_gtfn.name)"
    )
    done = python("-c", script)

    assert done.stderr == ""
    assert done.stdout.endswith("Backend Program 100 cpu\n")


PACKAGE_NAMES = """
CUPY_DEVICE_TYPE Device DeviceType is_scalar_type Dimension DimensionKind Dims Field
CartesianConnectivity Connectivity GridType domain Domain unit_range UnitRange is_staggered
flip_staggered as_non_staggered FieldConstructor empty zeros ones full as_field as_connectivity
FieldOffset field_operator program scan_operator wait_for_compilation gtfn_cpu gtfn_gpu itir_python
bool float float32 float64 int int8 int16 int32 int64 tuple uint8 uint16 uint32 uint64 IndexType
neighbor_sum max_over min_over where broadcast astype minimum maximum power fmod abs neg sqrt exp
log sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh cbrt gamma floor ceil
trunc isfinite isinf isnan
"""


@pytest.mark.parametrize("name", PACKAGE_NAMES.split())
def test_14_the_package_has_a_name(name):
    assert hasattr(ff, name)


def test_14_names_of_one_thing_are_one_thing():
    from fieldforge.common import NeighborTable
    from fieldforge.embedded.nd_array_field import NdArrayField
    from fieldforge.ffront.decorator import Program
    from fieldforge.ffront.fbuiltins import FieldOffset, int32
    from fieldforge.runtime.fields.neighbour_table import Connectivity
    from fieldforge.typing import Program as TypedProgram

    assert NdArrayField is ff.Field
    assert FieldOffset is ff.FieldOffset
    assert int32 is ff.int32 is np.int32
    assert Program is TypedProgram
    assert NeighborTable is Connectivity


def test_14_annotations_of_models_can_be_evaluated():
    from typing import TypeVar

    from fieldforge import typing as gtx_typing

    assert isinstance(gtx_typing.Backend | ff.DeviceType | None, types.UnionType)
    assert isinstance(ff.int32 | ff.int64 | int, types.UnionType)
    assert gtx_typing.OffsetProvider | None
    assert gtx_typing.Program | None
    assert TypeVar("T", bound=gtx_typing.Scalar).__bound__ == gtx_typing.Scalar
    assert isinstance(3.0, gtx_typing.Scalar)


def test_14_an_array_is_put_on_a_domain_without_a_copy():
    from fieldforge import common

    array = np.zeros(3)
    field = common._field(array, domain=common.domain({I: (1, 4)}))
    field.ndarray[...] = 2.0

    assert isinstance(field, ff.Field)
    assert array.tolist() == [2.0] * 3


def test_14_asnumpy_looks_into_tuples():
    from fieldforge.field_utils import asnumpy

    first, (second, third) = asnumpy((ff.ones({I: 2}), (ff.zeros({I: 1}), 4)))

    assert (first.tolist(), second.tolist(), third) == ([1.0, 1.0], [0.0], 4)


def test_14_types_are_read_from_annotations_and_values():
    from fieldforge.type_system import type_specifications as ts, type_translation as translation

    field = translation.from_type_hint(ff.Field[ff.Dims[I], ff.int32])

    assert field == ts.FieldType((I,), ts.ScalarType("int32"))
    assert translation.from_value((ff.zeros({I: 2}), True)) == ts.TupleType(
        (ts.FieldType((I,), ts.ScalarType("float64")), ts.ScalarType("bool"))
    )
    assert translation.get_scalar_kind(np.float32) is ts.ScalarKind.FLOAT32


MODEL = """
import enum
from typing import TypeAlias, TypeVar

import numpy as np
import gt4py.next as gtx
from gt4py.next import abs, astype, broadcast, maximum, neighbor_sum, where
from gt4py.next.common import Dimension, DimensionKind
from gt4py.next.experimental import concat_where
from gt4py.next.ffront.fbuiltins import int32
from gt4py.next import typing as gtx_typing
from gt4py._core.definitions import ScalarT

CellDim = Dimension("Cell")
EdgeDim = gtx.Dimension("Edge")
C2EDim = gtx.Dimension("C2E", kind=DimensionKind.LOCAL)
KDim = gtx.Dimension("K", kind=DimensionKind.VERTICAL)
C2E = gtx.FieldOffset("C2E", source=EdgeDim, target=(CellDim, C2EDim))

T = TypeVar("T", bound=gtx_typing.Scalar)
CellKField: TypeAlias = gtx.Field[gtx.Dims[CellDim, KDim], T]
EdgeKField: TypeAlias = gtx.Field[gtx.Dims[EdgeDim, KDim], T]
wpfloat = gtx.float64


class Constants(np.float64, enum.Enum):
    GRAV = 9.80665


@gtx.field_operator
def _divergence(
    w: gtx.Field[gtx.Dims[CellDim, C2EDim], wpfloat], vn: EdgeKField[wpfloat]
) -> CellKField[wpfloat]:
    return neighbor_sum(w * vn(C2E), axis=C2EDim)


@gtx.field_operator
def _damped(
    w: gtx.Field[gtx.Dims[CellDim, C2EDim], wpfloat], vn: EdgeKField[wpfloat], n: int32
) -> CellKField[wpfloat]:
    div = _divergence(w=w, vn=vn)
    return concat_where(KDim < n, wpfloat("0.5") * div, maximum(abs(div), Constants.GRAV))


@gtx.program(grid_type=gtx.GridType.UNSTRUCTURED)
def damped(
    w: gtx.Field[gtx.Dims[CellDim, C2EDim], wpfloat],
    vn: EdgeKField[wpfloat],
    out: CellKField[wpfloat],
    n: gtx.int32,
    horizontal_start: gtx.int32,
    horizontal_end: gtx.int32,
    vertical_start: gtx.int32,
    vertical_end: gtx.int32,
):
    _damped(
        w=w, vn=vn, n=n, out=out,
        domain={
            CellDim: (horizontal_start, horizontal_end),
            KDim: (vertical_start, vertical_end),
        },
    )


def run(backend: gtx_typing.Backend | None):
    from gt4py.next import constructors
    allocator = backend
    table = np.array([[0, 1, 2], [2, 3, 4]], dtype=np.int32)
    provider = {"C2E": gtx.as_connectivity(
        [CellDim, C2EDim], EdgeDim, data=table, dtype=gtx.int32, allocator=allocator)}
    w = gtx.as_field((CellDim, C2EDim), np.ones((2, 3)), allocator=allocator)
    vn = gtx.as_field((EdgeDim, KDim), np.arange(10.0).reshape(5, 2), allocator=allocator)
    out = constructors.zeros(gtx.domain({CellDim: 2, KDim: 2}), dtype=wpfloat, allocator=allocator)
    program = damped.with_backend(backend)
    program(
        w=w, vn=vn, out=out, n=gtx.int32(1), horizontal_start=0, horizontal_end=gtx.int32(2),
        vertical_start=0, vertical_end=2, offset_provider=provider,
    )
    return out.asnumpy()
"""


def test_14_a_model_runs_by_changing_its_imports(backend, tmp_path, monkeypatch):
    ported = MODEL.replace("gt4py.next", "fieldforge").replace("gt4py._core", "fieldforge._core")
    (tmp_path / "ported_model.py").write_text(ported)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ported_model", raising=False)

    model = importlib.import_module("ported_model")

    vn = np.arange(10.0).reshape(5, 2)
    div = np.stack([vn[:3].sum(axis=0), vn[2:].sum(axis=0)])
    expected = np.stack([0.5 * div[:, 0], np.maximum(np.abs(div[:, 1]), 9.80665)], axis=1)
    np.testing.assert_allclose(model.run(backend), expected, rtol=1e-15)
