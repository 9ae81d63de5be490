"""Functions written as text, whose lines are found as if the text stood in a file."""

import linecache
from typing import Any


def names_of(text: str, file: str | None = None, /, **names: Any) -> dict[str, Any]:
    """Run the text of a module, which may use `names`; return its names."""
    file = file or f"<{text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names
