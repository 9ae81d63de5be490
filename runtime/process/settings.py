"""The settings of this process: the one place that reads the environment.

Each field of `Settings` is the variable `FIELDFORGE_<FIELD>`; an unset or empty variable means
the default. Variables that compilers read keep their own names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from . import classes
from .errors import OptionError

PREFIX: Final = "FIELDFORGE_"
MOST_JOBS: Final = 32
LEVELS: Final = ("debug", "info", "warning", "error")
TIERS: Final = ("both", "compiled", "rows")
GPU_PLATFORMS: Final = ("cuda", "hip", "null")
GPU_SEARCHES: Final = ("order",)
MOST_NULL_DEVICES: Final = 16
GPU_GUARDS: Final = ("after", "before")
METRICS_LEVELS: Final = (0, 1, 10, 30, 50, 100)
METRICS_FILE: Final = "fieldforge_metrics.json"
# Variables that C++ compilers read, and those without which they cannot run.
COMPILER_VARIABLES: Final = (
    "PATH", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH",
    "LD_LIBRARY_PATH", "MACOSX_DEPLOYMENT_TARGET", "SDKROOT", "SOURCE_DATE_EPOCH",
)  # fmt: skip
_UNITS: Final = ("", "K", "M", "G", "T")
_FLAGS: Final = {"0": False, "false": False, "off": False, "1": True, "true": True, "on": True}


def _default_jobs() -> int:
    """Return the number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return min(len(allowed(0)) if allowed else os.cpu_count() or 1, MOST_JOBS)


def _default_local_dir(environ: Mapping[str, str]) -> Path:
    """Return a folder of this user on this node; whoever uses it checks that it is private."""
    return Path(os.path.abspath(environ.get("TMPDIR") or "/tmp"), f"fieldforge-{os.getuid()}")


def _default_cache_dir(environ: Mapping[str, str]) -> Path:
    """Return the user's cache folder; XDG says that relative ones do not count."""
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "fieldforge"
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if home.is_absolute():
        return home / ".cache" / "fieldforge"
    return Path(f"/tmp/fieldforge-{os.getuid()}")


@classes.frozen(kw_only=True)
class Settings:
    """The settings of the whole process.

    Attributes:
        cache_dir: where stage results are kept.
        cache_layers: stores and packs to look through after that one; nothing is written to them.
        cache_key: a file with a secret that signs new results; those of layers need its signature.
        cache_size: the size of the store, such as 20G; the least recently used results go first.
        local_dir: a folder of this node for builds under way and for the libraries that are loaded.
        jobs: how many builds run at once; 0 builds in the caller, one by one.
        dump: stages whose results are written beside their store entries as text.
        backend: name of the default backend; None runs embedded.
        cxx: the C++ compiler; None takes the first one found.
        enable_jit: whether a call compiles a variant that is missing.
        tiers: what runs calls of backend 'cpu': 'both', the first tier until compiled code is
            there; 'compiled' code, for which the first call waits; 'rows', the first tier, which
            needs no compiler.
        build_after: seconds that a variant runs on the first tier before its build begins.
        verbose_exceptions: whether errors of the language show the Python that found them.
        log: the lowest level of events to print; None prints nothing.
        collect_metrics: the level of measurement: 0 nothing, 1 whole calls, 10 compiled code
            too; 30, 50 and 100 leave room for more.
        dump_metrics: where metrics are written when the process ends; None writes nothing.
        build_budget: seconds that a build may take before a warning names what took them.
        gpu: platform of the GPU runtime: cuda, hip or null; None takes the first with a GPU.
        gpu_arch: the GPU that backends build for, such as sm_80 or A100; None takes that of this
            process, and sm_90 where there is none.
        gpu_devices: how many devices the null platform simulates, 1 to 16.
        gpu_sync: whether calls wait after each kernel, so that an error names kernel and program.
        gpu_debug: what is looked for while programs run; 'order' finds uses of a field on two
            streams that nothing orders.
        gpu_ranges: whether calls on GPUs are ranges of NVTX or rocTX, for profilers.
        gpu_guard: the side on which memory of the null platform ends at a page that no kernel may
            touch: after or before; None leaves it open.
        check: names of programs and operators whose calls are checked, see `Program.checked`.
        capture: names of programs and operators of which the first call is written to a capsule in
            the working folder, see `Program.capture`.
        site_options: the file of backend options that holds for all models of a site.
        model_options: the file of backend options of the model that runs.
        options: backend options that overrule both files, as in `parallel_from=0; jam=false`.
        compiler_variables: the variables, by their own names, that compilers are given.

    """

    cache_dir: Path = classes.field(factory=lambda: _default_cache_dir(os.environ))
    cache_layers: tuple[Path, ...] = ()
    cache_key: Path | None = None
    cache_size: int = 8 << 30
    local_dir: Path = classes.field(factory=lambda: _default_local_dir(os.environ))
    jobs: int = classes.field(factory=_default_jobs)
    dump: tuple[str, ...] = ()
    backend: str | None = None
    cxx: str | None = None
    enable_jit: bool = True
    verbose_exceptions: bool = False
    log: str | None = None
    # The bits of both tiers are equal.
    tiers: str = classes.field(default="both", eq=False)
    build_after: float = classes.field(default=0.01, eq=False)
    # Measurements do not change builds, so they do not count for equality.
    collect_metrics: int = classes.field(default=0, eq=False)
    dump_metrics: Path | None = classes.field(default=None, eq=False)
    build_budget: float = classes.field(default=20.0, eq=False)
    gpu: str | None = classes.field(default=None, eq=False)
    gpu_arch: str | None = classes.field(default=None, eq=False)
    gpu_devices: int = classes.field(default=2, eq=False)
    gpu_sync: bool = classes.field(default=False, eq=False)
    gpu_debug: tuple[str, ...] = classes.field(default=(), eq=False)
    gpu_ranges: bool = classes.field(default=False, eq=False)
    gpu_guard: str | None = classes.field(default=None, eq=False)
    check: tuple[str, ...] = classes.field(default=(), eq=False)
    capture: tuple[str, ...] = classes.field(default=(), eq=False)
    # Options are part of the backends that they change, so they do not count for equality either.
    site_options: Path | None = classes.field(default=None, eq=False)
    model_options: Path | None = classes.field(default=None, eq=False)
    options: tuple[tuple[str, str], ...] = classes.field(default=(), eq=False)
    compiler_variables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the environment; a value that means nothing is an `OptionError`.

        >>> Settings.from_env({"FIELDFORGE_DUMP": "lower,codegen", "HOME": "/home/eva"}).dump
        ('lower', 'codegen')
        """
        environ = os.environ if environ is None else environ
        given: dict[str, Any] = {
            "cache_dir": _default_cache_dir(environ),
            "local_dir": _default_local_dir(environ),
            "compiler_variables": tuple(
                (name, environ[name]) for name in sorted(COMPILER_VARIABLES) if name in environ
            ),
        }
        for field, read in _READERS.items():
            variable = PREFIX + field.upper()
            text = environ.get(variable, "").strip()
            if text:
                given[field] = read(variable, text)
        return cls(**given)


def read_flag(variable: str, text: str) -> bool:
    """Read 0, false, off or 1, true, on, in capitals or not."""
    if text.lower() not in _FLAGS:
        raise _refused(variable, text, "one of 0, false, off, 1, true, on")
    return _FLAGS[text.lower()]


def _read_count(variable: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise _refused(variable, text, "a number of jobs, 0 or more")
    return int(text)


def _read_seconds(variable: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise _refused(variable, text, "a number of seconds, 0 or more")
    return seconds


def read_size(variable: str, text: str) -> int:
    """Read a number of bytes, with an optional suffix K, M, G or T."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1].isalpha() else (text, "")
    if not (number.isascii() and number.isdecimal() and unit in _UNITS):
        raise _refused(variable, text, "a number of bytes, such as 500M or 20G")
    return int(number) << 10 * _UNITS.index(unit)


def _read_places(_: str, text: str) -> tuple[Path, ...]:
    """Read folders and files, separated as in PATH; they need not exist yet."""
    return tuple(
        Path(os.path.abspath(os.path.expanduser(part))) for part in text.split(os.pathsep) if part
    )


def _file_of(what: str) -> Callable[[str, str], Path]:
    """Return the reader of the name of a file that is there."""

    def read(variable: str, text: str) -> Path:
        path = Path(os.path.abspath(os.path.expanduser(text)))
        if "\0" in text or not path.is_file():
            raise _refused(variable, text, what)
        return path

    return read


def _read_pairs(variable: str, text: str) -> tuple[tuple[str, str], ...]:
    """Read NAME=VALUE pairs that semicolons separate."""
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if not all(equals and name.strip() and value.strip() for name, equals, value in pairs):
        raise _refused(variable, text, "options such as 'parallel_from=0; jam=false'")
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _read_words(variable: str, text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not all(word.isidentifier() for word in words):
        raise _refused(variable, text, "names separated by commas, such as lower,codegen")
    return words


def _read_path(variable: str, text: str) -> Path:
    path = Path(os.path.expanduser(text))
    if "\0" in text or (path.exists() and not path.is_dir()):
        raise _refused(variable, text, "a folder")
    return Path(os.path.abspath(path))


def _read_backend(_: str, text: str) -> str | None:
    return None if text.lower() in ("none", "embedded") else text


def _word_of(words: tuple[str, ...]) -> Callable[[str, str], str]:
    """Return the reader of one of some words, in capitals or not."""

    def read(variable: str, text: str) -> str:
        if text.lower() not in words:
            raise _refused(variable, text, f"one of {', '.join(words)}")
        return text.lower()

    return read


def _read_devices(variable: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_NULL_DEVICES):
        raise _refused(variable, text, f"a number of devices, 1 to {MOST_NULL_DEVICES}")
    return int(text)


def _read_searches(variable: str, text: str) -> tuple[str, ...]:
    words = _read_words(variable, text)
    if any(word not in GPU_SEARCHES for word in words):
        raise _refused(variable, text, " or ".join(GPU_SEARCHES))
    return words


def _read_metrics_level(variable: str, text: str) -> int:
    if text not in map(str, METRICS_LEVELS):
        raise _refused(variable, text, f"one of {', '.join(map(str, METRICS_LEVELS))}")
    return int(text)


def _read_metrics_file(_: str, text: str) -> Path | None:
    """Read a flag, or the name of a file."""
    on = _FLAGS.get(text.lower())
    return (Path(METRICS_FILE) if on else None) if on is not None else Path(text)


def _refused(variable: str, text: str, accepted: str) -> OptionError:
    return OptionError(f"The environment variable '{variable}' must be {accepted}, got '{text}'.")


_READERS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "cache_dir": _read_path,
    "cache_layers": _read_places,
    "cache_key": _file_of("a file that holds a secret"),
    "cache_size": read_size,
    "local_dir": _read_path,
    "jobs": _read_count,
    "dump": _read_words,
    "backend": _read_backend,
    "cxx": lambda _, text: text,
    "enable_jit": read_flag,
    "tiers": _word_of(TIERS),
    "build_after": _read_seconds,
    "verbose_exceptions": read_flag,
    "log": _word_of(LEVELS),
    "collect_metrics": _read_metrics_level,
    "dump_metrics": _read_metrics_file,
    "build_budget": _read_seconds,
    "gpu": _word_of(GPU_PLATFORMS),
    "gpu_arch": lambda _, text: text,
    "gpu_devices": _read_devices,
    "gpu_sync": read_flag,
    "gpu_debug": _read_searches,
    "gpu_ranges": read_flag,
    "gpu_guard": _word_of(GPU_GUARDS),
    "check": _read_words,
    "capture": _read_words,
    "site_options": _file_of("a file of options"),
    "model_options": _file_of("a file of options"),
    "options": _read_pairs,
}

_current: list[Settings] = []
_listeners: list[Callable[[], None]] = []


def current() -> Settings:
    """Return the settings of the process, read from the environment at first use."""
    if not _current:
        _current[:] = [Settings.from_env()]
        _tell()
    return _current[0]


def are_read() -> bool:
    """Tell whether the environment was read, or settings were given."""
    return bool(_current)


def set_current(settings: Settings | None) -> None:
    """Replace the settings of the process; None reads the environment again at next use."""
    _current[:] = [] if settings is None else [settings]
    if settings is not None:
        _tell()


def on_change(listener: Callable[[], None]) -> None:
    """Call `listener` whenever the process has other settings than before."""
    _listeners.append(listener)


def environment_with(**changes: str) -> dict[str, str]:
    """Return the environment of this process with changes, for a child process."""
    return {**os.environ, **changes}


def _tell() -> None:
    for listener in tuple(_listeners):
        listener()


def literal_precision(kind: str) -> int:
    """Return the bits of literals of GTScript, 'int' or 'float': of gt4py's variable, else 64.

    >>> literal_precision("int")
    64
    """
    variable = f"GT4PY_LITERAL_{kind.upper()}_PRECISION"
    text = os.environ.get(variable, "").strip() or "64"
    if text not in ("32", "64"):
        raise _refused(variable, text, "32 or 64")
    return int(text)
