"""Export: programs as a library with a C header and a Fortran module, callable without Python."""
