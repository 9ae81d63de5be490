// What arrays of NumPy and CuPy say of themselves, read without a protocol in between: their capsules
// and buffers cost several times as much.
#include <cstring>

#include "tensor.h"

namespace fieldforge::gpu {
namespace {

// --- NumPy -------------------------------------------------------------------------------------

// The first members of an array and of its descriptor are part of NumPy's binary interface since
// version 1; `is_as_expected` compares them with a buffer before anybody relies on them.
struct Descriptor {
    PyObject_HEAD
    PyTypeObject* scalar;
    char kind, character, byte_order, flags;
    int number;
};

struct NumPyArray {
    PyObject_HEAD
    char* data;
    int axes;
    Py_ssize_t *shape, *strides;
    PyObject* base;
    Descriptor* descriptor;
    int flags;
};

constexpr int numpy_writable = 0x400;

// By NumPy's number of the type; no bits where we have no such elements.
DataType type_of_numpy(const Descriptor& descriptor) {
    constexpr uint8_t wide = sizeof(long) * 8;
    constexpr DataType types[] = {{6, 8, 1},    {0, 8, 1},  {1, 8, 1},  {0, 16, 1}, {1, 16, 1},
                                  {0, 32, 1},   {1, 32, 1}, {0, wide, 1}, {1, wide, 1}, {0, 64, 1},
                                  {1, 64, 1},   {2, 32, 1}, {2, 64, 1}, {2, 0, 1},  {5, 64, 1},
                                  {5, 128, 1}};
    constexpr int half = 23, count = sizeof types / sizeof *types;
    const bool is_native = descriptor.byte_order == '=' || descriptor.byte_order == '|';
    if (!is_native) return {0, 0, 1};
    if (descriptor.number == half) return {2, 16, 1};
    return descriptor.number >= 0 && descriptor.number < count ? types[descriptor.number]
                                                               : DataType{0, 0, 1};
}

PyTypeObject* numpy_class() {
    static auto* const found = [] {
        const nb::object numpy = nb::steal(PyImport_ImportModule("numpy"));
        if (!numpy.is_valid()) throw nb::python_error();
        return reinterpret_cast<PyTypeObject*>(nb::object(numpy.attr("ndarray")).release().ptr());
    }();
    return found;
}

bool is_as_expected(PyObject* given) {
    const auto& array = *reinterpret_cast<const NumPyArray*>(given);
    Py_buffer view;
    if (PyObject_GetBuffer(given, &view, PyBUF_RECORDS_RO) < 0) return PyErr_Clear(), false;
    const auto size = static_cast<size_t>(view.ndim) * sizeof(Py_ssize_t);
    const bool same = view.buf == array.data && view.ndim == array.axes &&
                      std::memcmp(view.shape, array.shape, size) == 0 &&
                      std::memcmp(view.strides, array.strides, size) == 0 &&
                      view.readonly == ((array.flags & numpy_writable) == 0) &&
                      static_cast<size_t>(view.itemsize) == type_of_numpy(*array.descriptor).size();
    PyBuffer_Release(&view);
    return same;
}

bool import_numpy(nb::handle given, nb::object& result) {
    const auto& array = *reinterpret_cast<const NumPyArray*>(given.ptr());
    static int trusted = -1;  // until an array with axes has told
    if (trusted < 0 && array.axes > 0) trusted = is_as_expected(given.ptr()) ? 1 : 0;
    if (trusted != 1 || array.axes > most_axes) return false;
    const DataType type = type_of_numpy(*array.descriptor);
    if (type.bits == 0) return false;
    Array* made = nullptr;
    result = new_array(made);
    made->address = reinterpret_cast<Address>(array.data);
    made->type = type;
    made->readonly = (array.flags & numpy_writable) == 0;
    made->axes = array.axes;
    for (int i = 0; i < array.axes; ++i) {
        made->shape[i] = array.shape[i];
        made->strides[i] = array.strides[i];
    }
    made->owner = Py_NewRef(given.ptr());
    return true;
}

// --- CuPy --------------------------------------------------------------------------------------

struct CuPy {
    PyTypeObject* array = nullptr;
    intptr_t (*stream)() = nullptr;       // the address of the stream that is current, in C
    PyObject* current_stream = nullptr;  // the same as an object with a `ptr`, without that function
    int device_type = device_cuda;
    PyObject* data = PyUnicode_InternFromString("data");
    PyObject* ptr = PyUnicode_InternFromString("ptr");
    PyObject* mem = PyUnicode_InternFromString("mem");
    PyObject* device = PyUnicode_InternFromString("device_id");
    PyObject* shape = PyUnicode_InternFromString("shape");
    PyObject* strides = PyUnicode_InternFromString("strides");
    PyObject* dtype = PyUnicode_InternFromString("dtype");
};

// The function that CuPy's own modules call, which Cython exports with its signature; null where
// there is none.
intptr_t (*stream_function(const nb::object& streams))() {
    constexpr const char* signature = "intptr_t (void)";
    const nb::object exported = nb::getattr(streams, "__pyx_capi__", nb::dict());
    if (!PyDict_Check(exported.ptr())) return nullptr;
    PyObject* capsule = PyDict_GetItemString(exported.ptr(), "get_current_stream_ptr");
    if (capsule == nullptr || !PyCapsule_IsValid(capsule, signature)) return nullptr;
    return reinterpret_cast<intptr_t (*)()>(PyCapsule_GetPointer(capsule, signature));
}

// What the arrays of CuPy are, once there is one; null for every other type.
const CuPy* cupy_of(PyTypeObject* type) {
    static CuPy* known = nullptr;
    if (known != nullptr) return type == known->array ? known : nullptr;
    if (std::strstr(type->tp_name, "ndarray") == nullptr) return nullptr;
    const nb::object module = nb::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), "cupy"));
    const nb::handle self(reinterpret_cast<PyObject*>(type));
    if (!module.is_valid() || !nb::object(module.attr("ndarray")).is(self)) return nullptr;
    const nb::object streams = nb::module_::import_("cupy.cuda.stream");
    auto made = std::make_unique<CuPy>();
    made->stream = stream_function(streams);
    made->current_stream = nb::object(streams.attr("get_current_stream")).release().ptr();
    const nb::object runtime = module.attr("cuda").attr("runtime");
    if (nb::cast<bool>(nb::getattr(runtime, "is_hip", nb::bool_(false)))) made->device_type = device_rocm;
    made->array = reinterpret_cast<PyTypeObject*>(nb::borrow(self).release().ptr());
    return known = made.release();
}

nb::object attribute(PyObject* object, PyObject* name) {
    nb::object found = nb::steal(PyObject_GetAttr(object, name));
    if (!found.is_valid()) throw nb::python_error();
    return found;
}

void take_numbers(const nb::object& tuple, int64_t* to, int count) {
    if (!PyTuple_Check(tuple.ptr()) || PyTuple_GET_SIZE(tuple.ptr()) != count) {
        throw nb::type_error("An array of CuPy has a shape that is no tuple.");
    }
    for (int i = 0; i < count; ++i) to[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.ptr(), i));
}

// Memory that the host may use too has a type of its own in DLPack, which CuPy knows.
bool is_managed(const CuPy& cupy, const nb::object& data) {
    static PyTypeObject* plain = nullptr;
    const nb::object memory = attribute(data.ptr(), cupy.mem);
    PyTypeObject* type = Py_TYPE(memory.ptr());
    if (type == plain) return false;
    if (std::strstr(type->tp_name, "ManagedMemory") != nullptr) return true;
    plain = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(type)));
    return false;
}

intptr_t current_stream_of(const CuPy& cupy) {
    if (cupy.stream != nullptr) {
        const intptr_t found = cupy.stream();
        if (found == -1 && PyErr_Occurred()) throw nb::python_error();
        return found;
    }
    const nb::object stream = nb::steal(PyObject_CallNoArgs(cupy.current_stream));
    if (!stream.is_valid()) throw nb::python_error();
    return PyLong_AsSsize_t(attribute(stream.ptr(), cupy.ptr).ptr());
}

bool import_cupy(const CuPy& cupy, nb::handle given, bool order_after, nb::object& result) {
    const nb::object data = attribute(given.ptr(), cupy.data);
    const nb::object dtype = attribute(given.ptr(), cupy.dtype);
    const DataType type = type_of_numpy(*reinterpret_cast<const Descriptor*>(dtype.ptr()));
    if (type.bits == 0 || is_managed(cupy, data)) return false;
    const nb::object shape = attribute(given.ptr(), cupy.shape);
    const auto axes = PyTuple_Check(shape.ptr()) ? PyTuple_GET_SIZE(shape.ptr()) : most_axes + 1;
    if (axes > most_axes) return false;
    Array* made = nullptr;
    result = new_array(made);
    made->axes = static_cast<int>(axes);
    take_numbers(shape, made->shape, made->axes);
    take_numbers(attribute(given.ptr(), cupy.strides), made->strides, made->axes);
    const nb::object address = attribute(data.ptr(), cupy.ptr);
    made->address = PyLong_AsUnsignedLongLong(address.ptr());
    made->type = type;
    made->device_type = cupy.device_type;
    made->device_id = static_cast<int>(PyLong_AsLong(attribute(data.ptr(), cupy.device).ptr()));
    if (PyErr_Occurred()) throw nb::python_error();
    made->device = device_for(made->device_type, made->device_id);
    made->owner = Py_NewRef(given.ptr());
    if (!order_after) return true;
    order_after_stream(*made->device, reinterpret_cast<void*>(current_stream_of(cupy)));
    return true;
}

}  // namespace

bool is_numpy(PyTypeObject* type) {
    return type == numpy_class() || PyType_IsSubtype(type, numpy_class());
}

bool import_known(nb::handle given, bool order_after, nb::object& array) {
    PyTypeObject* type = Py_TYPE(given.ptr());
    if (type == numpy_class()) return import_numpy(given, array);
    const CuPy* cupy = cupy_of(type);
    return cupy != nullptr && import_cupy(*cupy, given, order_after, array);
}

}  // namespace fieldforge::gpu
