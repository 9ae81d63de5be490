// `_core.gpu`: the native objects of the GPU runtime. Importing it loads no driver.
#include "gpu.h"

#include <nanobind/stl/string.h>

#include "edges.h"
#include "objects.h"
#include "watching.h"

namespace fieldforge::gpu {

PyObject* hook_foreign = nullptr;

namespace {

void set_hooks(nb::object choose, nb::object error, nb::object lost, nb::object foreign,
               nb::object library) {
    hook_choose = choose.release().ptr();
    hook_error = error.release().ptr();
    hook_lost = lost.release().ptr();
    hook_foreign = foreign.release().ptr();
    hook_library = library.release().ptr();
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
        set_python_error(failure);
    }
}

}  // namespace

void add_gpu(nb::module_& parent) {
    nb::module_ module = parent.def_submodule("gpu", "Devices, streams, memory, kernels, graphs.");
    nb::register_exception_translator(translate);
    nb::set_leak_warnings(false);  // devices and their pools live as long as the process
    module.def("set_hooks", set_hooks, nb::arg("choose"), nb::arg("error"), nb::arg("lost"),
               nb::arg("foreign"), nb::arg("library"));
    add_devices(module);
    add_streams(module);
    add_memory(module);
    add_arrays(module);
    add_modules(module);
    add_graphs(module);
    add_null(module);
    add_watching(module);
    add_edges(module);
    if (add_launchers(module.ptr()) < 0) throw nb::python_error();
}

}  // namespace fieldforge::gpu
