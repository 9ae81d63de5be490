"""The option database: layers of entries, and the effective options of one program with origins.

Layers, the weakest first: the defaults of the stages, the site's file, the model's file, the file
that tuning wrote beside it, the environment, the call. Within a file the more specific entry wins,
by program before architecture before backend; between equals, the later one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from ...runtime.process import OptionError, classes, settings
from ..backends.backend import TARGET, Backend, names_of_backend
from .from_files import check_from_file
from .machine_names import names_of
from .option_file import Entry, Origin, read_options
from .schema import Option, Schema, schema_of, schemas

DEFAULT: Final = "default"
SITE: Final = "site"
MODEL: Final = "model"
TUNED: Final = "tuned"
ENVIRONMENT: Final = "environment"
CALL: Final = "call"
VARIABLE: Final = "FIELDFORGE_OPTIONS"


@classes.frozen
class Setting:
    """The effective value of one option, and everything that it overrules, strongest first."""

    option: Option
    value: Any
    origin: Origin
    overruled: tuple[tuple[Any, Origin], ...] = ()


@classes.frozen(eq=False)
class Database:
    """Entries by layer, the weakest layer first; nothing ever changes one."""

    layers: tuple[tuple[Entry, ...], ...] = ()
    _made: dict[Any, Backend] = classes.field(factory=dict, init=False, repr=False)
    _fitting: dict[Any, tuple[Entry, ...]] = classes.field(factory=dict, init=False, repr=False)

    def use(self, tag: str, program: str, archs: Sequence[str]) -> tuple[str, Origin]:
        """Return the backend that a tag stands for, and the place that says so."""
        found = tag, Origin(DEFAULT)
        for entry in self._applying(program, (tag,), archs):
            found = entry.use or found
        return found

    def effective(
        self,
        backend: Backend,
        program: str,
        archs: Sequence[str] | None = None,
        call: Mapping[str, Any] | None = None,
    ) -> tuple[Setting, ...]:
        """Return every option of a backend with its value for a program, and where it comes from.

        Args:
            backend: the backend with its defaults.
            program: 'module:name'.
            archs: names of the architecture; those of the backend's target by default.
            call: options that the call gives; they overrule all files.

        """
        schema, values = schema_of(backend), dict[str, list[tuple[Any, Origin]]]()
        archs = names_of(backend.target) if archs is None else archs
        for entry in self._applying(program, names_of_backend(backend.name), archs):
            for name, value, origin in entry.values:
                _add(schema, values, name, value, origin)
        for name, value in (call or {}).items():
            _add(schema, values, name, value, Origin(CALL), is_known=True)
        return tuple(_setting(option, values.get(option.name, [])) for option in schema.options)

    def applied(
        self, backend: Backend, program: str, call: Mapping[str, Any] | None = None
    ) -> Backend:
        """Return the backend with the options that the layers set for a program.

        Programs with the same options share one object.
        """
        backend, call = self._with_target(backend, call or {})
        if not call and not any(self.layers):
            return backend
        archs = names_of(backend.target)
        if not call and not self._applying(program, names_of_backend(backend.name), archs):
            return backend
        found = self.effective(backend, program, archs, call)
        changed = [each for each in found if each.origin.layer != DEFAULT]
        if not changed:
            return backend
        key = (backend.name, id(backend), tuple((each.option.name, each.value) for each in changed))
        made = self._made.get(key)
        if made is None:
            made = self._made.setdefault(key, _with(backend, changed))
        return made

    def _with_target(
        self, backend: Backend, call: Mapping[str, Any]
    ) -> tuple[Backend, Mapping[str, Any]]:
        """Set the target that a call names, which decides the entries; return the other options."""
        if TARGET not in call:
            return backend, call
        rest = {name: value for name, value in call.items() if name != TARGET}
        made = backend.with_options(target=call[TARGET])
        return self._made.setdefault((TARGET, id(backend), made.target), made), rest

    def _applying(
        self, program: str, backends: Sequence[str], archs: Sequence[str]
    ) -> tuple[Entry, ...]:
        """Return the entries that apply, the weakest first."""
        key = (program, tuple(backends), tuple(archs))
        found = self._fitting.get(key)
        if found is None:
            found = self._fitting[key] = tuple(self._ranked(*key))
        return found

    def _ranked(
        self, program: str, backends: Sequence[str], archs: Sequence[str]
    ) -> Iterator[Entry]:
        for entries in self.layers:
            ranked = [
                (rank, place, entry)
                for place, entry in enumerate(entries)
                if (rank := entry.rank(program, backends, archs)) is not None
            ]
            yield from (entry for _, _, entry in sorted(ranked, key=lambda row: row[:2]))


def database() -> Database:
    """Return the database of this process, as its settings name the files."""
    now = settings.current()
    if not _current or _current[0][0] is not now:
        _current[:] = [(now, _read(now))]
    return _current[0][1]


def use_options(path: str | Path | None) -> Database:
    """Read the model's file of options, for programs that are set up from now on.

    None uses none. Errors in the file are raised here.
    """
    file = None if path is None else Path(path).resolve()
    settings.set_current(classes.evolve(settings.current(), model_options=file))
    return database()


def tuned_file(model: Path) -> Path:
    """Return the file that tuning writes beside the model's.

    >>> tuned_file(Path("model.toml")).name
    'model.tuned.toml'
    """
    return model.with_suffix(".tuned.toml")


def checked(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries; an `OptionError` names what is unknown or what a file may not set."""
    found = tuple(entries)
    for entry in found:
        _check(entry)
    return found


_current: list[tuple[settings.Settings, Database]] = []


def _read(now: settings.Settings) -> Database:
    layers = []
    if now.site_options is not None:
        layers.append(read_options(now.site_options, SITE))
    if now.model_options is not None:
        layers.append(read_options(now.model_options, MODEL))
        beside = tuned_file(now.model_options)
        if beside.is_file():
            layers.append(read_options(beside, TUNED))
    if now.options:
        layers.append((_environment(now.options),))
    return Database(tuple(checked(entries) for entries in layers))


def _environment(words: Sequence[tuple[str, str]]) -> Entry:
    origin = Origin(f"{ENVIRONMENT} {VARIABLE}")
    values = tuple((name, _value(text), origin) for name, text in words)
    return Entry((), (), (), values, None, origin)


def _value(text: str) -> Any:
    """Read a value as TOML or Python writes it; a word without quotes is a string.

    >>> _value("3"), _value("true"), _value("strict"), _value('["a"]')
    (3, True, 'strict', ['a'])
    >>> _value("(32, 4)"), _value("()"), _value("(%3, %12)"), _value("False")
    ([32, 4], [], ['%3', '%12'], False)
    """
    written = text.lower() if text in ("True", "False") else text
    if text.startswith("(") and text.endswith(")"):
        written = f"[{text[1:-1]}]"
    try:
        return tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        if written == text:
            return text
        return [_value(each.strip()) for each in text[1:-1].split(",") if each.strip()]


def _check(entry: Entry) -> None:
    known = schemas()
    for pattern in entry.backends:
        if not _means(pattern, known):
            raise OptionError(
                f"{entry.origin}: no backend has a name like '{pattern}'.",
                name=pattern,
                known=known,
            )
    if entry.use is not None and entry.use[0].lower() not in known:
        name, origin = entry.use
        raise OptionError(f"{origin}: there is no backend '{name}'.", name=name, known=known)
    meant = [
        schema
        for name, schema in known.items()
        if not entry.backends or any(_means(each, [name]) for each in entry.backends)
    ]
    for name, value, origin in entry.values:
        options = [option for schema in meant for option in schema.named(name, f"{origin}: ")]
        if not options:
            raise OptionError(
                f"{origin}: there is no option '{name}'.",
                name=name,
                known=_written_like(name, meant),
            )
        _check_any(options, value, origin)


def _means(pattern: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern.lower()) for name in names)


def _check_any(options: Sequence[Option], value: Any, origin: Origin) -> None:
    """Refuse a value that no backend of an entry takes; each checks it again where it applies."""
    errors = []
    for option in options:
        try:
            _checked(option, value, origin)
            return
        except OptionError as error:
            errors.append(error)
    raise errors[0]


def _written_like(name: str, schemas: Iterable[Schema]) -> set[str]:
    """Return the names of options with a stage, as in 'codegen.jam', if `name` has one."""
    names = {each for schema in schemas for each in schema.names}
    return {each for each in names if ("." in each) == ("." in name)}


def _add(
    schema: Schema,
    values: dict[str, list[tuple[Any, Origin]]],
    name: str,
    value: Any,
    origin: Origin,
    is_known: bool = False,
) -> None:
    """Put a value before those that it overrules; a backend without the option ignores it."""
    options = schema.named(name, f"{origin}: ")
    if not options and is_known:
        raise OptionError(
            f"Backend '{schema.backend}' has no option '{name}'.",
            name=name,
            known=_written_like(name, [schema]),
        )
    for option in options:
        values.setdefault(option.name, []).insert(0, (_checked(option, value, origin), origin))


def _checked(option: Option, value: Any, origin: Origin) -> Any:
    try:
        made = option.checked(value, f"{origin}: ")
        if origin.file:
            check_from_file(option.name, value)
        if origin.layer == TUNED and not option.tune:
            raise OptionError(f"Option '{option.name}' cannot be tuned: it changes results.")
        return made
    except OptionError as error:
        raise OptionError(f"{origin}: {error.message}", hints=error.hints) from None


def _setting(option: Option, found: Sequence[tuple[Any, Origin]]) -> Setting:
    rows = (*found, (option.default, Origin(DEFAULT)))
    (value, origin), *rest = rows
    return Setting(option, value, origin, tuple(rest))


def _with(backend: Backend, changed: Sequence[Setting]) -> Backend:
    """Set the options; a value that the stage refuses is an error with the place of the setting."""
    for each in changed:
        try:
            backend = backend.with_options(**{each.option.name: each.value})
        except ValueError as error:  # an `OptionError` is one
            said = getattr(error, "message", str(error))
            raise OptionError(f"{each.origin}: {said}", hints=getattr(error, "hints", ())) from None
    return backend
