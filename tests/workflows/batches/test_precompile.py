import io
import os
import queue
import sys
import time
from typing import Any

import pytest

from fieldforge.runtime.process.errors import ArgumentError, OptionError
from fieldforge.workflows.batches import precompile as module
from fieldforge.workflows.batches.precompile import Precompilation, precompile
from fieldforge.workflows.engine.executors import WorkerLostError, Workers


class StandIn:
    """Stands for an order: one variant of a program."""

    def __init__(self, name, error=None, **given):
        self.name = name
        self.error = error
        self.given = given
        self.builds = 0

    def is_stored(self):
        return False

    def request(self):
        return None

    def build(self):
        self.builds += 1
        if self.error is not None:
            raise self.error


@pytest.fixture(autouse=True)
def no_programs(monkeypatch):
    """Let orders stand for programs."""
    monkeypatch.setattr(
        module,
        "orders_of",
        lambda order, provider=None, **given: [order.given.update(given), order][1:],
    )


@pytest.mark.parametrize("jobs", [0, 1, 4])
def test_every_program_is_compiled_once(jobs):
    programs = [StandIn(f"p{number}") for number in range(5)]

    precompile(programs, jobs=jobs)

    assert [program.builds for program in programs] == [1] * 5


def test_errors_come_together_under_the_names_of_their_programs():
    good, bad, worse = (
        StandIn("good"),
        StandIn("bad", ValueError("b")),
        StandIn("worse", OptionError("w")),
    )

    with pytest.raises(ExceptionGroup, match="2 of 3 programs were not built") as caught:
        precompile([bad, good, worse], jobs=2)

    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["While compiling 'bad'."], ["While compiling 'worse'."],
    ]  # fmt: skip
    assert good.builds == 1


def test_block_waits_for_what_was_added_to_it():
    program = StandIn("p")

    with precompile(jobs=2) as builds:
        builds.add(program, n=[1])

    assert (program.builds, program.given) == (1, {"n": [1]})


def test_a_program_may_come_with_the_arguments_of_compile():
    program = StandIn("p")

    precompile([(program, {"n": [1, 2]})])

    assert program.given == {"n": [1, 2]}


def test_progress_is_told_for_every_program():
    told = []

    with pytest.raises(ExceptionGroup):
        precompile([StandIn("a"), StandIn("b", ValueError())], jobs=2, progress=told.append)

    assert [(each.done, each.total) for each in told] == [(1, 2), (2, 2)]
    assert {each.program: type(each.error) for each in told} == {"a": type(None), "b": ValueError}


def test_progress_is_a_line_a_program_where_there_is_no_terminal(capsys):
    with pytest.raises(ExceptionGroup):
        precompile([StandIn("a"), StandIn("b", ValueError())], jobs=1)

    assert capsys.readouterr().err.splitlines() == ["[1/2] a: built", "[2/2] b: failed: ValueError"]


def test_progress_is_told_while_the_block_goes_on():
    told: queue.Queue[Any] = queue.Queue()

    with precompile(jobs=1, progress=told.put) as builds:
        builds.add(StandIn("a"))
        first = told.get(timeout=60)
        builds.add(StandIn("b"))

    second = told.get_nowait()
    assert (first.program, first.done, first.total) == ("a", 1, 1)
    assert (second.program, second.done, second.total) == ("b", 2, 2)


def test_a_block_shows_a_line_a_program_unless_it_is_told_not_to(capsys):
    with precompile(jobs=1) as builds:
        builds.add(StandIn("a"))
    with precompile(jobs=1, progress=None) as builds:
        builds.add(StandIn("b"))

    assert capsys.readouterr().err.splitlines() == ["[1/1] a: built"]


def test_a_block_draws_a_bar_on_a_terminal(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")

    with precompile(jobs=1) as builds:
        builds.add(StandIn("a"))
        builds.add(StandIn("b"))

    assert "building" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()


def test_what_an_observer_raises_ends_the_waiting():
    def refuse(built):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        precompile([StandIn("a"), StandIn("b")], jobs=1, progress=refuse)


def test_error_inside_the_block_wins_over_those_of_builds():
    def work():
        with precompile(jobs=1) as builds:
            builds.add(StandIn("p", ValueError()))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        work()


def test_what_has_not_begun_is_dropped_when_the_block_fails():
    class Slow(StandIn):
        def build(self):
            time.sleep(0.05)
            super().build()

    programs = [Slow(f"p{number}") for number in range(50)]

    def work():
        with precompile(jobs=1) as builds:
            for program in programs:
                builds.add(program)
            raise KeyError

    with pytest.raises(KeyError):
        work()

    assert sum(program.builds for program in programs) < 50


def test_something_else_than_a_program_is_refused(monkeypatch):
    monkeypatch.undo()

    with pytest.raises(ArgumentError, match="Expected a program or operator, got an object of"):
        precompile([print])


# --- workers ----------------------------------------------------------------------------------


def test_workers_are_other_processes():
    with Workers(2) as workers:
        found = {workers.submit(os.getpid).result() for _ in range(6)}

    assert 1 <= len(found) <= 2
    assert os.getpid() not in found


@pytest.mark.parametrize(("asked", "found"), [(None, "1"), ("3", "3")])
def test_linear_algebra_takes_one_thread_in_a_worker_unless_asked(monkeypatch, asked, found):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if asked:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", asked)

    with Workers(1) as workers:
        assert workers.submit(os.getenv, "OPENBLAS_NUM_THREADS").result() == found


def test_errors_of_workers_are_raised_here():
    with Workers(1) as workers, pytest.raises(ZeroDivisionError):
        workers.submit(divmod, 1, 0).result()


def test_worker_that_is_killed_is_replaced_and_its_task_done_again(tmp_path):
    with Workers(1) as workers:
        assert workers.submit(os.kill, 0, 0).result() is None
        workers._started[0].process.kill()
        assert workers.submit(pow, 2, 3).result() == 8


def test_task_that_kills_every_worker_is_an_error_and_no_hang():
    with (
        Workers(1) as workers,
        pytest.raises(WorkerLostError, match="died before it answered"),
    ):
        workers.submit(os._exit, 3).result(timeout=60)


def test_no_worker_is_left_when_the_block_ends():
    with Workers(2) as workers:
        [workers.submit(pow, 2, each).result() for each in range(4)]
        started = [worker.process for worker in workers._started]

    assert started
    assert all(process.returncode is not None for process in started)


def test_busy_workers_leave_when_their_tasks_are_cancelled():
    workers = Workers(1)
    waiting = [workers.submit(time.sleep, 60) for _ in range(3)]
    while not workers._started:
        time.sleep(0.01)

    workers.shutdown(cancel_futures=True)

    assert all(each.done() for each in waiting)


def test_lost_worker_means_that_the_program_is_built_here():
    class Far(StandIn):
        def request(self):
            return self

        def encode(self, **_):
            return b"none"

    class Lossy(Workers):
        def submit(self, fn, *args):
            return super().submit(os._exit, 3)

    order = Far("p")
    with Lossy(1) as workers:
        builds = Precompilation(1, None, workers)
        builds.add_order(order)
        builds.wait()

    assert order.builds == 1
