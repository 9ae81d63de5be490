"""Counterpart of `gt4py.cartesian.config`: settings that clients read and write, without effect.

Results lie in the store of fieldforge, and its settings say how they are built.
"""

from typing import Any

from ..workflows.cartesian.compilers import CACHE_SETTINGS, build_settings as _build_settings

GT4PY_COMPILE_OPT_LEVEL = "3"
GT4PY_EXTRA_COMPILE_OPT_FLAGS = ""
GT4PY_EXTRA_COMPILE_ARGS = ""
GT4PY_EXTRA_LINK_ARGS = ""
GT4PY_CARTESIAN_ENABLE_OPENMP = True
DACE_DEFAULT_BLOCK_SIZE = "64,8,1"

build_settings: dict[str, Any] = _build_settings(GT4PY_COMPILE_OPT_LEVEL)
cache_settings: dict[str, Any] = dict(CACHE_SETTINGS)
code_settings: dict[str, Any] = {"root_package_name": "_GT_"}
