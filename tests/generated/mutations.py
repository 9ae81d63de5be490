"""Change files a little: bytes, lines of TOML, values of JSON, members of archives, attributes."""

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

Mutation: TypeAlias = Callable[[random.Random, bytes], bytes]

CANARY: Final = "canary"  # a file that appears if anything in a mutated file is executed
TOUCH: Final = f"touch {CANARY}"
WORDS: Final = (
    "", "-wrapper", f"-wrapper sh,-c,'{TOUCH}'", "@file", "-fplugin=x.so", "-B.", "-include",
    f"('-wrapper', 'sh,-c,{TOUCH}')", f"compile(flags=('-wrapper', 'sh,-c,{TOUCH}'))",
    f"compile(cxx='{TOUCH}')", f"system('{TOUCH}')", f"__import__('os').system('{TOUCH}')",
    "os:system", "subprocess:run", "outside:prog", "../outside.py:prog", "./../outside.py:prog",
    "climbing.py:climb.__class__", "climbing.py:ff.workflows", "('-O2', '-march=native')", "'-O2'",
    "((((", "(" * 150 + ")" * 150, "-" * 20_000 + "1", "[" * 5_000, "%", "\0", "\n", "é",
    "x" * 5_000, "/etc/passwd", "0x1p+99999", "nan", "True", "None", "9" * 5_000, "float64",
    "float32", "horizontal",
)  # fmt: skip
VALUES: Final = (
    None, True, False, 0, 1, -1, 3, 2**31, 2**63 - 1, 2**63, -(2**63), 2**70, 1.5, 1e308, -0.0,
    float("nan"), float("inf"), [], {}, [[]], [0], [-1], ["a"], {"a": 1}, [2**40], [2**62, 2**62],
    *WORDS,
)  # fmt: skip
TOML_VALUES: Final = (
    "", "1", "-1", "99999999999999999999", "1.5", "nan", "inf", "true", '"x"', "'-wrapper'", "[]",
    f"['-wrapper', 'sh,-c,{TOUCH}']", "['-O2']", "['-march=native']", "{}", "{a = 1}", "[[1]]",
    "1979-05-27", "07:32:00", '"""a\nb"""', "[" * 5_000, "{a=" * 500, "9" * 5_000, "'%3'", "['%3']",
    "'strict'", '"\\u0000"', "0x7fffffffffffffffffff",
)  # fmt: skip
DEEP: Final = b"[" * 100_000


def bytes_changed(draw: random.Random, content: bytes) -> bytes:
    """Flip, cut, repeat or insert bytes."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(found) + 1)
        match draw.randrange(6):
            case 0 | 1 if at < len(found):
                found[at] ^= 1 << draw.randrange(8)
            case 2 if at < len(found):
                found[at] = draw.choice((0, 0xFF, 0x7F, 0x80, draw.randrange(256)))
            case 3:
                del found[at:]
            case 4:
                del found[at : at + draw.choice((1, 4, 64))]
            case _:
                found[at:at] = found[at : at + draw.choice((1, 4, 64))]
    return bytes(found)


def json_changed(draw: random.Random, content: bytes) -> bytes:
    """Change values, names and the shape of JSON; sometimes its bytes."""
    if draw.random() < 0.1:
        return bytes_changed(draw, content)
    if draw.random() < 0.02:
        return draw.choice((DEEP, b"", b"null", b"[]", b"{}", b'{"a":' * 5_000))
    try:
        body = json.loads(content)
    except ValueError:  # one line of several
        return bytes_changed(draw, content)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        places = list(_places(body))
        if places:
            _change(draw, *draw.choice(places))
    return json.dumps(body).encode()


def lines_of_json_changed(draw: random.Random, content: bytes) -> bytes:
    """Change one line of a journal."""
    lines = content.splitlines()
    at = draw.randrange(len(lines))
    lines[at] = json_changed(draw, lines[at])
    return b"\n".join(lines)


def toml_changed(draw: random.Random, content: bytes) -> bytes:
    """Change the values, keys and order of lines of TOML; sometimes bytes."""
    if draw.random() < 0.15:
        return bytes_changed(draw, content)
    lines = content.decode().splitlines()
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(lines))
        key, equals, _ = lines[at].partition("=")
        match draw.randrange(8):
            case 0:
                lines.insert(at, draw.choice(lines))
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                lines[at] = text_changed(draw, lines[at])
            case 3:
                lines.insert(at, f"{draw.choice(WORDS[:8])} = {draw.choice(TOML_VALUES)}")
            case _ if equals:
                lines[at] = f"{key}= {draw.choice(TOML_VALUES)}"
    return "\n".join(lines).encode(errors="replace")


def archive_changed(draw: random.Random, content: bytes) -> bytes:
    """Change the members of a zip archive, or its bytes."""
    if draw.random() < 0.25:
        return _archive_bytes_changed(draw, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(each.filename, archive.read(each)) for each in archive.infolist()]
        method = archive.infolist()[0].compress_type
    at = draw.randrange(len(members))
    name, body = members[at]
    choice = draw.random()
    if choice < 0.75:
        is_json = body[:1] in (b"{", b"[")
        members[at] = name, (json_changed if is_json else bytes_changed)(draw, body)
    elif choice < 0.8:
        del members[at]
    elif choice < 0.85:
        members.append((text_changed(draw, name) or "x", body))
    elif choice < 0.9:
        members.append(draw.choice(members))
    elif choice < 0.95:
        members[at] = name, bytes(draw.choice((0, 1 << 16, 1 << 26)))
    else:
        method = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    return packed(members, method)


def packed(members: list[tuple[str, bytes]], method: int) -> bytes:
    """Return a zip archive; two members may have one name."""
    import warnings

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, body in members:
            archive.writestr(name.replace("\0", "_") or "_", body)
    return stream.getvalue()


def text_changed(draw: random.Random, text: str) -> str:
    """Insert, remove or replace a part of a text."""
    at = draw.randrange(len(text) + 1)
    upto = at + draw.choice((0, 1, 1, 5, 20))
    return text[:at] + draw.choice((*WORDS, "", "'", ",", "(", ")", "1", "=")) + text[upto:]


def _archive_bytes_changed(draw: random.Random, content: bytes) -> bytes:
    """Change bytes, mostly those of headers and of the list of members: flags, sizes, methods."""
    if draw.random() < 0.4:
        return bytes_changed(draw, content)
    found = bytearray(content)
    mark = draw.choice((b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
    starts = [at for at in range(len(found)) if found.startswith(mark, at)]
    start = draw.choice(starts or [0])
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = min(start + draw.randrange(4, 46), len(found) - 1)
        found[at] = draw.choice((0, 1, 8, 9, 12, 14, 0x40, 0x7F, 0xFF, draw.randrange(256)))
    return bytes(found)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every list and table of JSON with each key in it, and with None for the whole."""
    stack = [value]
    while stack:
        part = stack.pop()
        keys: Any = (
            part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        )
        if isinstance(part, dict | list):
            yield part, None
        for key in keys:
            yield part, key
            stack.append(part[key])


def _change(draw: random.Random, part: Any, key: Any) -> None:
    if key is None:
        if isinstance(part, dict):
            part[draw.choice(("extra", *WORDS[:6]))] = _drawn(draw)
        else:
            part.append(_drawn(draw, *part[:1]))
        return
    match draw.randrange(6):
        case 0 | 1:
            part[key] = _drawn(draw)
        case 2:
            del part[key]
        case 3 if isinstance(part[key], int):
            part[key] = part[key] + draw.choice((-1, 1, 2, 1 << 20))
        case 4 if isinstance(part[key], str):
            part[key] = text_changed(draw, part[key])
        case _:
            part[key] = [part[key]] if draw.random() < 0.3 else _drawn(draw)


def _drawn(draw: random.Random, *others: Any) -> Any:
    """Draw a value of its own: the next change may change it."""
    return copy.deepcopy(draw.choice((*VALUES, *others)))
