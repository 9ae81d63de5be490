"""Measure calls of gt4py; `bench/calls.py` runs this with the peer's Python, with and without -O.

python calls.py FOLDER     prints nanoseconds as JSON, by "<program> <how>"
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import gt4py.next as gtx
from call_programs import COUNTS, arguments, nanoseconds, repeated, write_module


def main(folder: str) -> None:
    """Measure; every program is compiled before the clock runs."""
    module = write_module(Path(folder), "gt4py.next", "ff.gtfn_cpu")
    found: dict[str, float] = {}
    for count in COUNTS:
        for kind in ("fields", "static"):
            program = getattr(module, f"{kind}_{count}")
            fields = [gtx.zeros({module.I: 1}, dtype=gtx.float64) for _ in range(count)]
            given = arguments(fields)
            given |= {"low": gtx.int32(0), "high": gtx.int32(1)}
            program(**given, offset_provider={})
            for how in ("positional", "keyword"):
                rounds = repeated(program, given, how, {"offset_provider": {}})
                found[f"{kind}_{count} {how}"] = min(nanoseconds(rounds) for _ in range(7))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
