// Arrays of other libraries as ours: the C exchange interface of DLPack, its capsules, the CUDA
// array interface and the buffer protocol.
#include "tensor.h"

#include <cstring>

namespace fieldforge::gpu {
nb::object delete_with(DLManagedVersioned* managed) {
    return nb::capsule(managed, [](void* given) noexcept {
        auto* each = static_cast<DLManagedVersioned*>(given);
        if (each->deleter != nullptr) each->deleter(each);
    });
}

// Asking whether there is anything to wait for costs less than an event. A stream that is captured
// must not be asked; waiting for it joins the capture.
void order_after_stream(Device& device, void* theirs) {
    const StreamRef& mine = current_stream(device);
    if (mine->ptr == theirs || is_capturing(*mine)) return;
    {
        const Guard guard(device);
        int status = 0;
        if (device.driver->capture_status(theirs, &status) == success && status == 0 &&
            device.driver->stream_query(theirs) == success) {
            return;
        }
    }
    order(std::make_shared<StreamHandle>(&device, theirs, false, 0, 0), mine);
}

namespace {

// The names of Python that are looked up in every call.
struct Names {
    PyObject* exchange = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    PyObject* dlpack = PyUnicode_InternFromString("__dlpack__");
    PyObject* device = PyUnicode_InternFromString("__dlpack_device__");
    PyObject* interface = PyUnicode_InternFromString("__cuda_array_interface__");
    PyObject* keywords = nullptr;
    PyObject* old_keywords = nullptr;
    PyObject* version = nullptr;
    PyObject* minus_one = PyLong_FromLong(-1);
    Names() {
        PyObject* stream = PyUnicode_InternFromString("stream");
        PyObject* most = PyUnicode_InternFromString("max_version");
        keywords = PyTuple_Pack(2, stream, most);
        old_keywords = PyTuple_Pack(1, stream);
        version = Py_BuildValue("ii", dlpack_major, dlpack_minor);
    }
};

const Names& names() {
    static const auto* const made = new Names;
    return *made;
}

nb::object delete_with(DLManaged* managed) {
    return nb::capsule(managed, [](void* given) noexcept {
        auto* each = static_cast<DLManaged*>(given);
        if (each->deleter != nullptr) each->deleter(each);
    });
}

nb::object import_exchange(const DLExchange& exchange, nb::handle given, bool order_after) {
    DLManagedVersioned* managed = nullptr;
    if (exchange.from_object(given.ptr(), &managed) != 0) throw nb::python_error();
    nb::object owner = delete_with(managed);
    const DLTensor& tensor = managed->tensor;
    const bool readonly = (managed->flags & flag_readonly) != 0;
    if (order_after && on_device(tensor.device.type) && exchange.current_stream != nullptr) {
        void* theirs = nullptr;
        if (exchange.current_stream(tensor.device.type, tensor.device.id, &theirs) != 0) {
            throw nb::python_error();
        }
        order_after_stream(*device_for(tensor.device.type, tensor.device.id), theirs);
    }
    return array_from_tensor(tensor, readonly, std::move(owner));
}

nb::object open_capsule(nb::object capsule) {
    PyObject* ptr = capsule.ptr();
    if (PyCapsule_IsValid(ptr, "dltensor_versioned")) {
        auto* managed =
            static_cast<DLManagedVersioned*>(PyCapsule_GetPointer(ptr, "dltensor_versioned"));
        if (managed->version.major != dlpack_major) {
            throw nb::buffer_error("The array comes in a later version of DLPack than 1.");
        }
        PyCapsule_SetName(ptr, "used_dltensor_versioned");
        const bool readonly = (managed->flags & flag_readonly) != 0;
        return array_from_tensor(managed->tensor, readonly, delete_with(managed));
    }
    auto* managed = static_cast<DLManaged*>(PyCapsule_GetPointer(ptr, "dltensor"));
    if (managed == nullptr) throw nb::python_error();
    PyCapsule_SetName(ptr, "used_dltensor");
    return array_from_tensor(managed->tensor, false, delete_with(managed));
}

// The stream that the producer is to order itself before: ours, or none at all (-1).
nb::object stream_argument(nb::handle given, bool order_after) {
    nb::object where = nb::steal(PyObject_CallMethodNoArgs(given.ptr(), names().device));
    if (!where.is_valid()) throw nb::python_error();
    const int type = nb::cast<int>(where[0]), id = nb::cast<int>(where[1]);
    if (!on_device(type)) return nb::none();
    if (!order_after) return nb::borrow(names().minus_one);
    Device& device = *device_for(type, id);
    const StreamRef& mine = current_stream(device);
    if (is_capturing(*mine)) return nb::borrow(names().minus_one);
    const auto address = reinterpret_cast<uintptr_t>(mine->ptr);
    return nb::int_(address == 0 && type == device_cuda ? uintptr_t{1} : address);
}

nb::object import_dlpack(nb::handle given, bool order_after) {
    const Names& known = names();
    const nb::object stream = stream_argument(given, order_after);
    PyObject* args[] = {given.ptr(), stream.ptr(), known.version};
    nb::object capsule = nb::steal(PyObject_VectorcallMethod(known.dlpack, args, 1, known.keywords));
    if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {  // before DLPack 1
        PyErr_Clear();
        capsule = nb::steal(PyObject_VectorcallMethod(known.dlpack, args, 1, known.old_keywords));
    }
    if (!capsule.is_valid()) throw nb::python_error();
    return open_capsule(std::move(capsule));
}

DataType type_from_typestr(const char* text) {
    const int size = std::atoi(text + 2);
    const uint8_t bits = static_cast<uint8_t>(size * 8);
    switch (text[1]) {
        case 'i': return {0, bits, 1};
        case 'u': return {1, bits, 1};
        case 'f': return {2, bits, 1};
        case 'c': return {5, bits, 1};
        case 'b': return {6, 8, 1};
        default: throw nb::type_error((std::string("No array has elements of type '") + text + "'.").c_str());
    }
}

nb::object import_interface(nb::handle given, nb::object interface, bool order_after) {
    Array* made = nullptr;
    nb::object array = new_array(made);
    const nb::object data = interface["data"];
    const auto text = nb::cast<std::string>(interface["typestr"]);
    made->address = nb::cast<Address>(data[0]);
    made->readonly = nb::cast<bool>(data[1]);
    made->type = type_from_typestr(text.c_str());
    const nb::tuple shape = nb::cast<nb::tuple>(interface["shape"]);
    const nb::object strides = interface.attr("get")("strides");
    made->axes = static_cast<int>(shape.size());
    if (made->axes > most_axes) throw nb::value_error("An array has at most 16 axes.");
    int64_t step = static_cast<int64_t>(made->type.size());
    for (int i = made->axes - 1; i >= 0; --i) {
        made->shape[i] = nb::cast<int64_t>(shape[i]);
        made->strides[i] = strides.is_none() ? step : nb::cast<int64_t>(strides[i]);
        step *= made->shape[i];
    }
    // The interface does not say on which device the memory lies, so the driver is asked.
    Device* device = &current_device();
    int ordinal = device->ordinal;
    if (made->address != 0 && device->platform->several) {
        const Guard guard(*device);
        GPU_CALL(*device, pointer_device, &ordinal, made->address);
        device = &device_at(*device->platform, ordinal);
    }
    made->device = device;
    made->device_type = device_type_of(*device, MemoryKind::device);
    made->device_id = device->ordinal;
    made->owner = Py_NewRef(given.ptr());
    const nb::object stream = interface.attr("get")("stream");
    if (order_after && !stream.is_none()) {
        order_after_stream(*device, reinterpret_cast<void*>(nb::cast<uintptr_t>(stream)));
    }
    return array;
}

DataType type_from_format(const char* format, Py_ssize_t size) {
    if (format == nullptr) return {1, 8, 1};
    const char* at = *format == '@' || *format == '=' || *format == '<' ? format + 1 : format;
    const auto bits = static_cast<uint8_t>(size * 8);
    if (at[0] == 'Z' && at[1] != 0 && at[2] == 0) return {5, bits, 1};
    if (at[0] != 0 && at[1] == 0) {
        if (std::strchr("bhilqn", at[0]) != nullptr) return {0, bits, 1};
        if (std::strchr("BHILQNc", at[0]) != nullptr) return {1, bits, 1};
        if (std::strchr("efd", at[0]) != nullptr) return {2, bits, 1};
        if (at[0] == '?') return {6, 8, 1};
    }
    throw nb::type_error((std::string("No array has elements of the format '") + format + "'.").c_str());
}

nb::object import_buffer(nb::handle given) {
    Array* made = nullptr;
    nb::object array = new_array(made);
    Py_buffer& found = made->view;
    if (PyObject_GetBuffer(given.ptr(), &found, PyBUF_RECORDS_RO) < 0) throw nb::python_error();
    if (found.ndim > most_axes) throw nb::value_error("An array has at most 16 axes.");
    made->address = reinterpret_cast<Address>(found.buf);
    made->type = type_from_format(found.format, found.itemsize);
    made->readonly = found.readonly != 0;
    made->axes = found.ndim;
    for (int i = 0; i < found.ndim; ++i) {
        made->shape[i] = found.shape[i];
        made->strides[i] = found.strides[i];
    }
    made->owner = Py_NewRef(given.ptr());
    return array;
}

nb::object attribute_or_none(nb::handle given, PyObject* name) {
    nb::object found = nb::steal(PyObject_GetAttr(given.ptr(), name));
    if (!found.is_valid()) PyErr_Clear();
    return found;
}

}  // namespace

// The table of a type lives as long as the process; null where there is none that we know.
const DLExchange* exchange_of(PyTypeObject* type) {
    static PyTypeObject* last_type = nullptr;
    static const DLExchange* last = nullptr;
    if (type == last_type) return last;
    PyObject* capsule = _PyType_Lookup(type, names().exchange);  // borrowed; no error if there is none
    const DLExchange* found = nullptr;
    if (capsule != nullptr && PyCapsule_CheckExact(capsule)) {
        found = static_cast<const DLExchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
        if (found == nullptr) PyErr_Clear();
    }
    while (found != nullptr && found->version.major != dlpack_major) found = found->previous;
    if (found != nullptr) {  // kept alive, so that its address means nothing else
        last_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(type)));
        last = found;
    }
    return found;
}

nb::object import_any(nb::handle given, bool order_after) {
    if (as_array(given.ptr()) != nullptr) return nb::borrow(given);
    if (nb::object known; import_known(given, order_after, known)) return known;
    if (const DLExchange* exchange = exchange_of(Py_TYPE(given.ptr()))) {
        return import_exchange(*exchange, given, order_after);
    }
    // Arrays of devices may have a buffer that refuses, so those that say where they lie come first.
    PyTypeObject* type = Py_TYPE(given.ptr());
    const bool speaks_dlpack = _PyType_Lookup(type, names().dlpack) != nullptr;
    if (PyObject_CheckBuffer(given.ptr()) && (!speaks_dlpack || is_numpy(type))) return import_buffer(given);
    if (speaks_dlpack) return import_dlpack(given, order_after);
    nb::object interface = attribute_or_none(given, names().interface);
    if (interface.is_valid()) return import_interface(given, std::move(interface), order_after);
    PyErr_Format(PyExc_TypeError,
                 "Expected an array (with DLPack, the CUDA array interface or a buffer), got an "
                 "object of type '%s'.", Py_TYPE(given.ptr())->tp_name);
    throw nb::python_error();
}

}  // namespace fieldforge::gpu
