// `_core.gpu.null`: what tests ask the null driver.
#include <nanobind/stl/string.h>

#include "null.h"
#include "objects.h"

namespace fieldforge::gpu {

void add_null(nb::module_& parent) {
    nb::module_ module = parent.def_submodule("null", "What the null driver has seen.");
    module.def("record", null::record, nb::arg("on"));
    module.def("calls", [] {
        nb::list made;
        for (const auto& call : null::recorded()) made.append(nb::make_tuple(call.name, call.object));
        return made;
    });
    module.def("problems", [] {
        nb::list made;
        for (const auto& text : null::problems()) made.append(nb::cast(text));
        return made;
    });
    module.def("forget_problems", null::forget_problems);
    module.def("allocations", [] {
        nb::list made;
        for (const auto& each : null::allocations()) {
            made.append(nb::make_tuple(each.address, each.size, each.kind, each.device));
        }
        return made;
    });
    module.def("set_memory", [](int device, size_t bytes) {
        if (device < 0 || device >= null::device_count()) throw nb::value_error("There is no such null device.");
        null::set_memory(device, bytes);
    }, nb::arg("device"), nb::arg("bytes"));
    module.def("set_guard", null::set_guard, nb::arg("side"));
    module.def("fail_next", [](const std::string& entry, int code) {
        if (!null::fail_next(entry, code)) throw nb::value_error("The driver has no such entry.");
    }, nb::arg("entry"), nb::arg("code"));
    module.def("set_device_count", [](int count) {
        if (count < 1 || count > null::most_devices) {
            throw nb::value_error("The null platform has 1 to 16 devices.");
        }
        if (!null::set_device_count(count)) {
            throw nb::value_error("The null platform is in use; its devices are counted already.");
        }
    }, nb::arg("count"));
    module.def("handles", null::handles);
}

}  // namespace fieldforge::gpu
