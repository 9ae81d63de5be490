// The kernels of one untuned program for a CPU: compile with REAL and KERNELS, a file's name.

#include "untuned.h"
#include KERNELS
