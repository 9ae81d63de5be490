"""Write `__init__` of frozen classes as attrs would, and describe fields for it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, Final

import attrs

BIND: Final = object.__setattr__.__get__
USUAL: Any = attrs.field()  # of a field with nothing but a default
Told: Final = type(USUAL)


class Spec:
    """A field as `__init__` sees it."""

    def __init__(self, name: str, value: Any) -> None:
        self.told = told = value if isinstance(value, Told) else USUAL
        self.name = name
        self.alias: str = told.alias or name.lstrip("_")
        self.default: Any = value if told is USUAL else told._default
        self.validator: Any = told._validator
        self.converter: Any = told.converter
        self.init: bool = told.init

    @property
    def is_made(self) -> bool:
        """Whether a function makes the default."""
        return isinstance(self.default, attrs.Factory)  # type: ignore[arg-type]  # it is a class


def initializer(
    cls: Any, name: str, specs: Sequence[Spec], keywords: frozenset[str]
) -> Callable[..., None]:
    """Return `__init__` as attrs would write it.

    Classes with fields of the same kinds share a compiled text, in which `a0` stands for the first.
    """
    numbers = range(len(specs))
    placed = [n for n in numbers if specs[n].init and specs[n].name not in keywords]
    named = [n for n in numbers if specs[n].init and specs[n].name in keywords]
    text = _text(cls, specs, placed, named)
    code = _known_code(text).replace(co_name=name, co_qualname=f"{cls.__qualname__}.{name}")
    fields = {f"a{n}": specs[n].name for n in numbers}
    aliases = {f"a{n}": specs[n].alias for n in numbers}
    code = code.replace(
        co_varnames=tuple(aliases.get(word, word) for word in code.co_varnames),
        co_consts=tuple(fields.get(each, each) if type(each) is str else each
                        for each in code.co_consts),
        co_names=tuple(fields.get(word, word) for word in code.co_names),
    )  # fmt: skip
    made = FunctionType(code, _globals(cls, specs), name)
    optional = [n for n in placed if specs[n].default is not attrs.NOTHING]
    if optional != placed[len(placed) - len(optional) :]:
        raise ValueError(f"A field of '{cls.__name__}' without a default follows one that has one.")
    made.__defaults__ = tuple(_given(specs[n]) for n in optional)
    made.__kwdefaults__ = {
        specs[n].alias: _given(specs[n]) for n in named if specs[n].default is not attrs.NOTHING
    }
    made.__module__ = cls.__module__
    return made


@functools.cache
def _known_code(text: str) -> CodeType:
    content: dict[str, Any] = {}
    exec(compile(text, "<initializer>", "exec"), content)
    found: CodeType = content["made"].__code__
    return found


def _text(cls: Any, specs: Sequence[Spec], placed: Sequence[int], named: Sequence[int]) -> str:
    has_slots = "__slots__" in cls.__dict__
    words = ["self", *(f"a{n}" for n in placed), *(["*"] if named else [])]
    words += [f"a{n}" for n in named]
    body = ["put = bind(self)" if has_slots else "put = self.__dict__.__setitem__"]
    body += [line for n, spec in enumerate(specs) for line in _assigned(spec, n)]
    checks = [f"  check{n}(self, field{n}, self.a{n})" for n, s in enumerate(specs) if s.validator]
    body += ["if not are_off():", *checks] if checks else []
    if hasattr(cls, "__attrs_post_init__"):
        body.append("self.__attrs_post_init__()")
    return "\n ".join([f"def made({', '.join(words)}):", *body])


def _globals(cls: Any, specs: Sequence[Spec]) -> dict[str, Any]:
    known: dict[str, Any] = {"bind": BIND, "NOTHING": attrs.NOTHING}
    for n, spec in enumerate(specs):
        if spec.converter:
            known[f"convert{n}"] = spec.converter
        if spec.is_made:
            known[f"make{n}"] = spec.default.factory
        elif not spec.init:
            known[f"default{n}"] = spec.default
        if spec.validator:
            known |= {f"check{n}": spec.validator, f"field{n}": attrs.fields(cls)[n]}
            known["are_off"] = attrs.validators.get_disabled
    return known


def _given(spec: Spec) -> Any:
    """Return the default in the signature."""
    return attrs.NOTHING if spec.is_made else spec.default


def _assigned(spec: Spec, n: int) -> Iterator[str]:
    """Write the assignment of field `n`."""
    value = f"a{n}"
    if spec.is_made:
        made = f"make{n}({'self' if spec.default.takes_self else ''})"
        value = f"{made} if {value} is NOTHING else {value}" if spec.init else made
    elif not spec.init:
        if spec.default is attrs.NOTHING:
            return
        value = f"default{n}"
    yield f"put('a{n}', {f'convert{n}({value})' if spec.converter else value})"
