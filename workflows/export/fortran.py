"""The Fortran module of an exported library: interfaces, and fields made of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .program import DTYPES, FORTRAN_TYPES, Exported, fortran_names

RANKS: Final = range(1, 5)
# Kinds that have their own type in Fortran: two C types may be one.
KINDS: Final = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")


def module(library: str, programs: Sequence[Exported]) -> str:
    """Return the text of the module."""
    return "\n".join(_lines(library, programs))


def _lines(library: str, programs: Sequence[Exported]) -> Iterator[str]:
    yield f"! Programs of library '{library}', written by `fieldforge export`."
    yield f"module {library}"
    yield "  use, intrinsic :: iso_c_binding"
    yield "  implicit none"
    yield "  private"
    yield "  public :: fieldforge_field, field_of, message"
    yield f"  public :: {', '.join(_public(programs))}"
    yield ""
    yield from _field_type()
    yield ""
    yield "  interface"
    yield from _functions_of_c(library)
    for program in programs:
        yield from _interface(library, program)
    yield "  end interface"
    yield ""
    yield "contains"
    yield ""
    yield from _message()
    for kind in KINDS:
        for rank in RANKS:
            yield from _maker(kind, rank)
    yield f"end module {library}"
    yield ""


def _field_type() -> Iterator[str]:
    """Declare the type of fields, and `field_of` for arrays of all kinds and ranks."""
    yield "  integer, parameter, public :: FIELDFORGE_OK = 0"
    yield "  integer, parameter :: max_rank = 8"
    yield ""
    yield "  type, bind(C) :: fieldforge_field"
    yield "    type(c_ptr) :: data = c_null_ptr"
    yield "    integer(c_int32_t) :: dtype = 0, rank = 0"
    for name in ("start", "extent", "stride"):
        yield f"    integer(c_int64_t) :: {name}(max_rank) = 0"
    yield "  end type"
    yield ""
    yield "  ! field_of(array, start): the field of an array whose first indices are `start`."
    yield "  interface field_of"
    for kind in KINDS:
        yield f"    module procedure {', '.join(f'field_{kind}_{rank}' for rank in RANKS)}"
    yield "  end interface"


def _functions_of_c(library: str) -> Iterator[str]:
    """Declare the functions that every library has beside those of its programs."""
    yield f'    subroutine set_threads(count) bind(C, name="{library}_set_threads")'
    yield "      import :: c_int32_t"
    yield "      integer(c_int32_t), value :: count"
    yield "    end subroutine"
    yield f'    subroutine forget_tables() bind(C, name="{library}_forget_tables")'
    yield "    end subroutine"
    yield f'    function c_message() bind(C, name="{library}_message")'
    yield "      import :: c_ptr"
    yield "      type(c_ptr) :: c_message"
    yield "    end function"


def _public(programs: Sequence[Exported]) -> list[str]:
    return ["set_threads", "forget_tables", *(program.name for program in programs)]


def _interface(library: str, program: Exported) -> Iterator[str]:
    names = fortran_names([program.name, *(leaf.c for leaf in program.leaves)])
    listed = [names[leaf.c] for leaf in program.leaves]
    given = ", &\n      ".join(listed)
    yield f"    ! {program.about or program.name}"
    yield f"    function {program.name}( &"
    yield f'      {given}) result(code) bind(C, name="{library}_{program.name}")'
    yield "      import"
    for leaf in program.leaves:
        if leaf.dims is None:
            yield f"      {FORTRAN_TYPES[leaf.dtype]}, value :: {names[leaf.c]}"
        else:
            yield f"      type(fieldforge_field), intent(in) :: {names[leaf.c]}"
    yield "      integer(c_int32_t) :: code"
    yield "    end function"


def _message() -> Iterator[str]:
    yield "  ! The text of the last error of this thread."
    yield "  function message() result(text)"
    yield "    character(len=:), allocatable :: text"
    yield "    character(kind=c_char), pointer :: letters(:)"
    yield "    integer :: i"
    yield "    call c_f_pointer(c_message(), letters, [1024])"
    yield '    text = ""'
    yield "    do i = 1, size(letters)"
    yield "      if (letters(i) == c_null_char) exit"
    yield "      text = text // letters(i)"
    yield "    end do"
    yield "  end function"
    yield ""


def _maker(kind: str, rank: int) -> Iterator[str]:
    """Write a function that describes an array, contiguous or not."""
    first = ", ".join(f"lbound(array, {axis})" for axis in range(1, rank + 1))
    colons = ", ".join([":"] * rank)
    name = f"field_{kind}_{rank}"
    yield f"  function {name}(array, start) result(field)"
    yield f"    {FORTRAN_TYPES[kind]}, intent(in), target :: array({colons})"
    yield "    integer, intent(in) :: start(:)"
    yield "    type(fieldforge_field) :: field"
    yield "    integer(c_intptr_t) :: here, next"
    yield f"    field%dtype = {DTYPES.index(kind)}"
    yield f"    field%rank = {rank}"
    yield f"    field%start(1:{rank}) = start(1:{rank})"
    yield f"    field%extent(1:{rank}) = shape(array, kind=c_int64_t)"
    yield "    if (size(array) == 0) return"
    yield f"    field%data = c_loc(array({first}))"
    yield f"    here = transfer(c_loc(array({first})), here)"
    for axis in range(1, rank + 1):
        second = ", ".join(
            f"lbound(array, {each}){' + 1' if each == axis else ''}" for each in range(1, rank + 1)
        )
        yield f"    if (size(array, {axis}) > 1) then"
        yield f"      next = transfer(c_loc(array({second})), next)"
        yield f"      field%stride({axis}) = (next - here) / (storage_size(array) / 8)"
        yield "    end if"
    yield f"  end function {name}"
    yield ""
