"""Builds in a pool: those that take longer than there is time for are stopped."""

import threading

import attrs

from fieldforge.workflows.builds.pool import BuildPool


@attrs.define
class Waiting:
    """An order that is built when it is told to."""

    name: str
    go_on: threading.Event = attrs.field(factory=threading.Event)

    def build(self):
        self.go_on.wait(20)
        return self.name


def test_builds_end_with_the_time_that_there_is(monkeypatch):
    quick, slow = Waiting("quick"), Waiting("slow")
    quick.go_on.set()
    # stands for the compiler that is killed
    monkeypatch.setattr(
        "fieldforge.stages.compile.running.stop_compilers", lambda _: slow.go_on.set()
    )
    pool = BuildPool(2)
    pool.add_order(quick).result(20)
    pool.add_order(slow)

    done, late = pool.settle(within=0.0)

    assert done is None
    assert isinstance(late, TimeoutError)
    assert str(late) == "It is not built within 0.0 seconds."
