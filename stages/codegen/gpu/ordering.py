"""The instructions of a loop in an order in which few values wait for their use.

A compiler for GPUs keeps roughly the order of the source. Where a body computes one sum and then
another from the same loads, all of these wait in registers; this order finishes with one neighbour
before it turns to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from ...ir.loops import Constant, Instruction, Load, Row, Store


@attrs.frozen
class _Body:
    """Rows as bits: who uses a row, and what it is made from. Late rows come last in any case."""

    rows: Sequence[Instruction]
    users: Sequence[int]
    needs: Sequence[int]
    weights: Sequence[int]
    late: int


def in_order(rows: Sequence[Instruction], points: int, late: frozenset[str]) -> list[Row]:
    """Return the rows in their new order, operands first; stores to `late` buffers last.

    A value of the innermost loop weighs as much as a thread has points.
    """
    body = _body(rows, points, late)
    everything = (1 << len(rows)) - 1 & ~body.late
    done, order = 0, list[Row]()
    while done != everything:
        best = min(_steps(body, done, everything))
        order += [*_bits(best[-1] & ~done)]
        done = _settled(body, best[-1], order)
    return [*order, *_bits(body.late)]


def _body(rows: Sequence[Instruction], points: int, late: frozenset[str]) -> _Body:
    users, needs = [0] * len(rows), [0] * len(rows)
    inner = max(row.level for row in rows)
    last = 0
    for number, row in enumerate(rows):
        if isinstance(row, Store) and row.buffer in late:
            last |= 1 << number
        for operand in row.operands:
            users[operand] |= 1 << number
            needs[number] |= needs[operand] | 1 << operand
    weights = [
        0 if isinstance(row, Constant | Store) else points if row.level == inner else 1
        for row in rows
    ]
    return _Body(rows, users, needs, weights, last)


def _steps(body: _Body, done: int, everything: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield what may come next: weight, rows and number of a value, and all that is done then.

    A step is all that still needs a value, with what that is made from.
    """
    found = False
    for number in _bits(done):
        if body.weights[number] > 1 and (left := body.users[number] & everything & ~done):
            after = done
            for user in _bits(left):
                after |= body.needs[user] | 1 << user
            yield _step(body, done, after, number)
            found = True
    if not found:
        left = everything & ~done
        loads = [n for n in _bits(left) if isinstance(body.rows[n], Load) and body.weights[n] > 1]
        number = loads[0] if loads else next(_bits(left))
        yield _step(body, done, done | body.needs[number] | 1 << number, number)


def _step(body: _Body, done: int, after: int, number: Row) -> tuple[int, int, int, int]:
    count = (after & ~done).bit_count()
    return _weight(body, _settled(body, after, [])), count, number, after


def _weight(body: _Body, done: int) -> int:
    return sum(body.weights[number] for number in _bits(done) if body.users[number] & ~done)


def _settled(body: _Body, done: int, order: list[Row]) -> int:
    """Compute what lets as much go as it adds, as long as there is any."""
    grown = True
    while grown:
        grown = False
        for number in _bits(((1 << len(body.rows)) - 1) & ~done & ~body.late):
            if body.needs[number] & ~done or isinstance(body.rows[number], Load):
                continue
            freed = sum(
                body.weights[each]
                for each in set(body.rows[number].operands)
                if not body.users[each] & ~done & ~(1 << number)
            )
            if freed >= body.weights[number]:
                done |= 1 << number
                order.append(number)
                grown = True
    return done


def _bits(of: int) -> Iterator[int]:
    while of:
        low = of & -of
        yield low.bit_length() - 1
        of ^= low
