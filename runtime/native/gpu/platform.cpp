// Loading platforms, finding devices, and the errors of their calls.
#include "platform.h"

#include <map>

namespace fieldforge::gpu {

thread_local Device* ready = nullptr;
std::atomic<int> capturing{0};
PyObject* hook_choose = nullptr;
PyObject* hook_error = nullptr;
PyObject* hook_lost = nullptr;
PyObject* hook_library = nullptr;

namespace {

std::recursive_mutex loading;
Platform* chosen = nullptr;
int devices_so_far = 0;

Failure unavailable(std::string text, int code = -1) {
    Failure failure;
    failure.code = code;
    failure.name = "UNAVAILABLE";
    failure.text = std::move(text);
    return failure;
}

void describe(const Driver& driver, Result result, Failure& failure) {
    const char *name = nullptr, *text = nullptr;
    driver.error_name(result, &name);
    driver.error_text(result, &text);
    failure.code = result;
    failure.name = name == nullptr ? "error " + std::to_string(result) : name;
    failure.text = text == nullptr ? "" : text;
}

void load(Platform& platform) {
    Driver& driver = platform.driver;
    const std::string& name = platform.name;
    const std::string why = name == "cuda"  ? load_cuda(driver)
                            : name == "hip" ? load_hip(driver)
                                            : load_null(driver);
    if (!why.empty()) throw unavailable(why);
    int count = 0;
    Result result = driver.init(0);
    if (result == success) result = driver.device_count(&count);
    // HIP says 101 where it finds no device at all.
    if (result == no_device || result == 101 || (result == success && count == 0)) {
        throw unavailable("The driver of platform '" + name + "' is installed, but it has no GPU.",
                          no_device);
    }
    if (result != success) {
        Failure failure;
        describe(driver, result, failure);
        failure.call = driver.names[static_cast<int>(Entry::init)];
        failure.object = "platform '" + name + "'";
        throw failure;
    }
    for (int i = 0; i < count; ++i) {
        auto device = std::make_unique<Device>();
        device->platform = &platform;
        device->driver = &driver;
        device->ordinal = i;
        device->index = devices_so_far++;
        driver.device_get(&device->handle, i);
        platform.devices.push_back(std::move(device));
    }
    platform.several = count > 1;
}

}  // namespace

std::string Device::label() const { return platform->name + ":" + std::to_string(ordinal); }

Platform& platform_named(const std::string& name) {
    static auto* const loaded = new std::map<std::string, std::unique_ptr<Platform>>;
    const std::lock_guard<std::recursive_mutex> lock(loading);
    auto found = loaded->find(name);
    if (found != loaded->end()) return *found->second;
    if (name != "cuda" && name != "hip" && name != "null") {
        throw unavailable("Expected one of 'cuda', 'hip' and 'null' as platform, got '" + name +
                          "'.");
    }
    auto made = std::make_unique<Platform>();
    made->name = name;
    load(*made);
    return *loaded->emplace(name, std::move(made)).first->second;
}

Platform& default_platform() {
    if (chosen != nullptr) [[likely]] return *chosen;
    PyObject* name = hook_choose == nullptr ? nullptr : PyObject_CallNoArgs(hook_choose);
    const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8(name);
    if (text == nullptr) {
        Py_XDECREF(name);
        Failure pending;
        pending.code = -2;  // a Python error is set
        throw pending;
    }
    const std::string copy = text;
    Py_DECREF(name);
    return *(chosen = &platform_named(copy));
}

void forget_default_platform() { chosen = nullptr; }

Device& device_at(Platform& platform, int ordinal) {
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= platform.devices.size()) {
        throw unavailable("There is no device " + std::to_string(ordinal) + ": platform '" +
                              platform.name + "' has " +
                              std::to_string(platform.devices.size()) + ".",
                          101);
    }
    return *platform.devices[ordinal];
}

void retain(Device& device) {
    if (device.context != nullptr) [[likely]] return;
    const std::lock_guard<std::mutex> lock(device.mutex);
    if (device.context != nullptr) return;
    Handle context = nullptr;
    GPU_CALL(device, context_retain, &context, device.handle);
    device.context = context;
}

Device& current_device() {
    Platform& platform = default_platform();
    if (!platform.several) return *platform.devices[0];
    Handle context = nullptr;
    platform.driver.context_get(&context);
    for (const auto& device : platform.devices) {
        if (context != nullptr && device->context == context) return *device;
    }
    // Another library made a context current that we have not retained yet.
    for (const auto& device : platform.devices) {
        if (context == nullptr) break;
        retain(*device);
        if (device->context == context) return *device;
    }
    return *platform.devices[0];
}

void Guard::enter(Device& device) {
    retain(device);
    Handle now = nullptr;
    GPU_CALL(device, context_get, &now);
    if (now != device.context) {
        GPU_CALL(device, context_set, device.context);
        if (device.platform->several) previous_ = now;
    }
    // Where there are several devices, others may change what is current behind our back.
    ready = device.platform->several ? nullptr : &device;
}

void Guard::enter_quietly(Device& device) noexcept {
    Handle now = nullptr;
    device.driver->context_get(&now);
    if (now == device.context) return;
    if (device.driver->context_set(device.context) == success) previous_ = now;
}

void fail(const Device& device, Result result, Entry entry, std::string object) {
    Failure failure;
    describe(*device.driver, result, failure);
    failure.call = device.driver->names[static_cast<int>(entry)];
    failure.object = object.empty() ? "device " + device.label() : std::move(object);
    throw failure;
}

void raise_lost(Device& device) {
    const std::unique_ptr<Failure> lost(device.lost.exchange(nullptr));
    if (lost != nullptr) throw Failure(*lost);
}

// Nothing may leave a destructor: the error waits for the next call on the device.
void lose(Device& device, Result result, Entry entry) noexcept {
    constexpr Result deinitialized = 4;  // the process ends
    if (result == success || result == deinitialized || is_finalizing()) return;
    try {
        auto failure = std::make_unique<Failure>();
        describe(*device.driver, result, *failure);
        failure->call = device.driver->names[static_cast<int>(entry)];
        failure->object = "device " + device.label() + ", when an object was destroyed";
        const std::string text = failure->call + ": " + failure->name;
        Failure* none = nullptr;
        if (device.lost.compare_exchange_strong(none, failure.get())) failure.release();
        if (hook_lost == nullptr) return;
        const LockTaken taken;
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyObject* answer = PyObject_CallFunction(hook_lost, "ss", device.label().c_str(), text.c_str());
        if (answer == nullptr) PyErr_Clear();
        Py_XDECREF(answer);
        PyErr_Restore(type, value, trace);
    } catch (...) {  // no memory: there is nobody to tell
        return;
    }
}

void set_python_error(const Failure& failure) {
    if (failure.code == -2) return;  // it is set
    PyObject* error = hook_error == nullptr
                          ? nullptr
                          : PyObject_CallFunction(hook_error, "issss", failure.code,
                                                  failure.name.c_str(), failure.call.c_str(),
                                                  failure.object.c_str(), failure.text.c_str());
    if (error != nullptr) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
        Py_DECREF(error);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, failure.what());
    }
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    return !Py_IsInitialized() || Py_IsFinalizing();
#else
    return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

}  // namespace fieldforge::gpu
