"""`VariantTable`: the entries of one function, its builds in progress, and what hooks see of it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from ...runtime.process import classes, in_words
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from .naming import why

if TYPE_CHECKING:
    from ..builds.background import Build
    from .stand_in import StandIn


class EntrySink(Protocol):
    """Holds the same entries as a table, where calls find them."""

    def add(self, variant: Variant, entry: Any) -> None:
        """Take a new entry."""

    def replace(self, before: Any, entry: Any) -> None:
        """Exchange an entry for another one of the same variant."""

    def forget(self) -> None:
        """Drop all entries."""


@classes.define(eq=False)
class VariantTable:
    """The entries by variant, the reason for each build, and the builds in progress.

    Threads that find an entry in the table find it in `sink` too: both change under one lock.
    `stand_ins` has the variants whose entry is of the first tier, and `tiers` what else there is to
    say of the tiers of a variant.
    """

    sink: EntrySink | None = None
    entries: dict[Variant, Any] = classes.field(factory=dict, init=False)
    reasons: dict[Variant, str] = classes.field(factory=dict, init=False)
    seconds: dict[Variant, float] = classes.field(
        factory=dict, init=False
    )  # to build, by the stages
    stand_ins: dict[Variant, StandIn] = classes.field(factory=dict, init=False)
    tiers: dict[Variant, str] = classes.field(factory=dict, init=False)
    age: int = classes.field(default=0, init=False)  # how often the entries were dropped
    _in_progress: dict[Variant, Build] = classes.field(factory=dict, init=False)
    _lock: Any = classes.field(factory=RLock, init=False)  # `forget` may be called inside itself

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that are built or in progress."""
        return (*self.entries, *self._in_progress)

    def __contains__(self, variant: Variant) -> bool:
        """Tell whether a variant is compiled, or in progress."""
        return self.entry_compiled(variant) is not None or variant in self._in_progress

    def entry_compiled(self, variant: Variant) -> Any:
        """Return the entry of compiled code, None if there is none."""
        with self._lock:
            return None if variant in self.stand_ins else self.entries.get(variant)

    def stands_in(self, variant: Variant) -> bool:
        """Tell whether calls of a variant run on the first tier."""
        return variant in self.stand_ins

    def find(self, variant: Variant) -> Any:
        """Return the compiled entry, after waiting for a build in progress; None without either.

        A failed build raises its error once; the next call builds again.
        """
        found = self.entry_compiled(variant)
        if found is None and variant in self._in_progress:
            under_way = self._in_progress[variant]
            try:
                return under_way.result()
            finally:
                self._in_progress.pop(variant, None)
        return found

    def begin(self, variant: Variant, build: Build) -> None:
        """Remember a build that runs in the background."""
        self._in_progress[variant] = build

    def add(self, variant: Variant, entry: Any, reason: str, age: int) -> Any:
        """Add an entry and return the one that the table has, which may be another thread's.

        It replaces an entry of the first tier. An entry whose build began at another `age` belongs
        to an old definition: it serves the caller and is not added.
        """
        with self._lock:
            if age != self.age:
                return entry
            self.reasons.setdefault(variant, reason or why(variant, tuple(self.entries)))
            known = self.entry_compiled(variant)
            if known is not None:
                return known
            self._put(variant, entry)
        return entry

    def add_stand_in(self, variant: Variant, made: StandIn, age: int) -> Any:
        """Add an entry of the first tier unless there is one; return as `add` does."""
        with self._lock:
            if age != self.age:
                return made.entry
            if variant not in self.entries:
                self.reasons.setdefault(variant, why(variant, tuple(self.entries)))
                self._put(variant, made.entry)
                self.stand_ins[variant] = made
            return self.entries[variant]

    def _put(self, variant: Variant, entry: Any) -> None:
        """Set the entry of a variant, here and where calls find it."""
        before, self.entries[variant] = self.entries.get(variant), entry
        stood = self.stand_ins.pop(variant, None)
        if stood is not None:
            self.tiers[variant] = f"compiled after {stood.calls_text}"
        if self.sink is not None and before is None:
            self.sink.add(variant, entry)
        elif self.sink is not None:
            self.sink.replace(before, entry)

    def forget(self) -> None:
        """Drop all entries: the function has changed."""
        with self._lock:
            self.age += 1
            self.entries.clear()
            self.reasons.clear()
            self.seconds.clear()
            self.stand_ins.clear()
            self.tiers.clear()
            self._in_progress.clear()
            if self.sink is not None:
                self.sink.forget()

    def drop(self, is_dropped: Callable[[Variant], bool]) -> int:
        """Drop some entries and return how many; a call that needs one builds or loads it again."""
        with self._lock:
            kept = {each: entry for each, entry in self.entries.items() if not is_dropped(each)}
            count = len(self.entries) - len(kept)
            if count and self.sink is not None:
                self.sink.forget()
                for variant, entry in kept.items():
                    self.sink.add(variant, entry)
            for variant in self.entries.keys() - kept.keys():
                del self.entries[variant], self.reasons[variant]
                for kept_beside in (self.seconds, self.stand_ins, self.tiers):
                    kept_beside.pop(variant, None)
        return count

    @property
    def text(self) -> str:
        """The variants, one per line, with the reason for each build."""
        with self._lock:
            known = [(in_words(each.text), self._said(each)) for each in self.entries]
        rows = [
            f"{text.replace(chr(10), '; ') or 'any layout'}  ({reason})" for text, reason in known
        ]
        return "\n".join(f"  {number}  {row}" for number, row in enumerate(rows)) or "  none yet"

    def _said(self, variant: Variant) -> str:
        """Return the reason for a build, and what there is to say of its tiers."""
        standing = self.stand_ins.get(variant)
        tier = self.tiers.get(variant, "") if standing is None else standing.text
        return f"{self.reasons[variant]}; {tier}" if tier else self.reasons[variant]


@classes.frozen(eq=False)
class ProgramPool:
    """The variants of one program under one backend that are built by now.

    Attributes:
        name: the name of the program.
        backend: compiles it; None runs embedded, which has no variants.
        compiled_programs: the entry of each variant; it grows while programs are built.

    """

    name: str
    backend: Backend | None
    compiled_programs: Mapping[Variant, Any] = classes.field(repr=False)

    @property
    def root(self) -> tuple[str, str]:
        """The names of the program and of its backend."""
        return self.name, self.backend.name if self.backend else "embedded"


def pool_of(name: str, backend: Backend | None, *tables: VariantTable) -> ProgramPool:
    """Return the view of all variants in these tables, which belong to one program."""
    entries = ChainMap(*(table.entries for table in tables))
    return ProgramPool(name, backend, MappingProxyType(entries))
