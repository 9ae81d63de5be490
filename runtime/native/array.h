// Bare arrays in the place of fields: what a call makes of NumPy's, and of others that lend memory.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "field_view.h"

namespace fieldforge {

// Sets up a view of an array with one axis for each dimension, whose indices begin at 0. False
// without a Python error where it is no such array.
bool fill_from_array(FieldView* view, PyObject* array, PyObject* dims);

// A view of its own for an array, to be kept; null with a Python error set.
PyObject* view_of_array(PyObject* array, PyObject* dims);

// The views that one call needs: no objects that anybody else may hold, and gone with the call,
// which is faster than making objects. They hold the memory of the arrays.
class ArrayViews {
   public:
    ArrayViews() = default;
    ~ArrayViews();
    ArrayViews(const ArrayViews&) = delete;
    ArrayViews& operator=(const ArrayViews&) = delete;

    // Null without a Python error where it is no array with these dimensions; there is room for
    // `most` views.
    PyObject* add(PyObject* array, PyObject* dims, size_t most);
    bool has(const PyObject* object) const {
        const auto* view = reinterpret_cast<const FieldView*>(object);
        return std::any_of(views_.get(), views_.get() + count_,
                           [&](const FieldView& each) { return &each == view; });
    }

   private:
    std::unique_ptr<FieldView[]> views_;
    size_t count_ = 0;
};

}  // namespace fieldforge
