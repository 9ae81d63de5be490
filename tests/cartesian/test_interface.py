"""The public interface as clients of gt4py use it: what is accepted, and classes of errors.

With `gt4py` for `fieldforge` in its imports, this module also passes in gt4py 1.2.3.
"""

from __future__ import annotations

import enum

import numpy as np
import pytest

from fieldforge import storage
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.backend import from_name
from fieldforge.cartesian.frontend.exceptions import GTScriptDefinitionError, GTScriptSymbolError
from fieldforge.cartesian.gtscript import IJ, PARALLEL, Field, K, computation, interval

F = Field[np.float64]
CPU = ("numpy", "debug", "gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu")


class constants:
    weight = 2.0


def copied(a: F, b: F):
    with computation(PARALLEL), interval(...):
        b = a


def planes(a: F, plane: Field[IJ, np.float64], column: Field[K, np.float64]):
    with computation(PARALLEL), interval(...):
        a = plane + column


def with_names(a: Field["T"], b: Field[IJ, "T"], w: "T"):  # noqa: F821, UP037
    with computation(PARALLEL), interval(...):
        a = a + b * w


def without_types(a: Field["U"]):  # noqa: F821, UP037
    with computation(PARALLEL), interval(...):
        a = a + 1.0


def lacking(a: F, b: F):
    with computation(PARALLEL), interval(...):
        b = a * constants.nothing


def calling(a: F, b: F):
    with computation(PARALLEL), interval(...):
        b = nothing(a)  # noqa: F821


def external(a: F, b: F):
    from __externals__ import w

    with computation(PARALLEL), interval(...):
        b = a * w


def default_of_a_field(a: F, b: F, c: F = 3.0):
    with computation(PARALLEL), interval(...):
        b = a


def some(*shape, dtype="float64"):
    return (np.arange(np.prod(shape)).reshape(shape) * 1.5 % 7).astype(dtype)


# --- storages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", CPU)
@pytest.mark.parametrize("shape", [(3, 4, 5), [3, 4, 5], (np.int32(3), np.int64(4), 5), (3, 4), ()])
def test_shapes_of_storages(shape, backend):
    assert storage.ones(shape, backend=backend).shape == tuple(shape)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"shape": (0, 4, 5)}, ValueError),
        ({"shape": (-1, 4, 5)}, ValueError),
        ({"shape": (3.0, 4, 5)}, TypeError),
        ({"shape": "345"}, TypeError),
        ({"shape": 5}, TypeError),
        ({"shape": np.array([3, 4, 5])}, TypeError),
        ({"dtype": "x"}, TypeError),
        ({"dimensions": "IJ"}, ValueError),
        ({"dimensions": "XYZ"}, ValueError),
        ({"dimensions": (1, 2, 3)}, ValueError),
        ({"dimensions": ("I", "J", "K", "0")}, ValueError),
        ({"aligned_index": (1, 1)}, ValueError),
        ({"aligned_index": (-1, 0, 0)}, ValueError),
        ({"aligned_index": (1.0, 0, 0)}, TypeError),
        ({"aligned_index": "000"}, TypeError),
        ({"aligned_index": 3}, TypeError),
        ({"aligned_index": np.array([1, 0, 0])}, TypeError),
        ({"backend": "x"}, RuntimeError),
    ],
)
def test_storages_that_are_refused(options, error):
    with pytest.raises(error):
        storage.zeros(**{"shape": (3, 4, 5), "backend": "gt:cpu_ifirst", **options})


@pytest.mark.parametrize(
    ("name", "strides"),
    [("numpy", (20, 5, 1)), ("gt:cpu_kfirst", (20, 5, 1)), ("gt:cpu_ifirst", (1, 3, 12)),
     ("dace:cpu", (4, 1, 12))],
)  # fmt: skip
def test_a_storage_of_a_backend_has_its_layout(name, strides):
    made = storage.zeros((3, 4, 5), backend=name)

    assert tuple(step // 8 for step in made.strides) == strides
    assert from_name(name).storage_info["is_optimal_layout"](made, ("I", "J", "K"))


def test_data_are_copied_and_converted():
    data = np.arange(12, dtype=np.int32).reshape(2, 3, 2)

    made = storage.from_array(data, backend="gt:cpu_ifirst")
    kept = storage.from_array(data, None, backend="gt:cpu_ifirst")

    assert (made.dtype, kept.dtype) == (np.float64, np.int32)
    assert not np.shares_memory(made, data)
    assert (made == data).all()


# --- calls ----------------------------------------------------------------------------------------


def test_fields_of_fewer_axes_take_their_part_of_an_origin():
    a = np.zeros((3, 3, 4))

    gtscript.stencil("numpy", planes)(a, some(3, 3), some(4), origin=(1, 0, 2), domain=(2, 3, 2))

    assert a[1:, :, 2:].tolist() == (some(3, 3)[1:, :, None] + some(4)[2:]).tolist()
    assert not a[0].any()
    assert not a[:, :, :2].any()


# --- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, "float32"])
def test_names_of_types(dtype):
    stencil = gtscript.stencil("numpy", with_names, dtypes={"T": dtype})

    assert {each.dtype.name for each in stencil.field_info.values()} == {"float32"}
    assert stencil.parameter_info["w"].dtype.name == "float32"


@pytest.mark.parametrize(
    ("definition", "options", "error"),
    [
        (lacking, {}, GTScriptDefinitionError),
        (calling, {}, GTScriptSymbolError),
        (external, {}, GTScriptDefinitionError),
        (external, {"externals": {"w": "text"}}, GTScriptDefinitionError),
        (default_of_a_field, {}, GTScriptDefinitionError),
        (copied, {"externals": [1]}, ValueError),
        (copied, {"dtypes": [1]}, ValueError),
        (copied, {"name": 3}, ValueError),
        (copied, {"rebuild": "x"}, ValueError),
        (copied, {"build_info": 3}, ValueError),
        (copied, {"cache_settings": 3}, ValueError),
        (without_types, {}, ValueError),
    ],
)
def test_definitions_and_options_that_are_refused(definition, options, error):
    with pytest.raises(error):
        gtscript.stencil("numpy", definition, **options)


def test_a_lazy_stencil_raises_errors_of_names_at_once():
    with pytest.raises(
        GTScriptDefinitionError, match="Missing or invalid value for external symbol"
    ):
        gtscript.lazy_stencil("numpy", external, check_syntax=False)
    with pytest.raises(GTScriptSymbolError):
        gtscript.lazy_stencil("numpy", calling, check_syntax=False)


def test_enumerations_have_integers_and_their_own_names():
    made = gtscript.enum(enum.IntEnum("PhaseInInterfaceTest", {"ICE": 1}))

    assert made.ICE == 1
    with pytest.raises(ValueError, match="already taken"):
        gtscript.enum(enum.IntEnum("PhaseInInterfaceTest", {"ICE": 1}))
    with pytest.raises(ValueError, match=r"needs to derive from `enum.IntEnum`"):
        gtscript.enum(enum.Enum("OtherPhaseInInterfaceTest", {"ICE": 1}))
