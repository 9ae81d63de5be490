"""Results to store and to recognise: the content of number n is known to every process."""

from collections.abc import Iterable
from typing import Any

from fieldforge.cache.fingerprint import components_key
from fieldforge.cache.record import Record
from fieldforge.cache.store import keep_result

SIZE = 30_000


def key(n: int) -> str:
    return components_key({"n": str(n)})


def content(n: int) -> dict[str, dict[str, bytes]]:
    library = n.to_bytes(4, "big") * (SIZE // 4)
    return {"out": {"library.so": library, "log.txt": b"%d" % n}}


def keep(store: Any, n: int) -> Record:
    return keep_result(
        store,
        key(n),
        stage="compile",
        program=f"p{n}",
        components={"n": str(n)},
        outputs=content(n),
    )


def is_wrong(store: Any, n: int) -> bool:
    """Tell whether the store gives anything but nothing or the truth."""
    record = store.find(key(n))
    files = store.read(record, "out") if record is not None else None
    return files is not None and files != content(n)["out"]


def is_there(store: Any, n: int) -> bool:
    record = store.find(key(n))
    return record is not None and store.read(record, "out") == content(n)["out"]


def wrong(store: Any, numbers: Iterable[int]) -> int:
    return sum(is_wrong(store, n) for n in numbers)
