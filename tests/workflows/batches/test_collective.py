"""A collective among ranks that are threads, each with a store of its own."""

import threading

import pytest

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.errors import ArgumentError
from fieldforge.workflows.batches.collective import Collective, Want, deal
from fieldforge.workflows.batches.orders import orders_of

from ...dimensions import I, Line

pytestmark = pytest.mark.needs_compiler


class Ranks:
    """What threads share that stand for the ranks of a job."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size, timeout=60)
        self.size = size
        self.values = [None] * size


class Rank:
    """The part of a communicator that is used, for one thread."""

    def __init__(self, ranks, rank):
        self.ranks, self.rank = ranks, rank

    def Get_rank(self):
        return self.rank

    def allgather(self, value):
        self.ranks.values[self.rank] = value
        self.ranks.barrier.wait()
        found = list(self.ranks.values)
        self.ranks.barrier.wait()
        return found

    def bcast(self, value, root):
        return self.allgather(value)[root]


def meet(size, work):
    """Run `work(rank, comm)` on as many threads, and return what each gave or raised."""
    ranks = Ranks(size)
    found = [None] * size

    def run(rank):
        try:
            found[rank] = work(rank, Rank(ranks, rank))
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    return found


def rise(backend=ff.cpu):
    @ff.field_operator(backend=backend)
    def rise(u: Line) -> Line:
        return u(I + 1) - u

    return rise


def nameless():
    """Return a backend with a pass that has no digest: it is known in this process only."""
    space = {}
    exec("def stay(program):\n    return program\n", space)
    return ff.cpu.with_workflow(ff.cpu.workflow.insert_after("lower", space["stay"]))


def orders(program, engine):
    with ff.using(engine):
        return list(orders_of(program))


def test_what_one_rank_has_reaches_the_others_by_broadcast():
    seen = [ff.Collector() for _ in range(3)]
    engines = [ff.Engine(Memory(), observers=[each]) for each in seen]
    wanted = [orders(rise(), engine)[0] for engine in engines]

    def work(rank, comm):
        together = Collective(comm)
        together.add_order(wanted[rank])
        together.wait()
        return wanted[rank].is_stored()

    assert meet(3, work) == [True] * 3
    assert [each.ran("compile") for each in seen] == [("compile",), (), ()]


def test_what_calls_beyond_fields_run_reaches_the_others_too():
    @ff.field_operator(backend=ff.cpu)
    def upper(u: Line, is_last: ff.Field[ff.Dims[I], bool]) -> Line:
        return ff.where(is_last, 0.0, u(I + 1))

    seen = [ff.Collector() for _ in range(3)]
    wanted = [orders(upper, ff.Engine(Memory(), observers=[each]))[0] for each in seen]

    def work(rank, comm):
        together = Collective(comm)
        together.add_order(wanted[rank])
        together.wait()
        return wanted[rank].missing()

    assert meet(3, work) == [None] * 3
    assert [each.ran("compile").count("compile") for each in seen] == [2, 0, 0]


def test_a_program_without_a_digest_is_built_by_each_rank():
    seen = [ff.Collector() for _ in range(2)]
    backend = nameless()
    wanted = [orders(rise(backend), ff.Engine(Memory(), observers=[each]))[0] for each in seen]

    def work(rank, comm):
        together = Collective(comm)
        together.add_order(wanted[rank])
        together.wait()

    assert meet(2, work) == [None, None]
    assert [each.ran("stay") for each in seen] == [("stay",)] * 2


def test_one_rank_alone_is_a_job_too(own_engine, seen):
    program = rise()

    ff.precompile([program], comm=Rank(Ranks(1), 0), progress=None)

    assert seen.ran("compile") == ("compile",)
    assert ff.check([program]) == ()


def test_the_old_name_of_a_job_warns_and_builds(own_engine, seen):
    with pytest.warns(DeprecationWarning, match=r"use 'precompile\(programs, comm=comm\)'"):
        ff.collective(Rank(Ranks(1), 0), [rise()], progress=None)

    assert seen.ran("compile") == ("compile",)


def test_a_job_builds_into_the_store_of_its_engine():
    with pytest.raises(ArgumentError, match="'comm' without 'executor' and 'store'"):
        ff.precompile([rise()], comm=Rank(Ranks(1), 0), store=Memory())


def test_an_error_of_one_rank_is_raised_on_all():
    bad = rise(ff.cpu.with_options(flags=("-no-such-flag",)))
    good = rise()

    def work(rank, comm):
        together = Collective(comm)
        for order in orders(bad if rank == 1 else good, ff.Engine(Memory())):
            together.add_order(order)
        together.wait()

    found = meet(2, work)

    assert [type(each) for each in found] == [ExceptionGroup] * 2
    assert [[type(e).__name__ for e in each.exceptions] for each in found] == [
        ["CompilationError"]
    ] * 2


def test_the_longest_builds_are_dealt_first_and_to_those_who_want_them():
    def want(key, size, stored=False):
        return Want(key, key, size, stored)

    dealt = deal([
        [want("long", 9), want("short", 1), want("other", 2)],
        [want("long", 9), want("short", 1), want("kept", 5, stored=True)],
        [want("mine", 1), want("kept", 5)],
    ])  # fmt: skip

    assert dealt == {"long": 0, "short": 1, "other": 0, "mine": 2, "kept": 1}
