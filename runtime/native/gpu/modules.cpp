// `Module` and `Kernel`.
#include <nanobind/stl/string.h>

#include "objects.h"

namespace fieldforge::gpu {
namespace {

PyTypeObject* kernel_type;
constexpr int attribute_max_threads = 0, attribute_shared = 1, attribute_local = 3,
              attribute_registers = 4, attribute_dynamic_shared = 8;

void load(Module* self, nb::bytes image, nb::handle device) {
    new (self) Module(&device_from(device));
    Device& place = *self->device;
    const Guard guard(place);
    const char* data = image.c_str();
    Result result;
    {
        const LockReleased released;
        result = place.driver->module_load(&self->module, data);
    }
    if (result != success) fail(place, result, Entry::module_load);
}

nb::object kernel(nb::handle self, const std::string& name) {
    const Module& module = nb::cast<Module&>(self);
    Device& device = *module.device;
    const Guard guard(device);
    Handle function = nullptr;
    GPU_CALL_ON(device, "kernel '" + name + "'", module_function, &function, module.module, name.c_str());
    return nb::cast(new Kernel(&device, function, self.ptr(), name), nb::rv_policy::take_ownership);
}

nb::tuple global(const Module& self, const std::string& name) {
    const Guard guard(*self.device);
    Address address = 0;
    size_t size = 0;
    GPU_CALL_ON(*self.device, "variable '" + name + "'", module_global, &address, &size, self.module,
                name.c_str());
    return nb::make_tuple(address, size);
}

template <int number>
int attribute(const Kernel& self) {
    const Guard guard(*self.device);
    int value = 0;
    GPU_CALL(*self.device, kernel_attribute, &value, number, self.function);
    return value;
}

void allow_shared(const Kernel& kernel, unsigned shared) {
    constexpr unsigned always_allowed = 48 << 10;
    if (shared <= always_allowed) return;
    const Guard guard(*kernel.device);
    GPU_CALL_ON(*kernel.device, "kernel '" + kernel.name + "'", kernel_set, kernel.function,
                attribute_dynamic_shared, static_cast<int>(shared));
}

}  // namespace

Module::~Module() {
    if (module == nullptr || is_finalizing()) return;
    const Guard guard(*device, nullptr);
    lose(*device, device->driver->module_unload(module), Entry::module_unload);
}

const Kernel* as_kernel(PyObject* object) {
    return Py_TYPE(object) == kernel_type ? nb::inst_ptr<Kernel>(object) : nullptr;
}

Dim3 dim3_from(PyObject* given, const char* what) {
    Dim3 found{{1, 1, 1}};
    const auto read = [&](PyObject* item, unsigned& to) {
        const long long value = PyLong_AsLongLong(item);
        if (value == -1 && PyErr_Occurred()) throw nb::python_error();
        if (value < 0 || value > UINT32_MAX) {
            throw nb::value_error((std::string("The ") + what + " has an extent out of range.").c_str());
        }
        to = static_cast<unsigned>(value);
    };
    if (PyLong_Check(given)) {
        read(given, found.of[0]);
        return found;
    }
    const nb::object sequence = nb::steal(PySequence_Fast(given, "Expected a number or up to three."));
    if (!sequence.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
    if (count < 1 || count > 3) {
        throw nb::value_error((std::string("A ") + what + " has one to three extents.").c_str());
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        read(PySequence_Fast_GET_ITEM(sequence.ptr(), i), found.of[i]);
    }
    return found;
}

void add_modules(nb::module_& module) {
    nb::class_<Module>(module, "Module", nb::is_weak_referenceable())
        .def("__init__", load, nb::arg("image"), nb::arg("device") = nb::none())
        .def("kernel", kernel, nb::arg("name"))
        .def("get_global", global, nb::arg("name"))
        .def_prop_ro("device", [](const Module& self) { return device_object(*self.device); })
        .def_prop_ro("ptr", [](const Module& self) { return reinterpret_cast<uintptr_t>(self.module); });
    auto kernel = nb::class_<Kernel>(module, "Kernel", nb::is_final(), nb::is_weak_referenceable());
    kernel_type = reinterpret_cast<PyTypeObject*>(kernel.ptr());
    kernel.def_prop_ro("name", [](const Kernel& self) { return self.name; })
        .def_prop_ro("module", [](const Kernel& self) { return nb::borrow(self.module); })
        .def_prop_ro("device", [](const Kernel& self) { return device_object(*self.device); })
        .def_prop_ro("ptr", [](const Kernel& self) { return reinterpret_cast<uintptr_t>(self.function); })
        .def_prop_ro("registers", attribute<attribute_registers>)
        .def_prop_ro("local_bytes", attribute<attribute_local>)
        .def_prop_ro("shared_bytes", attribute<attribute_shared>)
        .def_prop_ro("max_threads", attribute<attribute_max_threads>)
        .def("occupancy", [](const Kernel& self, int threads, size_t shmem) {
            const Guard guard(*self.device);
            int blocks = 0;
            GPU_CALL(*self.device, occupancy, &blocks, self.function, threads, shmem);
            return blocks;
        }, nb::arg("threads"), nb::arg("shmem") = 0)
        .def("prepare", [](nb::handle self, const std::string& format, nb::object grid,
                           nb::object block, unsigned shmem, bool cooperative) {
            allow_shared(nb::cast<Kernel&>(self), shmem);
            PyObject* made = make_launcher(self.ptr(), format.c_str(), dim3_from(grid.ptr(), "grid"),
                                           dim3_from(block.ptr(), "block"), shmem, cooperative);
            if (made == nullptr) throw nb::python_error();
            return nb::steal(made);
        }, nb::arg("format"), nb::kw_only(), nb::arg("grid") = 1, nb::arg("block") = 1,
             nb::arg("shmem") = 0, nb::arg("cooperative") = false)
        .def("launch", [](nb::handle self, nb::object grid, nb::object block, nb::object arguments,
                          unsigned shmem, nb::object stream, bool cooperative) {
            allow_shared(nb::cast<Kernel&>(self), shmem);
            PyObject* done = launch_once(self.ptr(), dim3_from(grid.ptr(), "grid"),
                                         dim3_from(block.ptr(), "block"), arguments.ptr(), shmem,
                                         stream.ptr(), cooperative);
            if (done == nullptr) throw nb::python_error();
            Py_DECREF(done);
        }, nb::arg("grid"), nb::arg("block"), nb::arg("args") = nb::make_tuple(), nb::kw_only(),
             nb::arg("shmem") = 0, nb::arg("stream") = nb::none(), nb::arg("cooperative") = false)
        .def("__repr__", [](const Kernel& self) {
            return "<Kernel '" + self.name + "' on " + self.device->label() + ">";
        });
}

}  // namespace fieldforge::gpu
