"""Functions that call each other as deep as they like, without the stack of the interpreter."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

Task: TypeAlias = Generator["Task", Any, Any]  # yields what it waits for, and is sent its result


def finish(task: Task) -> Any:
    """Run a task and those that it asks for, one at a time and without recursion."""
    stack, result = [task], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value
    return result
