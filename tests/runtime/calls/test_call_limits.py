"""Threads and memory that a thread, a callable or an entry asks for, seen from inside the code."""

import ctypes
import subprocess
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime import _core
from fieldforge.runtime.calls.call_limits import Limited, as_workspace, threads, workspace
from fieldforge.runtime.calls.plan import Access, Argument, Box, Plan, Word
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.process.errors import ArgumentError, OverlapError

from ...processes import python
from ..entries import compiled

I = Dimension("I")

SOURCE = r"""
#include <cstdint>
#include <omp.h>
#define ENTRY(name) extern "C" int32_t name(const void* const* ptrs, const int64_t* ints, \
                                            const void* scalars, void* arena, void*)
ENTRY(team) {
    int64_t* out = (int64_t*)ptrs[0];
    int64_t count = 0;
#pragma omp parallel reduction(+ : count)
    count += 1;
    out[0] = count;
    return 0;
}
ENTRY(address) { ((int64_t*)ptrs[0])[0] = (int64_t)arena; return 0; }
"""
OUT = Argument("out", (0,), "field", "int64", (I,), written=True)
WHOLE = Box(0, ((Word("start", argument=0),),), ((Word("stop", argument=0),),))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return _core.Library(str(compiled(SOURCE, tmp_path_factory.mktemp("entries"), "-fopenmp")))


def program(library, symbol, workspace=0, own=0):
    plan = Plan(
        "p", ("out",), (OUT,), (), (Access((WHOLE,), ()),), workspace=(Word("const", workspace),)
    )
    addresses = (library.symbol(n) for n in ("omp_set_num_threads", "omp_get_max_threads"))
    made = _core.Program("p", ("out",), lambda *_: None, reject)
    made.add(_core.Entry(plan, library.symbol(symbol), library, *addresses, own))
    return made


@pytest.fixture
def team(library):
    """Return a function that says how many threads a call has."""
    made = program(library, "team")
    return lambda call=made: told(call)


def told(call):
    out = np.zeros(1, np.int64)
    call(_core.FieldView(out, (I,), (0,)))
    return int(out[0])


def test_what_others_told_openmp_changes_no_call(library, team):
    """The number of threads follows from the rule of calls alone, for OpenMP's code, too."""
    address = library.symbol("omp_set_num_threads")
    tell = ctypes.CFUNCTYPE(None, ctypes.c_int)(address)
    usual, others = _core.default_threads(), _core.default_threads() + 3
    tell(others)
    try:
        assert team() == usual
        assert team(program(library, "team", own=1)) == 1
        assert ctypes.CFUNCTYPE(ctypes.c_int)(library.symbol("omp_get_max_threads"))() == others
    finally:
        tell(usual)


def test_a_call_uses_as_many_threads_as_the_block_around_it_says(team):
    usual = team()

    with threads(3):
        assert team() == 3
        with threads(1):
            assert team() == 1
        assert team() == 3
    assert team() == usual


def test_what_the_callable_says_counts_more_than_the_block(library, team):
    made = program(library, "team")

    with threads(4):
        assert team(Limited(made, 2)) == 2
        assert team(Limited(made, 2).with_threads(3)) == 3


def test_an_entry_has_a_number_of_its_own_unless_a_call_asks_for_another(library, team):
    made = program(library, "team", own=3)

    assert team(made) == 3
    with threads(2):
        assert team(made) == 2


def test_threads_are_those_of_the_thread_that_asks(team):
    with threads(3), ThreadPoolExecutor(1) as pool:
        elsewhere = pool.submit(lambda: (team(), _core.set_threads(0))).result()

        assert elsewhere[1] == 0
        assert team() == 3


def test_an_error_inside_the_block_gives_the_threads_back(team):
    usual = team()

    with pytest.raises(KeyError), threads(3):
        raise KeyError

    assert team() == usual


@pytest.mark.parametrize("count", [0, -1, 2.0, True, 1 << 20])
def test_what_is_no_number_of_threads_is_refused(count):
    with pytest.raises(ArgumentError, match="1 to 65536, got"), threads(count):
        pass


def test_a_call_inside_a_parallel_region_is_safe(library, tmp_path):
    """Another OpenMP program calls ours from one of its threads."""
    source, path = tmp_path / "around.cpp", tmp_path / "around.so"
    source.write_text(
        textwrap.dedent("""
        #include <cstdint>
        #include <omp.h>
        extern "C" void around(int (*entry)(const void* const*, const int64_t*, const void*, void*,
                                            void*), int64_t* counts) {
        #pragma omp parallel num_threads(4)
          {
            const void* out = &counts[omp_get_thread_num()];
            entry(&out, nullptr, nullptr, nullptr, nullptr);
          }
        }
        """)
    )
    command = ["g++", "-shared", "-fPIC", "-fopenmp", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    import ctypes

    counts = np.zeros(4, np.int64)

    ctypes.CDLL(str(path)).around(
        ctypes.c_void_p(library.symbol("team")), ctypes.c_void_p(counts.ctypes.data)
    )

    assert (counts >= 1).all()


FORKED = """
import os, sys
sys.path.insert(0, {folder!r})
from {module} import program, told
from fieldforge.runtime import _core
library = _core.Library({path!r})
call = program(library, "team")
before = told(_core.Limited(call, 2)) if {ran} else None
child = os.fork()
if child == 0:
    os._exit(told(_core.Limited(call, 2)))
status = os.waitpid(child, 0)[1]
print(before, os.waitstatus_to_exitcode(status), told(_core.Limited(call, 2)))
"""


@pytest.mark.parametrize(("ran", "said"), [(True, "2 1 2"), (False, "None 2 2")])
def test_a_forked_process_calls_without_waiting_for_threads_it_has_not(library, ran, said):
    script = FORKED.format(
        folder=str(Path(__file__).parents[3]), module=__name__, path=library.path, ran=ran
    )

    done = python("-W", "ignore", "-c", script, timeout=120)

    assert done.stdout.strip() == said, done.stderr


# --- workspace ---------------------------------------------------------------------------------


def inside(buffer, address):
    start = buffer.__array_interface__["data"][0]
    return start <= address < start + buffer.nbytes


def test_temporaries_lie_in_the_memory_of_the_caller(library):
    made, buffer = program(library, "address", workspace=640), np.empty(1024, np.uint8)

    with workspace(buffer):
        address = told(made)

    assert inside(buffer, address)
    assert address % 64 == 0
    assert inside(buffer, told(Limited(made).with_workspace(buffer)))
    assert not inside(buffer, told(made))


def test_a_workspace_that_is_too_small_is_refused_with_both_sizes(library):
    made = program(library, "address", workspace=640)

    with pytest.raises(ArgumentError, match="needs 640 bytes of workspace"):
        told(Limited(made).with_workspace(bytearray(100)))


def test_a_workspace_in_the_memory_of_an_argument_is_refused(library):
    made, memory = program(library, "address", workspace=640), np.zeros(1024, np.uint8)
    out = memory[-80:].view(np.int64)

    with pytest.raises(OverlapError, match="'out' of 'p' lies in the memory of the workspace"):
        Limited(made).with_workspace(memory)(_core.FieldView(out, (I,), (0,)))


def test_calls_beside_each_other_do_not_share_a_workspace(library):
    """The one that comes second gets memory of its own."""
    made, buffer = program(library, "address", workspace=64), np.empty(256, np.uint8)
    limited = Limited(made).with_workspace(buffer)
    seen = set()

    def call_while_held():
        seen.add(inside(buffer, told(limited)))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(200):
            pool.submit(call_while_held)

    assert seen <= {True, False}
    assert inside(buffer, told(limited))


@pytest.mark.parametrize("buffer", [b"constant", np.zeros((4, 4))[:, ::2], 3])
def test_what_is_no_writable_memory_is_refused(buffer):
    with pytest.raises(ArgumentError, match="contiguous, writable buffer"):
        as_workspace(buffer)


def test_a_limited_callable_is_the_program_in_everything_else(library):
    limited = Limited(program(library, "team"), 2)

    assert limited.name == "p"
    assert limited.parameters == ("out",)
    assert "with 2 threads" in repr(limited)
