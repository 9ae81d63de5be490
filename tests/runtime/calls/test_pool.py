"""The pool of threads, seen from inside a loop that calls share."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime import _core
from fieldforge.runtime.calls.call_limits import Limited, threads
from fieldforge.runtime.calls.plan import Access, Argument, Box, Plan, Word
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.language.dimension import Dimension

from ...processes import python
from ..entries import compiled

I = Dimension("I")
NATIVE = Path(__file__).parents[3] / "runtime" / "native"
# `together` counts the threads that are inside the loop at one time, `numbered` says who ran what.
SOURCE = r"""
#include <unistd.h>
#include <atomic>
#include "context.h"
using fieldforge::Context;
#define ENTRY(name) extern "C" int32_t name(const void* const* ptrs, const int64_t* ints, \
                                            const void*, void*, const Context* context)
struct Meeting { std::atomic<int> inside{0}; int64_t wanted; };
static void meet(void* data, int64_t, int64_t, int64_t) {
    Meeting& meeting = *(Meeting*)data;
    meeting.inside++;
    for (int i = 0; i < 5000 && meeting.inside < meeting.wanted; ++i) usleep(1000);
}
ENTRY(together) {
    int64_t* out = (int64_t*)ptrs[0];
    Meeting meeting;
    meeting.wanted = out[0];
    context->parallel_for(context->pool, out[0], 64, 1 << 30, meet, &meeting);
    out[0] = meeting.inside;
    return 0;
}
static void number(void* data, int64_t begin, int64_t end, int64_t place) {
    for (int64_t i = begin; i < end; ++i) ((int64_t*)data)[i] += 1 + place;
}
ENTRY(numbered) {
    context->parallel_for(context->pool, ints[0], 2, 1, number, (void*)ptrs[0]);
    return 0;
}
"""
OUT = Argument("out", (0,), "field", "int64", (I,), written=True)
WHOLE = Box(0, ((Word("start", argument=0),),), ((Word("stop", argument=0),),))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    path = compiled(SOURCE, folder, "-std=c++17", f"-I{NATIVE}")
    return _core.Library(str(path), uses_openmp=False)


def program(library, symbol):
    extent = (Word("stop", argument=0),)
    plan = Plan("p", ("out",), (OUT,), (extent,), (Access((WHOLE,), ()),))
    made = _core.Program("p", ("out",), lambda *_: None, reject)
    made.add(_core.Entry(plan, library.symbol(symbol), library))
    return made


def meet(call, count):
    out = np.array([count], np.int64)
    call(_core.FieldView(out, (I,), (0,)))
    return int(out[0])


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_as_many_threads_as_asked_for_are_inside_at_one_time(library, count):
    assert meet(Limited(program(library, "together"), count), count) == count
    assert _core.workers() >= count - 1


@pytest.mark.parametrize("count", [1, 2, 3, 100, 1001])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_every_index_runs_once_and_places_stay_below_the_most(library, count, most):
    call = Limited(program(library, "numbered"), most)
    for _ in range(20):
        out = np.zeros(count, np.int64)
        call(_core.FieldView(out, (I,), (0,)))
        assert set(out) <= {1, 2}


def test_callers_at_one_time_have_their_own_threads_or_run_alone(library):
    call = Limited(program(library, "numbered"), 3)

    def ran(_):
        out = np.zeros(64, np.int64)
        call(_core.FieldView(out, (I,), (0,)))
        return set(out) <= {1, 2}

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(ran, range(300)))


FORKED = """
import os, sys
sys.path.insert(0, {folder!r})
from tests.runtime.calls.test_pool import meet, program
from fieldforge.runtime import _core
library = _core.Library({path!r}, uses_openmp=False)
call = _core.Limited(program(library, "together"), 3)
before = meet(call, 3)
child = os.fork()
if child == 0:
    os._exit(10 * _core.workers() + meet(call, 3))
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(before, status, meet(call, 3))
"""


def test_a_forked_process_has_a_pool_of_its_own(library):
    script = FORKED.format(folder=str(Path(__file__).parents[3]), path=library.path)

    done = python("-W", "ignore", "-c", script, timeout=120)

    assert done.stdout.split() == ["3", "3", "3"], done.stderr


@pytest.mark.parametrize(
    ("variables", "count"),
    [({"OMP_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "5,2", "OMP_THREAD_LIMIT": "4"}, 4)],
)
def test_the_environment_sets_the_default(variables, count):
    words = "from fieldforge.runtime import _core; print(_core.default_threads())"

    done = python("-c", words, check=True, env=variables)

    assert int(done.stdout) == count


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds processes")
def test_a_process_that_is_bound_to_one_processor_uses_one_thread():
    words = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from fieldforge.runtime import _core; print(_core.default_threads())"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}

    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True, env=env
    )

    assert done.stdout.strip() == "1"


def test_a_block_of_one_thread_shares_nothing(library):
    with threads(1):
        out = np.zeros(500, np.int64)
        program(library, "numbered")(_core.FieldView(out, (I,), (0,)))
    assert set(out) == {1}
