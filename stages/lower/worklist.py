"""Run mutually recursive generators to any depth, without the stack of the interpreter."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

Task: TypeAlias = Generator["Task", Any, Any]  # yields a task, receives its result


def finish(task: Task) -> Any:
    """Run a task and the tasks that it yields, one at a time and without recursion."""
    stack, result = [task], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value
    return result
