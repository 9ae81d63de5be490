"""A hundred programs and operators of the examples and tests, as a model might have them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCES = (("examples", "fieldforge.examples"), ("tests", "tests"))


def programs(count: int = 100) -> list[Any]:
    """Return the first `count` that can be built for the CPU without a mesh, each name once."""
    from fieldforge.workflows.entries.entry_point import EntryPoint

    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    found: dict[int, Any] = {}
    for module in _modules():
        for _, value in sorted(vars(module).items()):
            if isinstance(value, EntryPoint) and id(value) not in found:
                program = _for_cpu(value)
                if program is not None:
                    found[id(value)] = program
                    if len(found) == count:
                        return list(found.values())
    return list(found.values())


def _modules() -> list[Any]:
    modules = []
    for folder, package in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join([package, *path.relative_to(ROOT / folder).with_suffix("").parts])
            if "__" not in name and "conftest" not in name and "model" not in name:
                try:
                    modules.append(importlib.import_module(name))
                except ModuleNotFoundError:  # a test of what stands beside the package
                    continue
    return modules


def _for_cpu(value: Any) -> Any:
    try:
        program = value.with_backend("cpu")
        for order in program.wanted(None, {}):
            assert order
    except Exception:  # it needs tables or static values, or is a test of an error
        return None
    return program
