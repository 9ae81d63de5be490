"""Section 12: hooks call what was registered, in order, from any thread."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from fieldforge.runtime.process import hooks
from fieldforge.runtime.process.hooks import ContextHook, EventHook


@EventHook
def built(name: str, seconds: float = 0.0) -> None:
    """Tell that something was built."""


@pytest.fixture
def event():
    return EventHook(built.__wrapped__)


@pytest.fixture
def context():
    @ContextHook
    def around(name: str):
        """Go around something."""

    return around


def test_callbacks_run_in_the_order_of_registration(event):
    seen = []
    event.register(lambda name, seconds=0.0: seen.append(("one", name)))
    event.register(lambda name, seconds=0.0: seen.append(("two", name)))

    event("smooth", seconds=2.0)

    assert seen == [("one", "smooth"), ("two", "smooth")]


@pytest.mark.parametrize(
    "callback",
    [lambda: None, lambda name: None, lambda seconds, name: None, lambda name, seconds, more: None],
)
def test_a_callback_with_other_parameters_is_refused(event, callback):
    with pytest.raises(ValueError, match=r"must be \(name, seconds\), got \("):
        event.register(callback)

    assert not event


def test_a_callback_that_takes_anything_is_taken(event):
    seen = []
    event.register(lambda *args, **kwargs: seen.append((args, kwargs)))

    event("smooth", seconds=1.0)

    assert seen == [(("smooth",), {"seconds": 1.0})]


def test_a_name_is_taken_once(event):
    event.register(lambda name, seconds: None, name="mine")

    with pytest.raises(ValueError, match="'mine' is registered"):
        event.register(lambda name, seconds: None, name="mine")


def test_removal_of_what_is_not_there_is_a_key_error_with_a_hint(event):
    event.register(lambda name, seconds: None, name="timer")

    with pytest.raises(KeyError, match=r"No callback 'timr' is registered .* 'timer'"):
        event.remove("timr")
    with pytest.raises(KeyError, match="No callback"):
        event.remove(lambda name, seconds: None)


def steps(context, seen, *names):
    for each in names:
        context.register(step(seen, each), name=each)


def step(seen, own):
    @contextmanager
    def around(name):
        seen.append(f"enter {own}")
        try:
            yield
        finally:
            seen.append(f"leave {own}")

    return around


def test_contexts_are_left_in_reverse(context):
    seen = []
    steps(context, seen, "one", "two")

    with context("smooth"):
        seen.append("body")

    assert seen == ["enter one", "enter two", "body", "leave two", "leave one"]


def test_many_threads_may_go_through_one_context_hook(context):
    depth = threading.local()
    wrong = []

    @contextmanager
    def counted(name):
        depth.now = getattr(depth, "now", 0) + 1
        yield
        depth.now -= 1
        if depth.now:
            wrong.append(name)

    context.register(counted)
    start = threading.Barrier(4)

    def call(_):
        start.wait()
        for _ in range(100):
            with context("smooth"):
                pass
        return depth.now

    with ThreadPoolExecutor(4) as pool:
        left = list(pool.map(call, range(4)))

    assert left == [0] * 4
    assert not wrong


def test_listeners_hear_of_registration_and_removal(event, monkeypatch):
    heard = []
    monkeypatch.setattr(hooks, "_listeners", [lambda: heard.append(bool(event))])

    event.register(lambda name, seconds: None, name="mine")
    event.remove("mine")

    assert heard == [True, False]


def test_the_four_places_are_there_and_unused():
    places = (*hooks.CALL_HOOKS, hooks.compile_variant_hook)

    assert [place.__name__ for place in places] == [
        "program_call_context",
        "embedded_program_call_context",
        "compiled_program_call_context",
        "compile_variant_hook",
    ]
    assert not any(places)
