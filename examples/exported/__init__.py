"""Programs for models in C and Fortran: `fieldforge export` makes a library of them."""
