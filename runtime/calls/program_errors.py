"""Errors of programs that ran and could not finish, or that their own checks stopped."""

from __future__ import annotations

from ..process import FieldforgeError


class ProgramFailedError(FieldforgeError, RuntimeError):
    """A compiled program could not finish its work."""


class NotFiniteError(ProgramFailedError):
    """A program with its checks compiled in wrote a number that is not finite.

    Attributes:
        program: the program.
        output: the argument that it was written to.

    """

    def __init__(self, program: str, output: str) -> None:
        super().__init__(f"'{program}' wrote a number to '{output}' that is not finite.")
        self.program = program
        self.output = output


class ReadBeyondError(ProgramFailedError):
    """A program with its checks compiled in would read a field beyond its ends, below `where`.

    It has written nothing: embedded execution tells whether a mask takes such a value.
    """

    def __init__(self, program: str, name: str) -> None:
        super().__init__(f"'{program}' reads a field beyond its ends, maybe '{name}'.")
