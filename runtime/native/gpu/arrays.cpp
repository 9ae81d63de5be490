// `ArrayBase`: an array as programs take it. What needs no speed is added in Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "guarded.h"
#include "tensor.h"

namespace fieldforge::gpu {

Array::~Array() {
    if (view.obj != nullptr) PyBuffer_Release(&view);
    Py_XDECREF(owner);
}

const Array* as_array(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == class_of<Array>) return nb::inst_ptr<Array>(object);
    if (class_of<Array> == nullptr || !PyType_IsSubtype(type, class_of<Array>)) return nullptr;
    return nb::inst_ptr<Array>(object);
}

nb::object new_array(Array*& made) {
    nb::object object = make_object<Array>();
    made = nb::inst_ptr<Array>(object);
    return object;
}

Device* device_for(int type, int id) {
    static Platform *cuda = nullptr, *hip = nullptr, *simulated = nullptr;
    const auto find = [id](Platform*& known, const char* name) {
        if (known == nullptr) known = &platform_named(name);
        return &device_at(*known, id);
    };
    switch (type) {
        case device_cuda: case device_cuda_managed: return find(cuda, "cuda");
        case device_rocm: return find(hip, "hip");
        case device_null: return find(simulated, "null");
        default: return nullptr;
    }
}

nb::object array_from_tensor(const DLTensor& tensor, bool readonly, nb::object owner) {
    if (tensor.ndim > most_axes) throw nb::value_error("An array has at most 16 axes.");
    Array* made = nullptr;
    nb::object array = new_array(made);
    made->address = reinterpret_cast<Address>(tensor.data) + tensor.byte_offset;
    made->axes = tensor.ndim;
    made->type = tensor.dtype;
    made->readonly = readonly;
    made->device_type = tensor.device.type;
    made->device_id = tensor.device.id;
    made->device = device_for(tensor.device.type, tensor.device.id);
    const auto size = static_cast<int64_t>(tensor.dtype.size());
    int64_t step = size;
    for (int i = tensor.ndim - 1; i >= 0; --i) {
        made->shape[i] = tensor.shape[i];
        made->strides[i] = tensor.strides == nullptr ? step : tensor.strides[i] * size;
        step *= tensor.shape[i];
    }
    made->owner = owner.release().ptr();
    return array;
}

int64_t size_of(const Array& array) {
    int64_t size = 1;
    for (int i = 0; i < array.axes; ++i) size *= array.shape[i];
    return size;
}

namespace {

bool is_dense(const Array& array) {
    auto step = static_cast<int64_t>(array.type.size());
    for (int i = array.axes - 1; i >= 0; --i) {
        if (array.shape[i] != 1 && array.strides[i] != step) return false;
        step *= array.shape[i];
    }
    return true;
}

nb::tuple numbers(const int64_t* values, int count) {
    nb::object made = nb::steal(PyTuple_New(count));
    for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(made.ptr(), i, PyLong_FromLongLong(values[i]));
    return nb::cast<nb::tuple>(made);
}

void set_layout(Array& array, nb::handle shape, nb::handle strides) {
    const auto extents = nb::cast<nb::tuple>(shape), steps = nb::cast<nb::tuple>(strides);
    if (extents.size() > most_axes || extents.size() != steps.size()) {
        throw nb::value_error("An array has at most 16 axes, and a stride for each.");
    }
    array.axes = static_cast<int>(extents.size());
    for (int i = 0; i < array.axes; ++i) {
        array.shape[i] = nb::cast<int64_t>(extents[i]);
        array.strides[i] = nb::cast<int64_t>(steps[i]);
        if (array.shape[i] < 0) throw nb::value_error("An array cannot have a negative extent.");
    }
}

// Every element must lie in the memory that the owner has.
void check_inside(const Array& array, const Buffer& buffer, size_t offset) {
    int64_t low = 0, high = static_cast<int64_t>(array.type.size());
    if (size_of(array) == 0) return;
    for (int i = 0; i < array.axes; ++i) {
        (array.strides[i] < 0 ? low : high) += (array.shape[i] - 1) * array.strides[i];
    }
    if (low + static_cast<int64_t>(offset) < 0 || offset + static_cast<size_t>(high) > buffer.size) {
        throw nb::value_error("The array does not fit into its buffer.");
    }
}

nb::object array_on(nb::handle owner, size_t offset, nb::handle shape, nb::handle strides, int code,
                    int bits, bool readonly) {
    Buffer* buffer = as_buffer(owner.ptr());
    if (buffer == nullptr) throw nb::type_error("Expected a 'Buffer'.");
    Array* made = nullptr;
    nb::object array = new_array(made);
    made->type = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
    set_layout(*made, shape, strides);
    check_inside(*made, *buffer, offset);
    made->address = buffer->address + offset;
    made->readonly = readonly;
    made->device = buffer->device;
    made->device_type = buffer->device == nullptr ? device_host : device_type_of(*buffer->device, buffer->kind);
    made->device_id = buffer->device == nullptr ? 0 : buffer->device->ordinal;
    made->buffer = buffer;
    made->owner = Py_NewRef(owner.ptr());
    return array;
}

nb::object view(nb::handle self, int64_t offset, nb::handle shape, nb::handle strides, bool readonly) {
    const Array& array = *as_array(self.ptr());
    Array* made = nullptr;
    nb::object result = new_array(made);
    made->type = array.type;
    set_layout(*made, shape, strides);
    made->address = array.address + static_cast<Address>(offset);
    made->readonly = readonly || array.readonly;
    made->device = array.device;
    made->device_type = array.device_type;
    made->device_id = array.device_id;
    made->buffer = array.buffer;
    // A view of an array that holds a buffer of the host keeps that array, which holds it.
    made->owner = Py_XNewRef(array.view.obj != nullptr ? self.ptr() : array.owner);
    return result;
}

PyObject* from_any(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        if (count != 1) throw nb::type_error("Expected one array.");
        PyObject* writable = Py_None;
        bool order_after = true;
        for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
            PyObject* name = PyTuple_GET_ITEM(names, i);
            if (PyUnicode_CompareWithASCIIString(name, "writable") == 0) writable = args[1 + i];
            else if (PyUnicode_CompareWithASCIIString(name, "order_after") == 0) {
                order_after = args[1 + i] == Py_True;
            } else {
                throw nb::type_error("Expected 'writable' or 'order_after' as option.");
            }
        }
        nb::object array = import_any(args[0], order_after);
        if (writable == Py_None) return array.release().ptr();
        const Array& found = *as_array(array.ptr());
        if (writable == Py_True && found.readonly) throw nb::value_error("The array is read-only.");
        if (writable == Py_True || found.readonly) return array.release().ptr();
        return view(array, 0, numbers(found.shape, found.axes), numbers(found.strides, found.axes), true)
            .release().ptr();
    });
}

PyMethodDef methods[] = {
    fast_method("from_any", from_any, METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
                "Take an array of any library without a copy."),
    {nullptr, nullptr, 0, nullptr},
};

bool on_host(const Array& array) {
    return array.device_type == device_host || array.device_type == device_cuda_host ||
           array.device_type == device_rocm_host || array.device_type == device_cuda_managed ||
           (array.buffer != nullptr && array.buffer->on_host());
}

const char* format_of(const DataType& type) {
    switch (type.code << 8 | type.bits) {
        case 0 << 8 | 8: return "b";
        case 0 << 8 | 16: return "h";
        case 0 << 8 | 32: return "i";
        case 0 << 8 | 64: return "q";
        case 1 << 8 | 8: return "B";
        case 1 << 8 | 16: return "H";
        case 1 << 8 | 32: return "I";
        case 1 << 8 | 64: return "Q";
        case 2 << 8 | 16: return "e";
        case 2 << 8 | 32: return "f";
        case 2 << 8 | 64: return "d";
        case 5 << 8 | 64: return "Zf";
        case 5 << 8 | 128: return "Zd";
        case 6 << 8 | 8: return "?";
        default: return nullptr;
    }
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    Array& array = *nb::inst_ptr<Array>(self);
    const char* format = format_of(array.type);
    view->obj = nullptr;
    const char* why = !on_host(array)     ? "The memory is not on the host: copy it with 'to_host()'."
                      : format == nullptr ? "The elements have no format of Python's."
                      : array.readonly && (flags & PyBUF_WRITABLE) ? "The array is read-only."
                                                                   : nullptr;
    if (why != nullptr) return PyErr_SetString(PyExc_BufferError, why), -1;
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!strided && !is_dense(array)) {
        return PyErr_SetString(PyExc_BufferError, "The array is not dense."), -1;
    }
    view->buf = reinterpret_cast<void*>(array.address);
    view->obj = Py_NewRef(self);
    view->itemsize = static_cast<Py_ssize_t>(array.type.size());
    view->len = size_of(array) * view->itemsize;
    view->readonly = array.readonly;
    view->ndim = array.axes;
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) != 0 ? reinterpret_cast<Py_ssize_t*>(array.shape) : nullptr;
    view->strides = strided ? reinterpret_cast<Py_ssize_t*>(array.strides) : nullptr;
    view->suboffsets = nullptr;
    view->internal = nullptr;
    if (array.buffer != nullptr) ++array.buffer->exports;
    return 0;
}

void release_buffer(PyObject* self, Py_buffer*) {
    Array& array = *nb::inst_ptr<Array>(self);
    if (array.buffer != nullptr) --array.buffer->exports;
}

PyType_Slot slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

}  // namespace

void add_arrays(nb::module_& module) {
    auto array = nb::class_<Array>(module, "ArrayBase", nb::is_weak_referenceable(), nb::pooled(),
                                   nb::type_slots(slots));
    class_of<Array> = reinterpret_cast<PyTypeObject*>(array.ptr());
    array.def_prop_ro("ptr", [](const Array& self) { return self.address; })
        .def_prop_ro("shape", [](const Array& self) { return numbers(self.shape, self.axes); })
        .def_prop_ro("strides", [](const Array& self) { return numbers(self.strides, self.axes); })
        .def_prop_ro("ndim", [](const Array& self) { return self.axes; })
        .def_prop_ro("size", [](const Array& self) { return size_of(self); })
        .def_prop_ro("itemsize", [](const Array& self) { return self.type.size(); })
        .def_prop_ro("nbytes", [](const Array& self) {
            return size_of(self) * static_cast<int64_t>(self.type.size());
        })
        .def_prop_ro("readonly", [](const Array& self) { return self.readonly; })
        .def_prop_ro("is_dense", is_dense)
        .def_prop_ro("is_host_accessible", on_host)
        .def_prop_ro("owner", [](const Array& self) {
            return self.owner == nullptr ? nb::none() : nb::borrow(self.owner);
        })
        .def_prop_ro("device", [](const Array& self) {
            return self.device == nullptr ? nb::none() : device_object(*self.device);
        })
        .def_prop_ro("stream", [](const Array& self) -> nb::object {
            if (self.device == nullptr) return nb::none();
            const bool known = self.buffer != nullptr && self.buffer->stream != nullptr;
            return nb::cast(Stream{known ? self.buffer->stream : current_stream(*self.device)});
        })
        .def_prop_ro("_type", [](const Array& self) { return nb::make_tuple(self.type.code, self.type.bits); })
        .def("_view", view, nb::arg("offset"), nb::arg("shape"), nb::arg("strides"),
             nb::arg("readonly") = false)
        .def("_export", export_array, nb::arg("stream").none(), nb::arg("max_version").none())
        .def("__dlpack_device__", [](const Array& self) {
            return nb::make_tuple(self.device_type, self.device_id);
        });
    array.attr("__dlpack_c_exchange_api__") = own_exchange();
    module.def("array_on", array_on, nb::arg("buffer"), nb::arg("offset"), nb::arg("shape"),
               nb::arg("strides"), nb::arg("code"), nb::arg("bits"), nb::arg("readonly") = false);
    module.def("import_array", import_any, nb::arg("obj"), nb::arg("order_after") = true);
    module.def("copy_array", copy_array, nb::arg("to"), nb::arg("source"), nb::arg("stream") = nb::none(),
               nb::arg("wait") = false);
}

}  // namespace fieldforge::gpu
