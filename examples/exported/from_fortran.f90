! A model in Fortran: it averages over the neighbours of cells that are counted from 1.
!
!     gfortran lib/small.f90 from_fortran.f90 -Llib -lsmall -Wl,-rpath,lib -o from_fortran
program from_fortran
  use, intrinsic :: iso_c_binding
  use small
  implicit none
  integer, parameter :: cells = 6, levels = 3
  real(c_double), target :: now(cells, levels), new(cells, levels)
  integer(c_int32_t), target :: neighbours(cells, 2)
  integer(c_int32_t) :: code, cell, k, step

  do cell = 1, cells
    neighbours(cell, 1) = modulo(cell - 2, cells) + 1
    neighbours(cell, 2) = modulo(cell, cells) + 1
    do k = 1, levels
      now(cell, k) = real(modulo(cell * 5 + k * 2, 7), c_double)
    end do
  end do
  new = now

  do step = 1, 4
    code = average(field_of(now, [1, 0]), field_of(new, [1, 0]), 0_c_int32_t, levels, &
                   field_of(neighbours, [1, 0]))
    if (code /= FIELDFORGE_OK) then
      print '(a)', message()
      error stop 1
    end if
    now = new
  end do
  do k = 1, levels
    do cell = 1, cells
      print '(es25.17)', now(cell, k)
    end do
  end do

  ! A field that is written and read through a table at once:
  code = average(field_of(now, [1, 0]), field_of(now, [1, 0]), 0_c_int32_t, levels, &
                 field_of(neighbours, [1, 0]))
  print '(a, i0, 2a)', "code ", code, ": ", message()
end program
