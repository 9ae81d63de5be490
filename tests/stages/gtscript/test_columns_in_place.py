"""Columns act on the fields that they compute, unless old values are still to be read."""

import numpy as np
import pytest

from fieldforge.stages.interpret.stage import Entry

from ...generated.building import compiled
from .cases import case_of, difference
from .test_lanes import call, in_lanes

FIELDS = "a: Field[float], b: Field[float], c: Field[float], p: Field[IJ, float]"
IN_PLACE = {
    "what falls": """
with computation(FORWARD), interval(0, -1):
    a[0, 0, 1] = a + a[0, 0, 1]
""",
    "a loop, and what follows from it": """
with computation(PARALLEL), interval(...):
    x = a
    while x < 3.0:
        x = x + 0.75
    b = x
    c = x - a
""",
    "downwards": """
with computation(BACKWARD), interval(1, None):
    f = 0.25 * a
    a = a - f
    a[0, 0, -1] = a[0, 0, -1] + f
with computation(PARALLEL), interval(...):
    b = a * 2.0
""",
    "levels of fields that may have other levels": """
with computation(FORWARD), interval(1, None):
    n = 0
    while n < 3 and a[0, 0, -n] > 0.0:
        n += 1
    b = c.at(K=n) + a[0, 0, -n]
""",
    "a part overwrites what a plane keeps": """
with computation(PARALLEL), interval(...):
    b = a
with computation(BACKWARD), interval(1, None):
    b[0, 0, -1] = b + b[0, 0, -1]
with computation(FORWARD), interval(0, 1):
    p = 3.0 * b
    b = b - p
""",
}
WITH_ARRAYS = {
    "old values are read later": """
with computation(PARALLEL), interval(...):
    t = a
with computation(FORWARD), interval(0, -1):
    a[0, 0, 1] = a + a[0, 0, 1]
with computation(PARALLEL), interval(...):
    b = t + a
""",
    "two nests store parts": """
with computation(PARALLEL), interval(...):
    b = a
with computation(FORWARD), interval(0, -1):
    b[0, 0, 1] = b + b[0, 0, 1]
with computation(PARALLEL), interval(-1, None):
    b = b * 2.0
""",
    "a part that reads another level": """
with computation(PARALLEL), interval(...):
    b = a
with computation(FORWARD), interval(0, -1):
    b[0, 0, 1] = b + b[0, 0, 1]
with computation(FORWARD), interval(-1, None):
    b = b[0, 0, -1] * 2.0
""",
}


@pytest.mark.parametrize("name", [*IN_PLACE, *WITH_ARRAYS])
def test_columns_need_arrays_only_where_old_values_are_read(name):
    lines = {**IN_PLACE, **WITH_ARRAYS}[name].strip().replace("\n", "\n    ")
    random = np.random.default_rng(11)
    arrays = {each: random.uniform(-1, 2, (9, 2, 6)) for each in "abc"}
    arrays["p"] = random.uniform(-1, 2, (9, 2))
    case = case_of(f"def s({FIELDS}):\n    {lines}\n", arrays, (9, 2, 6))
    found, source = in_lanes(case)
    (program,) = compiled([source], "-O1")

    meant, given = call(case, found, Entry(found.lowered)), call(case, found, program)

    assert ("slot0" in source.source) == (name in WITH_ARRAYS)
    for field in meant:
        assert difference(meant[field], given[field], 0) == "", field
