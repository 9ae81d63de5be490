"""Counterpart of `gt4py.next.instrumentation.hook_machinery`: the two kinds of hooks."""

from ..runtime.process.hooks import ContextHook, EventHook

__all__ = ["ContextHook", "EventHook", "context_hook", "event_hook"]

context_hook = ContextHook
event_hook = EventHook
