// The layout of `PyArrayObject` is part of NumPy's binary interface, the same in versions 1 and 2.
#include "numpy_array.h"

#include "held.h"

namespace fieldforge {
namespace {

struct NumpyArray {
    PyObject_HEAD
    char* data;
    int ndim;
    Py_ssize_t* shape;
    Py_ssize_t* strides;
    PyObject* base;
    PyObject* dtype;
    int flags;
};

constexpr int flag_writeable = 0x0400;

struct KnownDtype {
    DType dtype;
    PyObject* object;  // NumPy has one object for each plain type in the byte order of the machine
};

KnownDtype known_dtypes[] = {
    {DType::float64, nullptr}, {DType::float32, nullptr}, {DType::int64, nullptr},
    {DType::int32, nullptr},   {DType::bool_, nullptr},   {DType::int16, nullptr},
    {DType::int8, nullptr},    {DType::uint64, nullptr},  {DType::uint32, nullptr},
    {DType::uint16, nullptr},  {DType::uint8, nullptr},
};

PyTypeObject* array_type = nullptr;
bool is_known = false;  // whether arrays are laid out as above

const NumpyArray* numpy_array(PyObject* array) { return reinterpret_cast<NumpyArray*>(array); }

DType dtype_of(const NumpyArray* array) {
    for (const KnownDtype& each : known_dtypes) {
        if (each.object == array->dtype) return each.dtype;
    }
    return DType::none;
}

// Compares what we read with what the buffer protocol says.
bool agrees(PyObject* array) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(array, &buffer, PyBUF_RECORDS_RO) < 0) return false;
    const NumpyArray* ours = numpy_array(array);
    bool same = ours->data == buffer.buf && ours->ndim == buffer.ndim &&
                ((ours->flags & flag_writeable) == 0) == (buffer.readonly != 0) &&
                dtype_of(ours) == dtype_from_format(buffer.format, buffer.itemsize);
    for (int i = 0; same && i < buffer.ndim; ++i) {
        same = ours->shape[i] == buffer.shape[i] && ours->strides[i] == buffer.strides[i];
    }
    PyBuffer_Release(&buffer);
    return same;
}

// Views with strides, of several types, one of them read-only.
bool all_agree() {
    const Held globals(PyDict_New());
    if (!globals || PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) < 0) return false;
    constexpr const char* source =
        "import numpy\n"
        "a = numpy.zeros((5, 4, 6)).transpose(2, 0, 1)[::-2, 1:]\n"
        "b = numpy.zeros((3, 2), 'f4')\n"
        "b.flags.writeable = False\n"
        "arrays = [a, b, numpy.zeros(3, bool), numpy.zeros((), 'i4')]\n";
    const Held done(PyRun_String(source, Py_file_input, globals.get(), globals.get()));
    PyObject* arrays = done ? PyDict_GetItemString(globals.get(), "arrays") : nullptr;
    for (Py_ssize_t i = 0; arrays != nullptr && i < PyList_GET_SIZE(arrays); ++i) {
        if (!is_numpy_array(PyList_GET_ITEM(arrays, i)) || !agrees(PyList_GET_ITEM(arrays, i))) return false;
    }
    return arrays != nullptr;
}

}  // namespace

int prepare_numpy_arrays() {
    const Held numpy(PyImport_ImportModule("numpy"));
    if (!numpy) return -1;
    // Kept for the life of the process.
    array_type = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy.get(), "ndarray"));
    if (array_type == nullptr) return -1;
    for (KnownDtype& each : known_dtypes) {
        each.object = PyObject_CallMethod(numpy.get(), "dtype", "s", dtype_name(each.dtype));
        if (each.object == nullptr) return -1;
    }
    is_known = all_agree();
    PyErr_Clear();
    return 0;
}

bool is_numpy_array(PyObject* array) { return Py_TYPE(array) == array_type; }

bool is_array_of_numpy(PyObject* array) { return PyType_IsSubtype(Py_TYPE(array), array_type) != 0; }

bool fill_from_numpy(FieldView* view, PyObject* array, PyObject* dims) {
    if (!is_known || !is_numpy_array(array)) return false;
    const NumpyArray* given = numpy_array(array);
    const DType dtype = dtype_of(given);
    if (dtype == DType::none || given->ndim != PyTuple_GET_SIZE(dims)) return false;
    return fill_from_memory(view,
                            {reinterpret_cast<uintptr_t>(given->data), given->ndim, given->shape,
                             given->strides, dtype, device_cpu, 0,
                             (given->flags & flag_writeable) == 0, array},
                            dims, nullptr);
}

}  // namespace fieldforge
