"""gt4py's options of its DaCe backend: each has its effect, or a warning says why it needs none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.program_processors.runners.dace import make_dace_backend, run_dace_cpu_noopt
from fieldforge.program_processors.runners.dace.transformations import (
    GT4PyAutoOptHook,
    TransientMemoryMode,
    utils,
)


def before(sdfg):
    sdfg.name = sdfg.name


def between(sdfg):
    sdfg.name = sdfg.name


def after(sdfg):
    sdfg.name = sdfg.name


def codegen(backend):
    return dict(backend.workflow.nodes)["codegen"]


def test_what_a_model_sets_for_every_program_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend = make_dace_backend(
            gpu=False,
            auto_optimize=True,
            async_sdfg_call=True,
            optimization_args=None,
            use_metrics=True,
            use_zero_origin=False,
            use_max_domain_range_on_unstructured_shift=None,
            cached=True,
            make_persistent=False,
        )
    assert codegen(backend) == codegen(ff.dace_cpu)


def test_auto_optimize_switches_the_passes():
    assert codegen(make_dace_backend(auto_optimize=False)).auto_optimize is False
    assert codegen(run_dace_cpu_noopt).auto_optimize is False


def test_blocks_scans_and_tasklets_are_options_of_ours():
    level = ff.Dimension("K", ff.DimensionKind.VERTICAL)
    stage = codegen(
        make_dace_backend(
            optimization_args={
                "blocking_dims": [level],
                "blocking_size": 5,
                "scan_loop_unrolling": True,
                "scan_loop_unrolling_factor": 2,
                "fuse_tasklets": True,
            }
        )
    )
    assert (stage.blocking_dims, stage.blocking_size, stage.unroll_scans) == (("K",), 5, 2)
    assert "fuse_tasklets" in stage.passes


def test_hooks_stand_in_their_places():
    hooks = {
        GT4PyAutoOptHook.TopLevelDataFlowPost: after,
        GT4PyAutoOptHook.TopLevelDataFlowPre: before,
        GT4PyAutoOptHook.TopLevelDataFlowStep: between,
    }
    stage = codegen(make_dace_backend(optimization_args={"optimization_hooks": hooks}))

    names = [step if isinstance(step, str) else step.__name__ for step in stage.passes]
    assert names == [
        "simplify", "before", "fuse_vertical", "between", "block", "unroll_scans", "after",
    ]  # fmt: skip
    assert stage.gt4py_hooks == ("before", "between", "after")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"use_zero_origin": True}, "origins are part of the pointers"),
        ({"cached": False}, "always cached"),
        ({"make_persistent": True}, "memory of temporaries is kept"),
        ({"use_metrics": False}, "metrics are taken while"),
        ({"unstructured_horizontal_has_unit_stride": True}, "unit strides are found"),
        ({"use_max_domain_range_on_unstructured_shift": True}, "where tables say"),
        ({"external_workspace": {"cpu": b""}}, "with_workspace"),
        ({"async_sdfg_call": False}, "has ended when its call returns"),
        ({"optimization_args": {"gpu_block_size_2d": (64, 6)}}, "on GPUs only"),
        ({"optimization_args": {"gpu_maxnreg": 80}}, "on GPUs only"),
        (
            {"optimization_args": {"transient_memory_mode": TransientMemoryMode.PERSISTENT}},
            "memory of temporaries is kept",
        ),
        (
            {
                "optimization_args": {
                    "optimization_hooks": {
                        GT4PyAutoOptHook.TopLevelDataFlowMapPromotionCallBack: after
                    }
                }
            },
            "write a pass of your own",
        ),
    ],
)
def test_one_warning_says_why_an_option_is_not_needed(options, why):
    with pytest.warns(UserWarning, match=why) as caught:
        make_dace_backend(**options)
    assert len(caught) == 1


def test_threads_and_registers_are_options_of_the_backend_for_gpus():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stage = codegen(
            make_dace_backend(
                gpu=True,
                async_sdfg_call=False,
                optimization_args={
                    "gpu_block_size": "64, 4, 1",
                    "gpu_block_size_1d": (128, 1, 1),
                    "gpu_block_size_3d": [16, 8, 2],
                    "gpu_launch_bounds": 512,
                    "gpu_launch_factor": 2,
                    "gpu_maxnreg": 80,
                    "optimization_hooks": {GT4PyAutoOptHook.AfterToGPU: after},
                },
            )
        )
    assert (stage.block_1d.sizes, stage.block_2d.sizes) == ((128, 1, 1), (64, 4, 1))
    assert (stage.block_3d.sizes, stage.most_registers) == ((16, 8, 2), 80)
    assert (stage.launch_bounds, stage.launch_factor) == ("512", 2)
    assert stage.asynchronous is False
    assert stage.passes[-1] is after


def test_memory_of_temporaries_comes_from_a_pool_anyway():
    with pytest.warns(UserWarning, match="in the order of the stream"):
        make_dace_backend(gpu=True, optimization_args={"gpu_memory_pool": True})


def test_options_that_nobody_has_are_refused():
    with pytest.raises(ff.errors.OptionError, match="Did you mean 'auto_optimize'"):
        make_dace_backend(auto_optimise=True)
    with pytest.raises(ff.errors.OptionError, match="Did you mean 'blocking_size'"):
        make_dace_backend(optimization_args={"blocking_sizes": 3})
    with pytest.raises(ff.errors.OptionError, match="'gpu' is set by the backend itself"):
        make_dace_backend(optimization_args={"gpu": True})


def test_functions_for_graphs_of_another_shape_say_so():
    with pytest.raises(ff.errors.OptionError, match="'reroute_edge' edits SDFGs of gt4py's shape"):
        utils.reroute_edge()


@pytest.mark.needs_dace
def test_names_of_transformations_resolve():
    pytest.importorskip("dace")
    from dace.transformation.transformation import PatternTransformation

    from fieldforge.program_processors.runners.dace import transformations

    for name in ("RemoveAccessNodeCopies", "MapFusionVertical", "MapFusionHorizontal"):
        assert issubclass(getattr(transformations, name), PatternTransformation)


def remove_copies(sdfg):
    from fieldforge.program_processors.runners.dace import transformations

    sdfg.apply_transformations_repeated(
        transformations.RemoveAccessNodeCopies(), validate=False, validate_all=False
    )


I = ff.Dimension("I")
Row = ff.Field[ff.Dims[I], ff.float64]


@ff.field_operator
def step(u: Row) -> Row:
    return u(I + 1) - u


@ff.program
def difference(u: Row, out: Row):
    step(u, out=out)


@pytest.mark.needs_dace
@pytest.mark.needs_compiler
def test_a_hook_of_a_model_runs_on_our_sdfg():
    pytest.importorskip("dace")
    hooks = {GT4PyAutoOptHook.TopLevelDataFlowStep: remove_copies}
    backend = make_dace_backend(optimization_args={"optimization_hooks": hooks})
    u, out = ff.as_field({I: 6}, np.arange(6.0) ** 2), ff.zeros({I: 5})

    difference.with_backend(backend)(u, out)

    assert out.asnumpy().tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
