"""Nests that hand arrays on within patches of a mesh: when, what the listing says, the same bits.

The host checks every access to shared memory, see `runtime/gpu/host_shared.py`.
"""

from itertools import pairwise

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.examples.icosahedral import Edge, K, Vertex
from fieldforge.runtime.fields import patch_lists
from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.gpu.passes.patching import patch
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.codegen.pass_list import without
from fieldforge.stages.ir.loops import Constant, Store, accesses, nests_of
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.sizes import Patches
from fieldforge.workflows.backends.backend import BACKENDS

from ..mesh_programs import (
    CPU,
    EDGES,
    LEVELS,
    TABLES,
    VERTICES,
    both,
    in_part,
    loops,
    of_both,
    of_nabla,
    run,
    tables,
)

HOST = BACKENDS["gpu-host"].with_options(effort=0)  # the arrays of the rules


def test_nests_that_hand_an_array_on_are_one_kernel_with_the_same_bits(lists_made):
    arguments = of_both()
    backend = HOST.with_options(patches=Patches(elements=40))
    found = run(both, backend, arguments, ["curl", "spin"], provider=tables())
    expected = run(both, CPU, arguments, ["curl", "spin"])
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    assert len(lists_made) == 1
    text = loops(both, backend, arguments)
    assert "  patches arrays " in text
    assert " size 40 " in text
    assert "need not go to memory and back" in text


@pytest.mark.parametrize(
    "numbers", [(30, 4, 2, 64, 1), (1000, 16, 4, 128), (64, 8, 8, 32), (50, 6, 2, 64)]
)
def test_any_size_of_patches_has_the_same_bits(numbers, lists_made):
    arguments = of_nabla()
    given = {"first": 3, "last": EDGES - 1}
    names = ("elements", "levels", "points", "threads", "blocks")
    patches = Patches(**dict(zip(names, numbers, strict=False)))
    backend = HOST.with_options(patches=patches)
    (found,) = run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)
    assert len(lists_made) == 1


def test_patches_that_compute_most_of_an_array_again_are_none(lists_made):
    arguments = of_nabla()
    given = {"first": 0, "last": EDGES}
    backend = HOST.with_options(patches=Patches(elements=4))
    (found,) = run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)
    assert not lists_made


def test_a_call_with_few_elements_runs_its_nests_one_by_one():
    arguments = of_nabla()
    given = {"first": 11, "last": 50}
    (found,) = run(in_part, HOST, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "options",
    [{"patches": False}, {"passes": without(GPU_PASSES, "patch")}],
    ids=["option", "pass"],
)
def test_patches_can_be_switched_off(options, lists_made):
    arguments = of_nabla()
    given = {"first": 0, "last": EDGES}
    backend = HOST.with_options(**options)
    assert "  patches " not in loops(in_part, backend, arguments, **given)
    run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    assert not lists_made


def test_lists_are_made_once_for_a_table_and_shared_by_equal_ones(lists_made):
    arguments = of_nabla()
    given = {"first": 0, "last": EDGES}
    provider, other = tables(), tables()
    backend = HOST.with_options(patches=Patches(elements=33))
    for _ in range(3):
        run(in_part, backend, arguments, ["out"], provider=provider, **given)
    assert len(lists_made) == 1
    before = len(patch_lists._known)
    run(in_part, backend, arguments, ["out"], provider=other, **given)
    assert len(lists_made) == 2
    assert len(patch_lists._known) == before
    run(
        in_part,
        HOST.with_options(patches=Patches(elements=34)),
        arguments,
        ["out"],
        provider=other,
        **given,
    )
    assert len(lists_made) == 3


def test_each_patch_lists_what_its_elements_need(lists_made):
    arguments = of_nabla()
    run(
        in_part, HOST.with_options(patches=Patches(elements=25)), arguments, ["out"],
        provider=tables(), first=0, last=EDGES,
    )  # fmt: skip
    (words,) = lists_made
    patches = -(-EDGES // 25)
    near_of_edges, of_edges = words[3], words[4]
    firsts = words[6 : 6 + 2 * (patches + 1)].reshape(-1, 2)
    near = words[near_of_edges:].view(np.uint16).reshape(-1, 2)[:EDGES]
    e2v = TABLES["E2V"].asnumpy()
    seen = []
    most = 0
    for (vertex, edge), (next_vertex, next_edge) in pairwise(firsts):
        vertices, edges = words[vertex:next_vertex], words[edge:next_edge]
        places = near[edge - of_edges : next_edge - of_edges]
        assert np.array_equal(np.sort(vertices), np.unique(e2v[edges]))
        way = {tuple(sorted(pair)) for pair in np.sort(e2v[edges], axis=1).tolist()}
        assert way == {tuple(sorted(pair)) for pair in vertices[places].tolist()}
        seen += edges.tolist()
        most = max(most, len(vertices))
    assert sorted(seen) == list(range(EDGES))
    assert words[2] == most


def test_patches_are_compact_where_the_numbers_of_elements_are_not(lists_made):
    """Edges in any order give patches that need few more vertices than they have."""
    rng = np.random.default_rng(3)
    order = rng.permutation(EDGES)
    shuffled = tables()
    shuffled["E2V"] = as_connectivity(
        TABLES["E2V"].domain, codomain=Vertex, data=TABLES["E2V"].asnumpy()[order]
    )
    arguments = of_nabla()
    backend = HOST.with_options(patches=Patches(elements=60))
    run(in_part, backend, arguments, ["out"], provider=shuffled, first=0, last=EDGES)
    (words,) = lists_made
    patches = -(-EDGES // 60)
    needed = int(words[6 + 2 * patches] - words[6])
    assert needed < 2 * VERTICES
    one_by_one = sum(
        len(np.unique(shuffled["E2V"].asnumpy()[start : start + 60]))
        for start in range(0, EDGES, 60)
    )
    assert needed < 0.8 * one_by_one


def test_tables_that_lack_entries_have_no_patches(lists_made):
    data = np.array(TABLES["E2V"].asnumpy())
    arguments = of_nabla()
    lacking = tables()
    data[5, 1] = -1
    lacking["E2V"] = as_connectivity(
        TABLES["E2V"].domain, codomain=Vertex, data=data, skip_value=-1
    )
    given = {"first": 6, "last": EDGES}
    (found,) = run(in_part, HOST, arguments, ["out"], provider=lacking, **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], provider=lacking, **given)
    assert np.array_equal(found, expected)
    assert not lists_made


def test_an_output_in_the_memory_of_an_input_keeps_what_other_patches_read():
    arguments = of_nabla()
    (expected,) = run(in_part, CPU, arguments, ["out"], first=0, last=EDGES)
    arguments["out"] = arguments["vn"]
    backend = HOST.with_options(patches=Patches(elements=20))
    in_part.with_backend(backend)(**arguments, first=0, last=EDGES, offset_provider=TABLES)
    assert np.array_equal(arguments["vn"].asnumpy()[:, 1:10], expected[:, 1:10])


def test_misaligned_rows_have_the_same_bits(lists_made):
    arguments = of_nabla()
    rng = np.random.default_rng(4)
    wide = rng.uniform(0.5, 1.5, (EDGES, LEVELS + 2))
    arguments["vn"] = ff.as_field({Edge: EDGES, K: LEVELS}, wide[:, 1:-1])
    given = {"first": 0, "last": EDGES}
    backend = HOST.with_options(patches=Patches(elements=96))
    (found,) = run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)
    assert len(lists_made) == 1


@pytest.mark.parametrize(
    "patches",
    [
        (-2,), (1, 2, 2, 2, 2, 2), True, None,
        Patches(96, levels=16, points=3), Patches(96, levels=64, points=1, threads=32),
        Patches(96, portion=3),
    ],
    ids=str,
)  # fmt: skip
def test_numbers_that_no_block_can_have_are_refused(patches):
    said = "'patches' of stage 'codegen_gpu' takes 'Patches' with elements from 0 to "
    with pytest.raises(OptionError, match=said):
        HOST.with_options(patches=patches)


def test_an_array_of_ones_that_nothing_reads_is_no_chain():
    kernel = read(loops(both, HOST.with_options(patches=False), of_both()))
    filler = nests_of(kernel)[0]
    (store,) = accesses(filler, Store)
    one = Constant(dtype="float64", level=2, text="1.0")
    ones = attrs.evolve(filler, body=(one, attrs.evolve(store, value=0)))
    alone = attrs.evolve(kernel, steps=(attrs.evolve(kernel.steps[0], body=ones),))
    rules = CodegenGpu(host=True).rules()

    assert patch(kernel, rules) != kernel
    assert patch(alone, rules) == alone
