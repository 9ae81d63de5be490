"""Calls of stencils as plain data, and their answers: ours, and those that the oracle gave.

A case has the text of a module with a stencil `s`, and one call: arrays with origins, numbers and a
domain. `oracle.py` answers cases with gt4py; `answers.json` keeps what it said.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .stencils import Array, Made, definition_of, made

Case = dict[str, Any]
Answers = Mapping[str, Any]
ANSWERS = Path(__file__).with_name("answers.json")
OF_CORPUS = Path(__file__).with_name("corpus_answers.json")


def case_of(
    text: str,
    arrays: Mapping[str, Array],
    domain: tuple[int, int, int],
    origin: Mapping[str, tuple[int, ...]] | None = None,
    scalars: Mapping[str, tuple[str, Any]] | None = None,
    layout: str = "C",
) -> Case:
    """Return a call as plain data; fields without an origin have zeros.

    With the layout "F" the first axis is contiguous.
    """
    given = dict(origin or {})
    return {
        "text": text,
        "arrays": {
            name: {"dtype": str(each.dtype), "shape": each.shape, "values": each.ravel().tolist()}
            for name, each in arrays.items()
        },
        "origin": {name: given.get(name, (0,) * each.ndim) for name, each in arrays.items()},
        "domain": domain,
        "scalars": dict(scalars or {}),
        "layout": layout,
    }


def arrays_of(case: Case) -> dict[str, Array]:
    """Return new arrays of a case."""
    return {
        name: np.array(
            np.array(each["values"], dtype=each["dtype"]).reshape(each["shape"]),
            order=case.get("layout", "C"),
        )
        for name, each in case["arrays"].items()
    }


def run(
    case: Case, execute: Callable[[Made, list[Any]], None], **options: Any
) -> tuple[Made, dict[str, Array]]:
    """Run a case in one execution; return the stencil and the fields after the call."""
    found = made(definition_of(case["text"], **options))
    arrays = arrays_of(case)
    numbers = {name: value for name, (_, value) in case["scalars"].items()}
    arguments = found.arguments({**arrays, **numbers}, case["origin"], tuple(case["domain"]))
    with np.errstate(all="ignore"):
        execute(found, arguments)
    return found, arrays


def complaint(case: Case, answer: Answers, made: Made, arrays: Mapping[str, Array]) -> str:
    """Say where an answer differs from that of the oracle; empty if it does not."""
    for name, (values, dtype) in answer["outputs"].items():
        meant = np.array(values, dtype=dtype).reshape(case["arrays"][name]["shape"])
        wrong = difference(meant, arrays[name])
        if wrong:
            return f"'{name}' {wrong}"
    return facts(answer, made)


def facts(answer: Answers, made: Made) -> str:
    """Say which facts for calls differ from those of the oracle."""
    fields = {
        name: [each.access, [list(side) for side in each.boundary], each.dtype]
        for name, each in made.info.fields
    }
    if fields != answer["fields"]:
        return f"fields: meant {answer['fields']}, got {fields}"
    parameters = {name: each.access for name, each in made.info.parameters}
    if parameters != answer["parameters"]:
        return f"parameters: meant {answer['parameters']}, got {parameters}"
    levels = made.info.domain.min_sequential_axis_size
    return "" if levels == answer["levels"] else f"levels: meant {answer['levels']}, got {levels}"


def difference(meant: Array, given: Array, ulps: int = 4) -> str:
    """Say where two arrays first differ by more than some ulps; every NaN is like every other."""
    if meant.dtype.kind != "f":
        wrong = meant != given
    else:
        with np.errstate(all="ignore"):
            near = np.spacing(np.maximum(np.abs(meant), np.abs(given))) * ulps
            same = (meant == given) | (np.abs(meant - given) <= near)
        wrong = ~(same | (np.isnan(meant) & np.isnan(given)))
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"differs at {place}: meant {meant[place]}, got {given[place]}"


def answers(file: Path = ANSWERS) -> dict[str, Any]:
    """Return what the oracle said, by the name of the example."""
    found: dict[str, Any] = json.loads(file.read_text())
    return found
