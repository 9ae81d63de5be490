"""The kinds of options: which values each takes, declared beside the field that holds it.

`option(whole(1, 8), 4)` makes a field whose value is checked whenever a stage is made, so with
every way that an option arrives. The schema of a backend reads the same kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Final

from ..runtime.process import OptionError, classes, warn_of_old
from ..runtime.process.class_fields import Field
from .base import TUNE, WAS, Numbers

COUNT: Final = (1 << 31) - 1  # the largest number of points, elements or nodes
BYTES: Final = 1 << 62  # likewise of bytes, and of points that a threshold compares with
MOST_THREADS: Final = 1024  # of a block of a GPU, by either vendor


def _as_it_is(value: Any) -> Any:
    return value


@classes.frozen(eq=False)
class Kind:
    """The values that an option takes; as a validator of attrs it refuses all others.

    Attributes:
        said: these values in words.
        fits: tells whether a converted value is one of them.
        convert: changes other spellings of a value, and leaves what it does not know.
        known: the names among which the nearest is looked for; empty if there are none.
        hints: what an error adds.
        then: checks more than one value can tell, such as the names of passes; it may raise.
        is_table: whether a value has several numbers, which files write as a table.
        in_files: whether files and the environment may set the option, not only Python.

    >>> whole(0, 8).taken("codegen.tiles", 4)
    4
    >>> whole(0, 8).taken("codegen.tiles", 9)
    Traceback (most recent call last):
        ...
    fieldforge.runtime.process.errors.OptionError: Option 'codegen.tiles' takes a whole number from 0 to 8, got 9.
    """  # noqa: E501  # the text of an error

    said: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any] = _as_it_is
    known: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    then: Callable[[Any, Any, Any], None] | None = None
    in_files: bool = True
    is_table: bool = False

    def __call__(self, owner: Any, field: Any, value: Any) -> None:
        """Refuse a value for a field of an object."""
        if not self.fits(value):
            name = getattr(owner, "name", None)
            where = f"'{field.name}' of stage '{name}'" if name else f"'{field.name}'"
            where += f" of '{type(owner).__name__}'" if isinstance(owner, Numbers) else ""
            raise self._refusal(where, value)
        if self.then is not None:
            self.then(owner, field, value)

    def taken(self, name: str, value: Any, place: str = "") -> Any:
        """Return a value as the option takes it; another one is an `OptionError`.

        A warning about an old spelling begins with the `place` where the value stands.
        """
        converted = self.converted(value, f"{place}Option '{name}'")
        if not self.fits(converted):
            raise self._refusal(f"'{name}'", value)
        return converted

    def converted(self, value: Any, subject: str = "An option") -> Any:
        """Return a value with its other spellings changed, the deprecated ones with a warning."""
        made = self.convert(value)
        if isinstance(value, list | tuple) and self.is_table and self.fits(made):
            in_file = made.table if isinstance(made, Numbers) else "false"
            warn_of_old(
                f"{subject} takes numbers by name: write '{made!r}', or '{in_file}' in a file, "
                f"instead of '{value!r}'."
            )
        return made

    def _refusal(self, where: str, value: Any) -> OptionError:
        if self.convert is listed and isinstance(value, tuple) and len(value) == 1:
            value = value[0] if isinstance(value[0], str) else value  # as it was given
        name = value if isinstance(value, str) else ""
        known = self.known if name else ()
        return OptionError(
            f"Option {where} takes {self.said}, got {value!r}.",
            name=name,
            known=known,
            hints=self.hints,
        )


def option(
    kind: Kind,
    default: Any = None,
    *,
    factory: Callable[[], Any] | None = None,
    tune: Iterable[Any] = (),
    eq: bool = True,
    shown: bool = True,
    was: str = "",
) -> Any:
    """Declare an option of a stage: a field with its kind, its default and values worth trying.

    `factory` makes a default that not every process can name.

    An option with values to try (`tune`) changes speed and no result. One without `eq` cannot
    change a result either, and is no part of the key. `shown` puts it in the stage's `repr`,
    and `was` is a deprecated name that it still has.

    >>> @classes.frozen
    ... class Halve:
    ...     size: int = option(whole(1), 8, tune=(8, 16))
    >>> Halve(size=0)
    Traceback (most recent call last):
        ...
    fieldforge.runtime.process.errors.OptionError: Option 'size' takes a whole number from 1 to 2147483647, got 0.
    """  # noqa: E501  # the text of an error
    given: dict[str, Any] = {"default": default} if factory is None else {"factory": factory}
    return classes.field(
        **given,
        converter=None if kind.convert is _as_it_is else kind.converted,
        validator=kind,
        eq=eq,
        repr=shown,
        metadata={TUNE: tuple(tune), WAS: was},
    )


def kind_of(field: Field) -> Kind | None:
    """Return the kind of a field, None for a field of somebody else's stage without one."""
    return field.validator if isinstance(field.validator, Kind) else None


def old_names(stage: type) -> dict[str, str]:
    """Return the deprecated names of a stage's options, each with the name that replaced it."""
    fields = classes.fields(stage) if classes.has(stage) else ()
    return {field.metadata[WAS]: field.name for field in fields if field.metadata.get(WAS)}


# --- kinds --------------------------------------------------------------------------------------


def optional(kind: Kind) -> Kind:
    """Return the kind that also takes None."""
    return classes.evolve(
        kind,
        said=f"{kind.said}, or None",
        fits=lambda value: value is None or kind.fits(value),
    )


def whole(least: int = 0, most: int = COUNT) -> Kind:
    """Return the kind of whole numbers within bounds."""
    return Kind(
        f"a whole number from {least} to {most}", lambda value: _is_whole(value, least, most)
    )


def one_of(names: Iterable[str]) -> Kind:
    """Return the kind of some names."""
    known = tuple(names)
    return Kind(
        f"one of {', '.join(map(repr, known))}",
        lambda value: isinstance(value, str) and value in known,
        known=known,
    )


def listed(value: Any) -> Any:
    """Return a list as a tuple, and a single word as a list of one.

    >>> listed([32, 4]), listed("%3"), listed(5)
    ((32, 4), ('%3',), 5)
    """
    if isinstance(value, str):
        return (value,)
    is_list = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
    return tuple(value) if is_list else value


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, value))


def _are_values(value: Any) -> bool:
    return _are_texts(value) and all(map(_is_value, value))


def _is_value(name: str) -> bool:
    """Tell whether a name is a row, as '%12', or the digest of a value, as '%:5d0f32b2c1a4'."""
    kind, _, digest = name.rpartition(":")
    return (kind == "%" and digest.isalnum()) or (name[0] == "%" and name[1:].isdecimal())


def _are_paths(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, PathLike) for each in value)


def _are_pairs(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
        for pair in value
    )


def _is_seconds(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0


# --- several numbers ----------------------------------------------------------------------------


def _anything(_: Any) -> bool:
    return True


def numbers(
    kind: Any,
    names: Iterable[str] = (),
    *,
    fits: Callable[[Any], bool] = _anything,
    or_false: bool = False,
    hints: tuple[str, ...] = (),
) -> Kind:
    """Return the kind of values of a class of `Numbers`; some of its numbers if `names` are given.

    A table of a file has the same names. A list of numbers in the order of the class is the
    deprecated spelling; where False is a value too, (-1,) was that one.
    """
    fields = {
        field.name: field.validator
        for field in classes.fields(kind)
        if not names or field.name in names
    }

    def convert(value: Any) -> Any:
        given = value
        if isinstance(value, list | tuple) and len(value) <= len(fields):
            if or_false and tuple(value) == (-1,):
                return False
            given = dict(zip(fields, value, strict=False))
        fitting = isinstance(given, Mapping) and all(
            name in fields and fields[name].fits(each) for name, each in given.items()
        )
        return kind(**given) if fitting else value

    def is_one(value: Any) -> bool:
        if isinstance(value, kind):
            return value.given.keys() <= fields.keys() and fits(value)
        return or_false and value is False

    ranges = (
        f"{name} {field.said.removeprefix('a whole number ')}" for name, field in fields.items()
    )
    said = f"'{kind.__name__}' with {', '.join(ranges)}" + (", or False" if or_false else "")
    return Kind(said, is_one, convert, hints=hints, is_table=True)


# --- kinds without parameters --------------------------------------------------------------------

FLAG: Final = Kind("true or false", lambda value: isinstance(value, bool))
TEXT: Final = Kind("a text", _is_text)
TEXTS: Final = Kind("a list of texts", _are_texts, listed)
VALUE_NAMES: Final = Kind("names of values such as '%12'", _are_values, listed)
SECONDS: Final = Kind("a number of seconds, 0 or more", _is_seconds)
PATH: Final = Kind("a path", lambda value: isinstance(value, PathLike), in_files=False)
PATHS: Final = Kind("a list of paths", _are_paths, listed, in_files=False)
PAIRS: Final = Kind("pairs of a name and a text", _are_pairs, listed, in_files=False)
TABLES: Final = Kind(
    "neighbour tables by name", lambda value: isinstance(value, Mapping), in_files=False
)

# --- how exact floats must be, and whose functions run --------------------------------------------

# strict: the bits of embedded execution, except transcendental functions (within 4 ulp)
# contract: also fused multiply-adds and vectorised functions
# fast: also sums in any order, and products with reciprocals for quotients
NUMERICS: Final = ("strict", "contract", "fast")
EXACTNESS: Final = one_of(NUMERICS)

# the source of transcendental functions in generated C++ where numerics is not strict
FUNCTIONS: Final = one_of(("own", "library"))
