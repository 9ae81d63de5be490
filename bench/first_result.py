"""A fresh process: import NumPy, run one program once with a tool, and say when.

    python bench/first_result.py <tool> <described case, pickled> <when it was started>

Nothing is imported before the clock runs but what NumPy imports. The arrays of a case are read
before it; what `others/` reads of them counts for the other tools, a tenth of a millisecond each.
Prints three times in seconds: to the start of this script, of `import numpy`, and from then on.
"""

import importlib
import sys
import time

begun = time.monotonic()
import numpy as np  # noqa: E402

numpy_there = time.monotonic()

NOT_WRITTEN = "There is no variant of it in bench/others."


def main(tool: str, file: str, started: float) -> None:
    """Run a program with a tool."""
    given = np.load(file, allow_pickle=True).item()
    with_arrays(given)
    run = fieldforge if tool == "fieldforge" else other
    begin = time.monotonic()
    run(tool, given)
    end = time.monotonic()
    print(begun - started, numpy_there - begun, end - begin)


def with_arrays(given: dict) -> None:
    """Read the arrays of a case."""
    for each in (*given["arguments"].values(), *given["tables"].values()):
        if "file" in each:
            each["array"] = np.load(each["file"])


def fieldforge(_: str, given: dict) -> None:
    """Import a program as a script does, make its fields, and call it."""
    import fieldforge as ff

    def domain(each: dict) -> dict:
        return {dimension(dim): (start, stop) for dim, start, stop in each["domain"]}

    def dimension(dim: list) -> ff.Dimension:
        return ff.Dimension(dim[0], kind=ff.DimensionKind(dim[1]))

    def argument(each: dict) -> object:
        if "scalar" in each:
            return np.dtype(each["dtype"]).type(each["scalar"])
        return ff.as_field(domain(each), each["array"], allocator=ff.cpu)

    def table(each: dict) -> object:
        ends = domain(each), dimension(each["codomain"])
        return ff.as_connectivity(*ends, each["array"], skip_value=each["skip_value"])

    module = importlib.import_module(given["module"])
    program = getattr(module, given["program"]).with_backend(ff.cpu)
    arguments = {name: argument(each) for name, each in given["arguments"].items()}
    tables = {name: table(each) for name, each in given["tables"].items()}
    program(**arguments, offset_provider=tables)


def other(tool: str, given: dict) -> None:
    """Prepare the first variant of another tool, and call it."""
    module = importlib.import_module(f"others.in_{tool.lower()}")
    if given["called"] not in module.PROGRAMS:
        sys.exit(NOT_WRITTEN)
    (call, _), *_ = module.prepared(given["called"], given).values()
    call()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
