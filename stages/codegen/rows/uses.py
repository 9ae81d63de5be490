"""What generated text asks for while it is written, so that nobody searches text for names."""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs

Passed: TypeAlias = tuple[str, int]  # kind and place of what a call passes
KINDS: Final = ("pointer", "slot", "int", "scalar")  # in the order of arguments


@attrs.frozen
class Uses:
    """The names in a text, and the helper functions that it calls.

    Attributes:
        names: each name with its kind and place if a call passes it, such as ("int", 3) for `n3`;
            with None if text around defines it.
        functions: the texts of helper functions, by name.

    """

    names: dict[str, Passed | None] = attrs.field(factory=dict)
    functions: dict[str, str] = attrs.field(factory=dict)

    def ask(self, name: str, argument: Passed | None = None) -> str:
        """Return a name, and keep that the text contains it."""
        self.names[name] = argument
        return name

    def add(self, other: Uses) -> None:
        """Keep what another text asked for, which becomes a part of this one."""
        self.names.update(other.names)
        self.functions.update(other.functions)

    @property
    def arguments(self) -> tuple[Passed, ...]:
        """What a call passes to the text, kind by kind.

        >>> uses = Uses()
        >>> uses.ask("n3", ("int", 3)) + uses.ask("p0", ("pointer", 0)) + uses.ask("a1")
        'n3p0a1'
        >>> uses.arguments
        (('pointer', 0), ('int', 3))
        """
        found = {argument for argument in self.names.values() if argument is not None}
        return tuple(sorted(found, key=lambda each: (KINDS.index(each[0]), each[1])))
