"""Classes with shared methods behave as those of attrs."""

from typing import Any

import attrs
import pytest

from fieldforge.runtime.process import classes

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"eq": False},
    {"repr": False},
    {"kw_only": True},
    {"slots": False},
    {"order": True},
)


def value(module, kind, **options):
    field = module.field

    @getattr(module, kind)(**options)
    class Value:
        a: int
        b: Any = field(default=2, eq=False)
        c: str = field(default="c", repr=str.upper)
        d: int = field(default=4, repr=False)

    return Value


@pytest.mark.parametrize("kind", ["frozen", "define"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_give_what_those_of_attrs_give(kind, options):
    facts = []
    for module in (attrs, classes):
        make = value(module, kind, **options)
        one, same, other = make(a=1), make(a=1, b=3), make(a=1, c="x")
        text = repr(one).partition(" at 0x")[0].replace("attrs", "classes")
        hashes = make.__hash__ is not None and hash(one) == hash(same)
        facts.append((text, one == same, one != same, one == other, one == 1, hashes))
    assert facts[0] == facts[1]


@pytest.mark.parametrize("module", [attrs, classes])
def test_methods_of_the_author_stay(module):
    @module.frozen
    class Own:
        a: int

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

        def __repr__(self):
            return "own"

    assert Own(1) == Own(2)
    assert hash(Own(1)) == 7
    assert repr(Own(1)) == "own"


@pytest.mark.parametrize("module", [attrs, classes])
def test_subclasses_compare_with_their_own_class_and_cycles_print(module):
    @module.frozen
    class Base:
        a: Any

    @module.frozen
    class Derived(Base):
        b: int = 0

    circle: list[Any] = []
    circle.append(Base(circle))

    assert Base(1) != Derived(1)
    assert Derived(1) == Derived(1, 0) != Derived(1, 1)
    assert repr(Derived(1)).endswith("Derived(a=1, b=0)")
    assert repr(circle[0]).endswith("Base(a=[...])")


@pytest.mark.parametrize("module", [attrs, classes])
def test_a_class_without_fields_has_one_value(module):
    @module.frozen
    class Nothing:
        pass

    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1


@pytest.mark.parametrize("module", [attrs, classes])
def test_values_compare_wherever_their_methods_are_found(module):
    @module.frozen
    class Value:
        a: Any
        b: Any = module.field(default=2, eq=False)
        c: int = 3

        def __lt__(self, other):
            return self.a < other.a

    class Plain(Value):
        pass

    assert Plain(1) == Plain(1) != Plain(2)
    assert Plain(1) != Value(1)
    assert len({Plain(1), Plain(1, 7), Value(1), Value(1, 7)}) == 2
    assert Value.__eq__(Value(1), 1) is NotImplemented
    assert Value(1) < Value(2) > Value(1)
    with pytest.raises(TypeError, match="not supported"):
        Value(1) <= Value(2)  # noqa: B015
    Value.__init__ = lambda self, a: (
        object.__setattr__(self, "a", a) or (object.__setattr__(self, "c", 0))
    )
    assert Value(1) == Value(1) != Value(2)
    assert hash(Value(1)) == hash(Value(1))


def test_values_that_hold_each_other_too_deeply_say_so():
    @classes.frozen
    class Link:
        to: Any
        at: int = 0

    one = two = None
    for _ in range(100_000):
        one, two = Link(one), Link(two)

    with pytest.raises(RecursionError):
        hash(one)
    with pytest.raises(RecursionError):
        one == two  # noqa: B015
