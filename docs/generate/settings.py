"""The page of settings, from the class `Settings`."""

from __future__ import annotations

import attrs

from fieldforge.runtime.process import settings
from fieldforge.runtime.process.settings import PREFIX, Settings

from .text import attributes, sentence, table

INTRO = """# Settings

A setting is an environment variable. An unset or empty variable means the default; an invalid value is an
[`OptionError`](errors.md#OptionError) at the first use.
"""
DEFAULTS = {
    "cache_dir": "`~/.cache/fieldforge`",
    "local_dir": "a folder of the user in `$TMPDIR` or `/tmp`",
    "jobs": f"the processors of the process, at most {settings.MOST_JOBS}",
    "cache_size": "`8G`",
}
NOT_READ = ("compiler_variables",)  # variables of the compilers, under their own names


def page() -> str:
    """Return the page."""
    meaning = attributes(Settings)
    rows = [
        (f"`{PREFIX}{field.name.upper()}`", sentence(meaning[field.name]), _default(field))
        for field in attrs.fields(Settings)
        if field.name not in NOT_READ
    ]
    compilers = ", ".join(f"`{name}`" for name in settings.COMPILER_VARIABLES)
    return "\n".join([
        INTRO, table(("variable", "meaning", "default"), rows), "",
        "The compilers also receive these variables, and a build's key contains their values: "
        f"{compilers}.", "",
    ])  # fmt: skip


def _default(field: attrs.Attribute) -> str:  # type: ignore[type-arg]
    if field.name in DEFAULTS:
        return DEFAULTS[field.name]
    if field.default in (None, ()):
        return "none"
    value = int(field.default) if isinstance(field.default, bool) else field.default
    return f"`{value}`"
