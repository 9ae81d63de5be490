"""A process that is bound to one processor finds what another one has built."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, sys
if sys.argv[1] == "bound":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import fieldforge as ff
from fieldforge.cache.disk import Disk
sys.path.insert(0, sys.argv[2])
from model import I, rise
seen = ff.Collector()
out = ff.zeros({I: 2})
with ff.using(ff.Engine(Disk(sys.argv[3]), observers=[seen])):
    rise(ff.as_field([I], [1.0, 3.0, 6.0]), out=out)
hits = [event.key for event in seen.events if getattr(event, "outcome", "") == "deep"]
print(json.dumps([hits, list(seen.ran()), list(out.asnumpy())]))
"""
MODEL = """
import fieldforge as ff
I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

@ff.field_operator(backend=ff.cpu)
def rise(u: Line) -> Line:
    return u(I + 1) - u
"""


@pytest.mark.needs_compiler
@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="there is one processor only, or no way to bind to it",
)
def test_keys_do_not_depend_on_the_processors_that_a_process_is_bound_to(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)

    def run(how: str) -> tuple[list[str], list[str], list[float]]:
        command = [sys.executable, "-c", SCRIPT, how, str(tmp_path), str(tmp_path / "store")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return tuple(json.loads(done.stdout))

    built, bound, free = run("free"), run("bound"), run("free")

    assert "compile" in built[1]
    assert bound[1] == free[1] == ["decorate"]
    assert bound[0] == free[0] != []
    assert built[2] == bound[2] == free[2] == [2.0, 3.0]
