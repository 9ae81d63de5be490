"""The worker process: `Workers` starts it as `python -m` of this module.

It reads pickled functions with their arguments from one pipe and answers on another. It never
imports the script of its parent. When the parent dies or sends SIGTERM, it ends its compiler,
removes its temporary files and exits.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO

LENGTH = 8  # bytes before each message


def send(stream: BinaryIO, content: bytes) -> None:
    """Write one message."""
    stream.write(len(content).to_bytes(LENGTH, "big") + content)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Read one message; None when the other side has closed the pipe."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    size = int.from_bytes(head, "big")
    content = stream.read(size)
    return content if len(content) == size else None


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to the parent, which then sends SIGTERM
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints must not mix with the answers
    messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    while (content := messages.get()) is not None:
        try:
            send(answers, _answer(content))
        except BrokenPipeError:
            return


def _listen(messages: queue.SimpleQueue[bytes | None]) -> None:
    stream = os.fdopen(os.dup(0), "rb")
    while (content := receive(stream)) is not None:
        messages.put(content)
    messages.put(None)
    os.kill(os.getpid(), signal.SIGTERM)  # the thread may be waiting for a compiler


def _answer(content: bytes) -> bytes:
    try:
        function, args, path = pickle.loads(content)
        sys.path[:] = path
        found: tuple[bool, Any] = (True, function(*args))
    except Exception as error:
        found = (False, error)
    try:
        return pickle.dumps(found)
    except Exception:  # an error that cannot be pickled
        return pickle.dumps((False, RuntimeError(repr(found[1]))))


def _leave(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
