"""Frozen classes made here behave as those of attrs in everything that our classes use."""

from __future__ import annotations

import copy
import inspect
import pickle
import weakref
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import pytest

from fieldforge.runtime.process import classes, slotted

T = TypeVar("T")


def positive(_: Any, field: Any, value: Any) -> None:
    if value <= 0:
        raise ValueError(f"{field.name} is {value}")


class Root:
    def greet(self) -> str:
        return "root"


def family(frozen: Any) -> dict[str, Any]:
    """Return classes of all kinds, made by a decorator."""

    @frozen
    class Base(Root):
        kind: ClassVar[str] = "base"
        a: int = attrs.field(validator=positive)
        _b: tuple[int, ...] = attrs.field(default=(), converter=tuple)
        c: Any = attrs.field(factory=list, eq=False, metadata={"x": 1})
        d: Any = attrs.field(default=attrs.Factory(lambda self: self.a + 1, takes_self=True))
        e: int = attrs.field(default=3, init=False, repr=False)

        def greet(self) -> str:
            return f"{super().greet()} {__class__.__name__}"  # type: ignore[name-defined]

        @property
        def doubled(self) -> str:
            return super().greet() * 2

        @classmethod
        def usual(cls) -> Any:
            return cls(1)

    @frozen
    class Derived(Base):
        f: int = 7
        c: int = 5

    @frozen
    class Same(Base):
        pass

    @frozen
    class Listed(Generic[T]):
        a: T

    @frozen(kw_only=True)
    class Named:
        span: Any = attrs.field(default=None, eq=False, repr=False)

    @frozen
    class Child(Named):
        left: int
        right: int = attrs.field(default=2, kw_only=True)

        def __attrs_post_init__(self) -> None:
            if self.left > 100:
                raise ValueError("large")

    @frozen(slots=False)
    class Open:
        a: int
        b: int = 2

        @cached_property
        def total(self) -> int:
            return self.a + self.b

    @frozen(slots=False)
    class Plain:
        a: int
        b: int = 2

    @frozen(init=False)
    class Own:
        a: int
        b: int

        def __init__(self, both: int) -> None:
            self.__attrs_init__(both, b=both)  # type: ignore[attr-defined]

    @frozen(eq=False)
    class Identity:
        a: int

    return {name: each for name, each in locals().items() if isinstance(each, type)}


THEIRS, OURS = family(attrs.frozen), family(classes.frozen)
NAMES = sorted(OURS)
ARGUMENTS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Base": [((1,), {}), ((2, [1, 2]), {}), ((2,), {"b": [3], "c": 4, "d": 5})],
    "Derived": [((1,), {}), ((1, (), 2, 3, 4), {}), ((1,), {"c": 3})],
    "Same": [((1,), {}), ((1, [5]), {})],
    "Named": [((), {}), ((), {"span": 3})],
    "Listed": [((1,), {})],
    "Child": [((1,), {}), ((1,), {"right": 5, "span": 4})],
    "Open": [((1,), {}), ((1, 3), {})],
    "Plain": [((1,), {}), ((), {"b": 3, "a": 1})],
    "Own": [((4,), {})],
    "Identity": [((4,), {})],
}
WRONG: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Base": [((), {}), ((0,), {}), ((1,), {"e": 3}), ((1,), {"_b": 3}), ((1, 2), {})],
    "Named": [((3,), {})],
    "Child": [((1, 2), {}), ((101,), {}), ((), {})],
    "Plain": [((), {}), ((1, 2, 3), {})],
}


def values(made: Any) -> dict[str, Any]:
    return {field.name: getattr(made, field.name) for field in attrs.fields(type(made))}


@pytest.mark.parametrize("name", NAMES)
def test_instances_fields_and_text_are_those_of_attrs(name):
    for given, named in ARGUMENTS[name]:
        theirs, ours = THEIRS[name](*given, **named), OURS[name](*given, **named)
        assert values(ours) == values(theirs)
        assert repr(ours).partition(" at 0x")[0] == repr(theirs).partition(" at 0x")[0]
        assert (ours == copy.copy(ours)) == (theirs == copy.copy(theirs))
        if name not in ("Base", "Derived", "Same"):  # whose lists have no hash
            assert (hash(ours) == hash(copy.copy(ours))) == (
                hash(theirs) == hash(copy.copy(theirs))
            )


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_arguments_are_refused_by_the_same_errors(name):
    for given, named in WRONG[name]:
        found = []
        for kind in (THEIRS, OURS):
            with pytest.raises((TypeError, ValueError)) as info:
                kind[name](*given, **named)
            found.append((info.type, str(info.value).replace("family.<locals>.", "")))
        assert found[0] == found[1]


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_of_fields_are_those_of_attrs(name):
    def described(cls: Any) -> Any:
        rows = [
            (f.name, f.alias, f.type, f.init, f.kw_only, f.inherited, f.eq, dict(f.metadata),
             f.default if not isinstance(f.default, attrs.Factory) else "made")
            for f in attrs.fields(cls)
        ]  # fmt: skip
        return rows, cls.__match_args__, cls.__qualname__.partition(">.")[2], cls.__module__

    assert described(OURS[name]) == described(THEIRS[name])
    parameters = [[*inspect.signature(kind[name]).parameters] for kind in (OURS, THEIRS)]
    assert parameters[0] == parameters[1]


@pytest.mark.parametrize("name", NAMES)
def test_assignment_and_deletion_are_refused(name):
    given, named = ARGUMENTS[name][0]
    made = OURS[name](*given, **named)
    field = attrs.fields(type(made))[0].name
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(made, field, 1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        delattr(made, field)
    with pytest.raises(AttributeError):
        made.unknown = 1
    assert hasattr(made, "__dict__") == hasattr(THEIRS[name](*given, **named), "__dict__")
    assert weakref.ref(made)() is made


def test_usual_classes_are_made_here():
    assert {name for name in NAMES if OURS[name] in slotted._rows} == {*NAMES} - {"Listed", "Open"}


def test_methods_know_the_new_class():
    for kind in (THEIRS, OURS):
        made = kind["Base"].usual()
        assert made.greet() == "root Base"
        assert made.doubled == "rootroot"
        assert kind["Derived"](1).greet() == "root Base"
        assert kind["Base"].kind == "base"


def test_evolved_values_differ_in_what_was_named():
    for kind in (THEIRS, OURS):
        changed = attrs.evolve(kind["Base"](1, [2]), a=9)
        assert (changed.a, changed._b, changed.d) == (9, (2,), 2)
        assert attrs.evolve(kind["Child"](1, span=5), left=3).span == 5


@classes.frozen
class Stored:
    a: int
    b: tuple[int, ...] = attrs.field(default=(), converter=tuple)
    c: str = attrs.field(init=False, default="c")


@classes.frozen
class StoredMore(Stored):
    d: int = 4


@classes.frozen(slots=False)
class StoredOpen:
    a: int


@pytest.mark.parametrize("made", [Stored(1, [2]), StoredMore(1, [2], 5), StoredOpen(3)])
def test_pickles_and_copies_are_equal(made):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made, protocol)) == made
    assert copy.deepcopy(made) == made


def test_patterns_see_positions():
    Base = OURS["Base"]
    match Base(1, [2]):
        case Base(a, b):
            assert (a, b) == (1, (2,))


def test_validators_can_be_switched_off():
    with attrs.validators.disabled():
        assert OURS["Base"](-1).a == -1


def test_a_class_costs_attrs_nothing_until_it_is_used(monkeypatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("attrs was asked")

    monkeypatch.setattr(attrs, "frozen", refuse)

    @slotted_frozen
    class Small:
        a: int
        b: int = 2

    assert (Small(1).a, Small(1).b) == (1, 2)


@pytest.mark.parametrize("define", [attrs.define, classes.define])
def test_classes_that_change_take_assignments(define):
    @define(eq=False)
    class Counted:
        a: int
        b: list[int] = attrs.field(factory=list, init=False)

    @define
    class Converting:
        a: int = attrs.field(converter=int)

    made, converting = Counted(1), Converting("3")
    made.a, made.b, converting.a = 2, [1], "4"
    assert (made.a, made.b, converting.a) == (2, [1], 4)
    assert not hasattr(made, "__dict__")
    with pytest.raises(AttributeError):
        made.c = 3
    assert Converting(4) == converting
    assert Converting.__hash__ is None


def slotted_frozen(cls: type) -> Any:
    made = slotted.make(cls)
    assert made is not None
    return made


def test_what_only_attrs_can_make_is_left_to_it():
    class Cached:
        a: int

        @cached_property
        def b(self) -> int:
            return self.a

    class Failure(Exception):
        a: int

    class Checked:
        a: int = attrs.field(converter=attrs.Converter(int))

    assert [slotted.make(each) for each in (Cached, Failure, Checked)] == [None] * 3
    assert classes.frozen(Cached)(3).b == 3
