"""The examples in single precision: modules of their own that leave the others alone."""

import numpy as np
import pytest

from fieldforge.examples import diffusion, precision


def test_a_module_in_another_precision_is_loaded_once_and_leaves_the_first_alone():
    single = precision.in_precision("diffusion", "float32")

    assert single is precision.in_precision("diffusion", np.float32)
    assert single.wpfloat is np.float32
    assert diffusion.wpfloat is np.float64 is precision.wpfloat
    assert single.I is diffusion.I


def test_float64_is_the_module_itself():
    assert precision.in_precision("diffusion", "float64") is diffusion


def test_an_unknown_example_is_named():
    with pytest.raises(ModuleNotFoundError, match="'advection_by_magic'"):
        precision.in_precision("advection_by_magic", "float32")
