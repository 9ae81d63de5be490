"""Find the adjoints that a recorded step needs: of which calls, of what, with respect to what.

Forwards, memory moves if a call writes it that reads what moves. Backwards, a memory is live while
the cost depends on it. A call has an adjoint if it moves and writes what is live.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from ...runtime.process import classes
from ...runtime.process.errors import DerivativeError
from .recorded_calls import Key, RecordedCall, Touched, is_of_floats


@classes.frozen(eq=False)
class AdjointCall:
    """The adjoint of one call; `of` and `wrt` are parameters, one in both is handed on in place.

    Attributes:
        number: which call of the recording.
        call: that call.
        of: what is given.
        wrt: what is computed.
        over: the memory of `of` whose adjoint ends here, because all of it is overwritten; in
            order, because plans are alike on all ranks.

    """

    number: int
    call: RecordedCall
    of: tuple[str, ...]
    wrt: tuple[str, ...]
    over: tuple[Key, ...]

    def touched(self, name: str) -> Touched:
        """Return what is touched by a parameter."""
        return next(each for each in self.call.touched if name in (*each.read_by, *each.written_by))


def adjoint_calls(
    calls: Sequence[RecordedCall], wrt: Set[Key], of: Set[Key]
) -> Iterator[AdjointCall]:
    """Yield the adjoints of a step, the first to run first."""
    live = set(of)
    numbered = list(enumerate(zip(calls, _moving(calls, wrt), strict=True)))
    for number, (call, moving) in reversed(numbered):
        made = _adjoint_call(number, call, moving, live)
        live -= {each.key for each in call.touched if each.written_by}
        if made is not None:
            yield made
            live |= {made.touched(name).key for name in made.wrt}


def _moving(calls: Sequence[RecordedCall], wrt: Set[Key]) -> Iterator[frozenset[Key]]:
    """Yield the memory that moves before each call."""
    moving = set(wrt)
    for call in calls:
        yield frozenset(moving)
        moves = any(each.read_by and each.key in moving for each in call.touched)
        for each in call.touched:
            if each.written_by and moves and is_of_floats(each.field):
                moving.add(each.key)
            elif each.written_by and each.covered:
                moving.discard(each.key)


def _adjoint_call(
    number: int, call: RecordedCall, moving: Set[Key], live: Set[Key]
) -> AdjointCall | None:
    written = [each for each in call.touched if each.written_by and each.key in live]
    read = [each for each in call.touched if each.read_by and each.key in moving]
    kept = [each for each in written if each.key in moving and not each.covered]
    if not kept and not (written and read):
        return None
    for each in written:
        if len(each.written_by) > 1:
            raise DerivativeError(
                f"Call {number} of the recording, of '{call.name}', writes one field by the "
                f"parameters '{each.written_by[0]}' and '{each.written_by[1]}'.",
                hint="Pass different fields.",
            )
    of = dict.fromkeys(each.written_by[0] for each in written)
    wrt = dict.fromkeys(name for each in read for name in each.read_by)
    # the points that a call leaves as they are keep their adjoints
    wrt |= dict.fromkeys(each.written_by[0] for each in kept)
    stay = {each.key for each in kept}
    over = tuple(each.key for each in written if each.key not in stay)
    _check_names(number, call, (*of, *wrt))
    # in the order of the call: calls that are alike share an adjoint
    given, found = (tuple(name for name in call.arguments if name in some) for some in (of, wrt))
    return AdjointCall(number, call, given, found, over)


def _check_names(number: int, call: RecordedCall, names: Sequence[str]) -> None:
    for name in names:
        if name not in call.arguments:
            raise DerivativeError(
                f"Call {number} of the recording, of '{call.name}', takes the collection "
                f"'{name.partition('.')[0]}', and adjoints of steps take fields.",
                hint="Give each field a parameter of its own.",
            )
