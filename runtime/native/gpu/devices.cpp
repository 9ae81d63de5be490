// `Device`: one object for each device of each platform.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "objects.h"

namespace fieldforge::gpu {
nb::object device_object(Device& device) {
    if (device.object == nullptr) {
        device.object = nb::cast(new DeviceObject{&device}, nb::rv_policy::take_ownership)
                            .release().ptr();
    }
    return nb::borrow(device.object);
}

namespace {

nb::object make_device(nb::object id, const std::optional<std::string>& platform) {
    if (platform.has_value()) {
        const int ordinal = id.is_none() ? 0 : nb::cast<int>(id);
        return device_object(device_at(platform_named(*platform), ordinal));
    }
    return device_object(device_from(id));
}

std::string text_of(Device& device, Result (*entry)(char*, int, int), Entry which) {
    char text[256] = {};
    const Result result = entry(text, sizeof text, device.handle);
    if (result != success) fail(device, result, which);
    return text;
}

struct Attribute {
    const char* name;
    int cuda, hip;  // -1 where the vendor has none
};
constexpr Attribute attributes[] = {
#define FIELDFORGE_ATTRIBUTE(name, cuda, cuda_number, hip, hip_number) {#name, cuda_number, hip_number},
#include "attributes.inc"
#undef FIELDFORGE_ATTRIBUTE
};

int attribute(const DeviceObject& self, const std::string& name) {
    for (const Attribute& each : attributes) {
        if (name != each.name) continue;
        const int number = self.device->driver->vendor == Vendor::hip ? each.hip : each.cuda;
        if (number < 0) fail(*self.device, not_supported, Entry::device_attribute);
        int value = 0;
        GPU_CALL(*self.device, device_attribute, &value, number, self.device->handle);
        return value;
    }
    throw nb::value_error(("A device has no attribute '" + name + "': see 'Device.attribute_names()'.").c_str());
}

nb::list attribute_names() {
    nb::list names;
    for (const Attribute& each : attributes) names.append(nb::str(each.name));
    return names;
}

nb::object set_current(nb::handle self) {
    Device& device = *nb::cast<DeviceObject&>(self).device;
    if (device.lost.load(std::memory_order_relaxed) != nullptr) raise_lost(device);
    if (ready != &device) {
        retain(device);
        Handle now = nullptr;
        GPU_CALL(device, context_get, &now);
        if (now != device.context) GPU_CALL(device, context_set, device.context);
        ready = device.platform->several ? nullptr : &device;
    }
    return nb::borrow(self);
}

thread_local std::vector<std::pair<Device*, Handle>> entered;

nb::object enter(nb::handle self) {
    Device& device = *nb::cast<DeviceObject&>(self).device;
    Handle now = nullptr;
    device.driver->context_get(&now);
    entered.emplace_back(&device, now);
    return set_current(self);
}

void leave(const DeviceObject& self, nb::args) {
    if (entered.empty()) return;
    const auto [device, before] = entered.back();
    entered.pop_back();
    if (before != nullptr) GPU_CALL(*self.device, context_set, before);
}

void sync(const DeviceObject& self) {
    const Guard guard(*self.device);
    Result result;
    {
        const LockReleased released;
        result = self.device->driver->context_sync();
    }
    if (result != success) fail(*self.device, result, Entry::context_sync);
}

nb::tuple memory_info(const DeviceObject& self) {
    const Guard guard(*self.device);
    size_t unused = 0, total = 0;
    GPU_CALL(*self.device, memory_info, &unused, &total);
    return nb::make_tuple(unused, total);
}

bool can_access(const DeviceObject& self, const DeviceObject& peer) {
    int answer = 0;
    GPU_CALL(*self.device, peer_possible, &answer, self.device->handle, peer.device->handle);
    return answer != 0;
}

void enable_peer(const DeviceObject& self, const DeviceObject& peer) {
    retain(*peer.device);
    const Guard guard(*self.device);
    const Result result = self.device->driver->peer_enable(peer.device->context, 0);
    if (result != success && result != peer_already_enabled) {
        fail(*self.device, result, Entry::peer_enable);
    }
    Handle pool = nullptr;  // memory of pools needs a right of its own
    if (self.device->driver->pool_current(&pool, peer.device->handle) == success) {
        const PoolAccess access{{1, self.device->handle}, 3};
        self.device->driver->pool_access(pool, &access, 1);
    }
}

nb::bytes uuid(const DeviceObject& self) {
    char found[16] = {};
    GPU_CALL(*self.device, device_uuid, found, self.device->handle);
    return nb::bytes(found, sizeof found);
}

nb::object get_memory(const DeviceObject& self) {
    if (self.device->memory == nullptr) self.device->memory = default_resource(*self.device).release().ptr();
    return nb::borrow(self.device->memory);
}

void set_memory(const DeviceObject& self, nb::object resource) {
    PyObject* before = self.device->memory;
    self.device->memory = resource.is_none() ? nullptr : resource.release().ptr();
    Py_XDECREF(before);
}

int driver_version(const std::optional<std::string>& platform) {
    int version = 0;
    Platform& found = platform.has_value() ? platform_named(*platform) : default_platform();
    GPU_CALL(*found.devices[0], driver_version, &version);
    return version;
}

size_t device_count(const std::optional<std::string>& platform) {
    return (platform.has_value() ? platform_named(*platform) : default_platform()).devices.size();
}

}  // namespace

Device& device_from(nb::handle given) {
    if (!given.is_valid() || given.is_none()) return current_device();
    if (const auto* object = as<DeviceObject>(given.ptr())) return *object->device;
    return device_at(default_platform(), nb::cast<int>(given));
}

// Memory of the host that a device reaches has a type of its own; the null platform has one type.
int device_type_of(const Device& device, MemoryKind kind) {
    const Vendor vendor = device.driver->vendor;
    if (kind == MemoryKind::host) return device_host;
    if (kind == MemoryKind::pinned) {
        return vendor == Vendor::cuda  ? device_cuda_host
               : vendor == Vendor::hip ? device_rocm_host
                                       : device_host;
    }
    if (kind == MemoryKind::managed && vendor == Vendor::cuda) return device_cuda_managed;
    return vendor == Vendor::cuda ? device_cuda : vendor == Vendor::hip ? device_rocm : device_null;
}

void add_devices(nb::module_& module) {
    nb::class_<DeviceObject> type(module, "Device", nb::is_final());
    class_of<DeviceObject> = reinterpret_cast<PyTypeObject*>(type.ptr());
    type
        .def(nb::new_(&make_device), nb::arg("id") = nb::none(), nb::kw_only(),
             nb::arg("platform") = nb::none())
        .def_prop_ro("id", [](const DeviceObject& self) { return self.device->ordinal; })
        .def_prop_ro("platform", [](const DeviceObject& self) { return self.device->platform->name; })
        .def_prop_ro("name", [](const DeviceObject& self) {
            return text_of(*self.device, self.device->driver->device_name, Entry::device_name);
        })
        .def_prop_ro("arch", [](const DeviceObject& self) {
            return text_of(*self.device, self.device->driver->device_arch, Entry::device_arch);
        })
        .def_prop_ro("pci_bus_id", [](const DeviceObject& self) {
            return text_of(*self.device, self.device->driver->device_pci, Entry::device_pci);
        })
        .def_prop_ro("uuid", uuid)
        .def_prop_ro("context", [](const DeviceObject& self) {
            retain(*self.device);
            return reinterpret_cast<uintptr_t>(self.device->context);
        })
        .def_prop_ro("dlpack_type", [](const DeviceObject& self) {
            return device_type_of(*self.device, MemoryKind::device);
        })
        .def_prop_rw("memory", get_memory, set_memory, nb::arg("resource").none())
        .def("attribute", attribute, nb::arg("name"))
        .def_static("attribute_names", attribute_names)
        .def("set_current", set_current)
        .def("sync", sync)
        .def("memory_info", memory_info)
        .def("can_access", can_access)
        .def("enable_peer", enable_peer)
        .def("__enter__", enter)
        .def("__exit__", leave)
        .def("__repr__", [](const DeviceObject& self) {
            return "<Device " + self.device->label() + ">";
        });
    module.def("current_device", [] { return device_object(current_device()); });
    module.def("driver_version", driver_version, nb::arg("platform") = nb::none());
    module.def("device_count", device_count, nb::arg("platform") = nb::none());
    module.def("forget_default_platform", forget_default_platform);
}

}  // namespace fieldforge::gpu
