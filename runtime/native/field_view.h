// A field as the call path sees it: memory, domain and owner, readable without asking Python.
#pragma once

#include <Python.h>

#include <cstdint>

#include "device.h"
#include "dtype.h"

namespace fieldforge {

// All that is known of one axis lies together, because the checks of a call read it together.
struct Axis {
    PyObject* dim;  // borrowed from FieldView::dims
    int64_t start;
    int64_t stop;
    int64_t stride;  // in bytes
};

constexpr int inline_axes = 3;

class TableIndex;  // table.h

// Dtype, rank, device, layout and access in one word, so that a call compares them at once.
// `form_writable` stands apart, and is not set where elements share memory: a field that is only read may have it or not.
using Form = uint32_t;
constexpr Form form_writable = 1;
constexpr Form form_regular = 2;
constexpr Form make_form(DType dtype, int ndim, int device_type, Form flags) {
    return flags | static_cast<Form>(dtype) << 2 | static_cast<Form>(ndim & 0x3ff) << 8 |
           static_cast<Form>(device_type & 0x3fff) << 18;
}

struct FieldView {
    PyObject_HEAD
    uintptr_t origin;  // address of index 0 in domain coordinates; need not be inside the memory
    uintptr_t low;     // every element lies in the bytes low..high; low == high if there is none
    uintptr_t high;
    Axis* axes;  // `few` or a block of its own
    int32_t ndim;
    int32_t device_id;
    int16_t device_type;
    uint8_t shift;
    uint8_t library;  // whose array it is: a bit of `gpu::Library`, or 0
    Form form;
    Axis few[inline_axes];
    uintptr_t data;
    DType dtype;
    bool readonly;
    bool regular;  // aligned, and every stride is a whole number of elements
    PyObject* owner;
    PyObject* dims;
    PyObject* weak_references;
    TableIndex* table;  // null until a call has seen that this is a neighbour table
    Py_buffer buffer;  // held while the view lives, so that the exporter cannot move the memory
};

// The Python type; made once by `add_field_view`. Nearly all views are of one subclass, the
// first one that was seen; it is kept alive, so that its address means nothing else.
extern PyTypeObject* field_view_type;
extern PyTypeObject* familiar_field_type;

inline bool is_field_view(PyObject* object) {
    return Py_TYPE(object) == familiar_field_type || PyObject_TypeCheck(object, field_view_type);
}

// Memory that offers no buffer; `owner`, `dims` and `starts` are borrowed.
struct Parts {
    unsigned long long pointer;
    PyObject *shape, *strides, *owner, *dims, *starts;
    const char* dtype;
    int device_type, device_id, readonly;
};

// Where the elements lie; all borrowed, strides in bytes.
struct Memory {
    uintptr_t pointer;
    Py_ssize_t ndim;
    const Py_ssize_t *shape, *strides;
    DType dtype;
    int device_type, device_id;
    bool readonly;
    PyObject* owner;
};

// Sets up a view, once; false with a Python error set. Without `starts` indices begin at 0.
bool fill_from_memory(FieldView* view, const Memory& memory, PyObject* dims, PyObject* starts);
bool fill_from_buffer(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts);
bool fill_from_parts(FieldView* view, const Parts& parts);
// Gives everything back; whoever still holds the view gets a refusal, not old memory.
void reset(FieldView* view);

// Adds `FieldView` to the module; -1 with a Python error set if that fails.
int add_field_view(PyObject* module);

}  // namespace fieldforge
