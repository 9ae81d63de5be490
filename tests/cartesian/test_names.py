"""Every name that clients of gt4py.cartesian and gt4py.storage import is here, and redirected."""

from __future__ import annotations

import importlib

import pytest

from fieldforge.workflows.commands.migration.counterparts import counterpart, has
from fieldforge.workflows.commands.migration.import_rewriting import rewrite

from ..processes import python

ERRORS = (
    "GTScriptSyntaxError GTScriptSymbolError GTScriptDefinitionError GTScriptValueError "
    "GTScriptDataTypeError GTScriptAssertionError"
)
NAMES = {
    "cartesian.gtscript": (
        "stencil lazy_stencil function lazy_function enum Field GlobalTable Sequence I J K IJ IK "
        "JK IJK PARALLEL FORWARD BACKWARD computation interval horizontal region __INLINED "
        "compile_assert externals types int32 int64 float32 float64 abs min max mod sin cos tan "
        "asin acos atan sinh cosh tanh asinh acosh atanh sqrt exp log log10 gamma cbrt isfinite "
        "isinf isnan floor ceil trunc erf erfc round round_away_from_zero _FieldDescriptor "
        "AxisIndex _VALID_DATA_TYPES __externals__ __gtscript__"
    ),
    "cartesian": (
        "StencilObject gtscript backend config definitions frontend caching stencil_object "
        "stencil_builder loader type_hints"
    ),
    "cartesian.backend": "from_name REGISTRY register Backend",
    "cartesian.config": "cache_settings build_settings GT4PY_COMPILE_OPT_LEVEL code_settings",
    "cartesian.definitions": (
        "AccessKind FieldInfo ParameterInfo DomainInfo BuildOptions Boundary StencilID GTError"
    ),
    "cartesian.stencil_object": "StencilObject FrozenStencil",
    "cartesian.lazy_stencil": "LazyStencil",
    "cartesian.stencil_builder": "StencilBuilder",
    "cartesian.caching": "strategy_factory",
    "cartesian.loader": "gtscript_loader load_stencil",
    "cartesian.type_hints": "StencilFunc AnnotatedStencilFunc AnyStencilFunc",
    "cartesian.frontend": "from_name exceptions gtscript_frontend",
    "cartesian.frontend.exceptions": ERRORS,
    "cartesian.frontend.gtscript_frontend": ERRORS,
    "cartesian.gtc.passes.oir_pipeline": (
        "OirPipeline DefaultPipeline AdjacentLoopMerging HorizontalExecutionMerging "
        "OnTheFlyMerging LocalTemporariesToScalars WriteBeforeReadTemporariesToScalars "
        "MaskStmtMerging MaskInlining UnreachableStmtPruning NoFieldAccessPruning "
        "IJCacheDetection KCacheDetection PruneKCacheFills PruneKCacheFlushes"
    ),
    "cartesian.utils.compiler": "cxx_compiler_defaults gpu_configuration",
    "cartesian.__externals__": "",
    "cartesian.__gtscript__": "",
    "storage": "empty zeros ones full from_array from_name register layout layout_registry",
    "storage.cartesian.utils": "cpu_copy asarray",
    "storage.layout": "LayoutInfo layout_checker_factory layout_maker_factory",
}


@pytest.mark.parametrize("module", NAMES)
def test_modules_have_the_names_that_clients_import(module):
    ours = importlib.import_module(counterpart(f"gt4py.{module}"))

    missing = [name for name in NAMES[module].split() if not hasattr(ours, name)]
    assert not missing


def test_star_imports_take_the_words_but_not_the_rest():
    from fieldforge.cartesian import gtscript

    listed = set(gtscript.__all__)
    expected = set(NAMES["cartesian.gtscript"].split()) - {
        *("GlobalTable", "enum", "lazy_function", "types"),
        *("_FieldDescriptor", "AxisIndex", "_VALID_DATA_TYPES"),
    }
    assert listed == expected


def test_modules_of_the_other_language_do_not_become_ours():
    assert counterpart("gt4py.next.cartesian") is None
    assert counterpart("gt4py.next.storage") is None
    assert not has("fieldforge", "cartesian")
    assert counterpart("gt4py.cartesian.gtc.gtir") is None


def test_migrate_rewrites_imports_of_gtscript():
    text = (
        "import gt4py.storage as gt_storage\n"
        "from gt4py.cartesian import gtscript\n"
        "from gt4py.cartesian.gtscript import PARALLEL, Field, computation\n"
        "from gt4py.cartesian.gtc import gtir\n"
    )

    found = rewrite(text)

    assert found.text == (
        "import fieldforge.storage as gt_storage\n"
        "from fieldforge.cartesian import gtscript\n"
        "from fieldforge.cartesian.gtscript import PARALLEL, Field, computation\n"
        "from gt4py.cartesian.gtc import gtir\n"
    )
    assert [each.line for each in found.left] == [4]


def test_imports_of_gt4py_are_redirected_in_a_process(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import fieldforge.as_gt4py\n"
        "import gt4py.storage\n"
        "import numpy as np\n"
        "from gt4py.cartesian import gtscript\n"
        "from gt4py.cartesian.gtscript import *\n"
        "@gtscript.stencil(backend='numpy')\n"
        "def copy(a: Field[float], b: Field[float]):\n"
        "    with computation(PARALLEL), interval(...):\n"
        "        b = a\n"
        "a, b = (gt4py.storage.full((2, 2, 2), x, backend='numpy') for x in (3.0, 0.0))\n"
        "copy(a, b)\n"
        "print(gtscript.__name__, b.sum())\n"
    )

    done = python(file, check=True)

    assert done.stdout.split() == ["fieldforge.cartesian.gtscript", "24.0"]
