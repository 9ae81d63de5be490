"""Describe one run of a stage: the key, the labelled parts of the key, the outputs.

A record is the commit mark of a result. It is written after all files that it names, as one
checksum line and one line of canonical JSON, and it is checked whenever it is read.
"""

from __future__ import annotations

import binascii
import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..runtime.process import classes
from .fingerprint import rows_digest, sha256
from .sealed import seal, unseal

INLINE: Final = 16384  # bytes; a smaller file travels in the record, for making files takes time
_KIND: Final = "fieldforge-record-2"
_HEX: Final = "0123456789abcdef"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")


@classes.frozen(slots=False)  # is made in a third of the time, and every result has some
class File:
    """One file of an output; the record holds the content of a small one."""

    name: str
    sha256: str
    size: int
    inline: bytes | None = classes.field(default=None, repr=False)


@classes.frozen(slots=False)
class Output:
    """The output of a stage at one port: the digest of the artifact, and its files by name."""

    port: str
    digest: str
    files: tuple[File, ...]


@classes.frozen(slots=False)
class Record:
    """One stored result of a stage.

    `seconds` is how long the stage ran, `created` when, in whole seconds since 1970; `meta` has
    whatever else a person may want to know. None of the three is in the key. `describe` makes
    one from what a stage gave, `parse_record` from bytes; both refuse what is not sound.
    """

    key: str
    stage: str
    program: str
    components: tuple[tuple[str, str], ...]
    outputs: tuple[Output, ...]
    seconds: float = 0.0
    created: int = 0
    meta: tuple[tuple[str, str], ...] = ()

    def output(self, port: str) -> Output | None:
        """Return the output at `port`, None if the stage has no such port."""
        return next((output for output in self.outputs if output.port == port), None)

    def encode(self, secret: bytes | None = None) -> bytes:
        """Write the record as a checksum line, canonical JSON, and a signature by `secret`."""
        body = {
            "components": dict(self.components),
            "created": self.created,
            "key": self.key,
            "meta": dict(self.meta),
            "outputs": [
                [output.port, output.digest, [_file_row(file) for file in output.files]]
                for output in self.outputs
            ],
            "program": self.program,
            "seconds": self.seconds,
            "stage": self.stage,
        }
        return seal(_KIND, json.dumps(body, sort_keys=True, separators=(",", ":")), secret)


def is_key(value: Any) -> bool:
    """Tell whether `value` may be part of a path as a key or digest."""
    return isinstance(value, str) and len(value) == 64 and not value.strip(_HEX)


def marks_of(stage: str | None, program: str | None) -> tuple[bytes, ...]:
    """Return what the bytes of every record of a stage and a program contain.

    A search passes over records without them; to parse all of a large store takes seconds.

    >>> marks_of(None, "climb")
    (b'"program":"climb"',)
    """
    asked = {"stage": stage, "program": program}
    return tuple(f'"{name}":{json.dumps(value)}'.encode() for name, value in asked.items() if value)


def files_at(
    record: Record, port: str, content_of: Callable[[File], bytes | None]
) -> dict[str, bytes] | None:
    """Return the files at a port, None when one is missing or damaged.

    `content_of` gives the verified content of a file that does not travel inside the record.
    """
    output = record.output(port)
    if output is None:
        return None
    files = {}
    for file in output.files:
        content = file.inline if file.inline is not None else content_of(file)
        if content is None:
            return None
        files[file.name] = content
    return files


def is_content(file: File, content: bytes) -> bool:
    """Tell whether `content` has the size and digest of `file`."""
    return len(content) == file.size and sha256(content) == file.sha256


def describe(
    key: str,
    stage: str,
    program: str,
    components: Mapping[str, str],
    outputs: Mapping[str, Mapping[str, bytes]],
    seconds: float = 0.0,
    created: int = 0,
    meta: Mapping[str, str] | None = None,
) -> Record:
    """Make the record of a result; what could not be stored under its names is a `ValueError`.

    Digests and order are made here, so only what was given is looked at.
    """
    found = Record(
        key,
        stage,
        program,
        sorted_pairs(components),
        describe_outputs(outputs),
        seconds,
        created,
        sorted_pairs(meta or {}),
    )
    _check_given(found)
    return found


def describe_outputs(outputs: Mapping[str, Mapping[str, bytes]]) -> tuple[Output, ...]:
    """Digest the files of every port; small ones are taken in."""
    return tuple([_output(port, outputs[port]) for port in sorted(outputs)])


def sorted_pairs(mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return labelled parts in the order in which a record keeps them."""
    return tuple(sorted(mapping.items()))


def parse_record(content: bytes, key: str | None = None, secret: bytes | None = None) -> Record:
    """Read what `Record.encode` wrote; a fault, or another key than `key`, is a `ValueError`.

    With a secret, so is a record that was not signed by it.
    """
    body = unseal(_KIND, content, secret)
    try:
        record = _record(json.loads(body))
        _check_given(record)
        _check_made(record)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"A record has the wrong shape: {error}.") from error
    if key is not None and record.key != key:
        raise ValueError(f"A record with key '{record.key}' was found under '{key}'.")
    return record


def _record(body: dict[str, Any]) -> Record:
    return Record(
        body["key"],
        body["stage"],
        body["program"],
        sorted_pairs(body["components"]),
        tuple(
            Output(port, digest, tuple(_parse_file(*row) for row in rows))
            for port, digest, rows in body["outputs"]
        ),
        body["seconds"],
        body["created"],
        sorted_pairs(body["meta"]),
    )


def _check_given(record: Record) -> None:
    """Refuse names and values that a stage or a damaged file may hold and records may not."""
    if not is_key(record.key):
        raise ValueError(f"'key' must be 64 hexadecimal digits, got {record.key!r}.")
    _check_name(record.stage)
    if not isinstance(record.program, str) or not record.program.isprintable():
        raise ValueError(f"'program' must be one line of text, got {record.program!r}.")
    if not record.program:
        raise ValueError("'program' must be one line of text, got nothing.")
    for name, pairs in (("components", record.components), ("meta", record.meta)):
        if not {str}.issuperset(map(type, itertools.chain.from_iterable(pairs))):
            raise ValueError(f"'{name}' must be text under text.")
    for amount in (record.seconds, record.created):
        if type(amount) not in (int, float) or not math.isfinite(amount) or amount < 0:
            raise ValueError(f"An amount must be a number that is not negative, got {amount!r}.")
    for output in record.outputs:
        _check_name(output.port)
        for file in output.files:
            _check_name(file.name)


def _check_made(record: Record) -> None:
    """Refuse digests and an order that are not those that `describe` makes."""
    _check_order("ports of a record", [output.port for output in record.outputs])
    for output in record.outputs:
        _check_order(f"files of output '{output.port}'", [file.name for file in output.files])
        for file in output.files:
            _check_content(file)
        if output.digest != rows_digest((file.name, file.sha256) for file in output.files):
            raise ValueError(f"The files of output '{output.port}' do not have its digest.")


def _check_order(what: str, names: list[str]) -> None:
    if names != sorted(set(names)):
        raise ValueError(f"The {what} must be sorted and different.")


def _check_content(file: File) -> None:
    if not is_key(file.sha256):
        raise ValueError(f"A digest must be 64 hexadecimal digits, got {file.sha256!r}.")
    if type(file.size) is not int or file.size < 0:
        raise ValueError(f"The size of file '{file.name}' must be a count, got {file.size!r}.")
    if file.inline is not None and not is_content(file, file.inline):
        raise ValueError(f"The content of file '{file.name}' does not have its digest.")


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _is_plain(name):
        raise ValueError(
            f"A name must be 1 to 128 letters, digits, dots, dashes or underscores, got {name!r}."
        )


@functools.lru_cache(maxsize=1024)  # the same few names come with every record
def _is_plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in (".", "..")


def _output(port: str, files: Mapping[str, bytes]) -> Output:
    rows = tuple([_file(name, files[name]) for name in sorted(files)])
    return Output(port, rows_digest([(row.name, row.sha256) for row in rows]), rows)


def _file(name: str, content: bytes) -> File:
    inline = content if len(content) <= INLINE else None
    return File(name, sha256(content), len(content), inline)


def _file_row(file: File) -> list[Any]:
    """Write content as text where it is text, so that a person can read it in the record."""
    row: list[Any] = [file.name, file.sha256, file.size]
    if file.inline is None:
        return row
    try:
        return [*row, "text", file.inline.decode()]
    except UnicodeDecodeError:
        return [*row, "base64", binascii.b2a_base64(file.inline, newline=False).decode()]


def _parse_file(name: str, digest: str, size: int, *content: str) -> File:
    match content:
        case ():
            return File(name, digest, size)
        case ("text", text):
            return File(name, digest, size, text.encode())
        case ("base64", text):
            return File(name, digest, size, binascii.a2b_base64(text, strict_mode=True))
    raise ValueError(f"File '{name}' of a record has its content in no known form.")
