// The module `fieldforge.runtime._core`: what a call of a compiled program runs through.
#include <nanobind/nanobind.h>

#include "bound.h"
#include "entry.h"
#include "field_view.h"
#include "gpu/gpu.h"
#include "halo.h"
#include "library.h"
#include "limited.h"
#include "numpy_array.h"
#include "program.h"
#include "reduce.h"
#include "rows/rows.h"
#include "scalar.h"
#include "sequence.h"
#include "stencil.h"
#include "wishes.h"
#include "workspace.h"

// The types of the hot path are plain CPython types, so that a call costs no more than its
// checks; nanobind binds everything else.
NB_MODULE(_core, m) {
    m.doc() = "The native call path: fields, entries, programs, libraries.";
    if (fieldforge::prepare_scalars() < 0 || fieldforge::prepare_numpy_arrays() < 0 ||
        fieldforge::add_field_view(m.ptr()) < 0 ||
        fieldforge::add_entry(m.ptr()) < 0 || fieldforge::add_program(m.ptr()) < 0 ||
        fieldforge::add_bound_call(m.ptr()) < 0 || fieldforge::add_sequence(m.ptr()) < 0 ||
        fieldforge::add_stencil(m.ptr()) < 0 ||
        fieldforge::add_limited(m.ptr()) < 0 || fieldforge::add_workspace(m.ptr()) < 0 ||
        fieldforge::add_wishes(m.ptr()) < 0) {
        throw nanobind::python_error();
    }
    fieldforge::add_halo(m);
    fieldforge::add_library(m);
    fieldforge::add_reduce(m);
    fieldforge::rows::add_rows(m);
    fieldforge::gpu::add_gpu(m);
}
