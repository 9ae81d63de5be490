// `rows(value, shape, atom)`: a value as a table of rows, shared parts once, without recursion.
#include "rows.h"

#include <unordered_map>
#include <vector>

#include "../held.h"

namespace fieldforge {
namespace {

struct Step {
    PyObject* part;
    PyObject* children;  // their rows come before that of the part; null: not looked at yet
};

class Walk {
   public:
    Walk(PyObject* shape, PyObject* atom)
        : shape_(shape), atom_(atom), rows_(PyDict_New()), kept_(PyList_New(0)) {}

    // Returns the rows in order, or null with an error set.
    PyObject* table(PyObject* value) {
        if (!rows_ || !kept_) return nullptr;
        waiting_.push_back({value, nullptr});
        while (!waiting_.empty()) {
            const Step step = waiting_.back();
            waiting_.pop_back();
            if (!follow(step)) return nullptr;
        }
        return PyDict_Keys(rows_.get());
    }

   private:
    bool follow(const Step& step) {
        if (step.children == nullptr && numbers_.count(step.part) != 0) return true;
        PyObject* shape = shape_of(Py_TYPE(step.part));
        if (shape == nullptr) return false;
        if (shape == Py_None) {
            Held row(PyObject_CallOneArg(atom_, step.part));
            return row && add(step.part, row.get());
        }
        if (step.children == nullptr) return wait_for_children(step.part, shape);
        Held references(PyTuple_New(PyTuple_GET_SIZE(step.children)));
        if (!references) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(step.children); ++i) {
            PyObject* number = numbers_.at(PyTuple_GET_ITEM(step.children, i));
            PyTuple_SET_ITEM(references.get(), i, Py_NewRef(number));
        }
        Held row(PyTuple_Pack(2, PyTuple_GET_ITEM(shape, 0), references.get()));
        return row && add(step.part, row.get());
    }

    // What `shape` says of a class: a tag and the names of fields, or None for an atom.
    PyObject* shape_of(PyTypeObject* kind) {
        const auto found = shapes_.find(kind);
        if (found != shapes_.end()) return found->second;
        Held said(PyObject_CallOneArg(shape_, reinterpret_cast<PyObject*>(kind)));
        if (!said || PyList_Append(kept_.get(), said.get()) < 0) return nullptr;
        return shapes_[kind] = said.get();
    }

    bool wait_for_children(PyObject* part, PyObject* shape) {
        Held children(PyTuple_CheckExact(part) ? Py_NewRef(part)
                                               : fields(part, PyTuple_GET_ITEM(shape, 1)));
        if (!children || PyList_Append(kept_.get(), children.get()) < 0) return false;
        waiting_.push_back({part, children.get()});
        for (Py_ssize_t i = PyTuple_GET_SIZE(children.get()); i-- > 0;) {
            waiting_.push_back({PyTuple_GET_ITEM(children.get(), i), nullptr});
        }
        return true;
    }

    static PyObject* fields(PyObject* part, PyObject* names) {
        Held found(PyTuple_New(PyTuple_GET_SIZE(names)));
        for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(names); ++i) {
            PyObject* value = PyObject_GetAttr(part, PyTuple_GET_ITEM(names, i));
            if (value == nullptr) return nullptr;
            PyTuple_SET_ITEM(found.get(), i, value);
        }
        return found.release();
    }

    bool add(PyObject* part, PyObject* row) {
        Held next(PyLong_FromSsize_t(PyDict_GET_SIZE(rows_.get())));
        PyObject* number = next ? PyDict_SetDefault(rows_.get(), row, next.get()) : nullptr;
        if (number == nullptr) return false;
        numbers_[part] = number;
        return true;
    }

    PyObject *shape_, *atom_;
    Held rows_;  // their numbers, by row
    Held kept_;  // shapes and children, as long as the walk knows parts by their addresses
    std::vector<Step> waiting_;
    std::unordered_map<PyObject*, PyObject*> numbers_;  // of rows, by part
    std::unordered_map<PyTypeObject*, PyObject*> shapes_;
};

}  // namespace

PyObject* rows_of(PyObject*, PyObject* args) {
    PyObject *value, *shape, *atom;
    if (!PyArg_ParseTuple(args, "OOO:rows", &value, &shape, &atom)) return nullptr;
    return Walk(shape, atom).table(value);
}

}  // namespace fieldforge
