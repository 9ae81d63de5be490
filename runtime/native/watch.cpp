// Watching costs one comparison for each module while nothing in it is bound anew.
#include "watch.h"

#include <algorithm>
#include <utility>

#include "interpreter_lock.h"

namespace fieldforge {
namespace {

constexpr uint64_t never_seen = UINT64_MAX;

// Until Python 3.12 every change gives a dictionary another version; later ones keep none, and
// then every name is looked up.
#if PY_VERSION_HEX < 0x030D0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
uint64_t version_of(PyObject* dictionary) {
    return reinterpret_cast<PyDictObject*>(dictionary)->ma_version_tag;
}
#pragma GCC diagnostic pop
#else
uint64_t version_of(PyObject*) { return never_seen; }
#endif

bool holds(PyObject* found, PyObject* value) {
    return found == value || (found == nullptr && value == Py_None);
}

}  // namespace

bool Watch::set(PyObject* triples, PyObject* on_change) {
    PyObject* rows = PySequence_Tuple(triples);
    if (rows == nullptr) return false;
    clear();
    on_change_ = Py_NewRef(on_change);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
        Name row;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "OOO", &row.place, &row.name, &row.value)) {
            break;
        }
        const bool in_dictionary = PyDict_Check(row.place) && PyUnicode_Check(row.name);
        if (!in_dictionary && !PyCell_Check(row.place)) {
            PyErr_SetString(PyExc_TypeError, "Expected a dictionary, a name and an object.");
            break;
        }
        (in_dictionary ? names_ : cells_).push_back(row);
        Py_INCREF(row.place);
        Py_INCREF(row.name);
        Py_INCREF(row.value);
        const auto is_it = [&](const Seen& each) { return each.dictionary == row.place; };
        if (in_dictionary && std::none_of(seen_.begin(), seen_.end(), is_it)) {
            seen_.push_back({row.place, never_seen});
        }
    }
    Py_DECREF(rows);
    return PyErr_Occurred() == nullptr;
}

void Watch::clear() {
    seen_.clear();
    for (auto* kept : {&names_, &cells_}) {
        std::vector<Name> rows;
        rows.swap(*kept);  // giving back a reference may run any code
        for (const Name& row : rows) {
            Py_DECREF(row.place);
            Py_DECREF(row.name);
            Py_DECREF(row.value);
        }
    }
    Py_CLEAR(on_change_);
}

bool Watch::unchanged() {
    for (const Name& cell : cells_) {
        if (!holds(PyCell_GET(cell.place), cell.value)) return false;
    }
    const auto is_known = [](const Seen& each) {
        return each.version != never_seen && version_of(each.dictionary) == each.version;
    };
    if (std::all_of(seen_.begin(), seen_.end(), is_known)) return true;
    for (const Name& row : names_) {
        if (!holds(PyDict_GetItemWithError(row.place, row.name), row.value)) return false;
    }
    for (Seen& each : seen_) each.version = version_of(each.dictionary);
    return true;
}

bool Watch::notify() const {
    PyObject* const on_change = Py_NewRef(on_change_);
    PyObject* const result = sleep_at_exit([&] { return PyObject_CallNoArgs(on_change); });
    Py_DECREF(on_change);
    Py_XDECREF(result);
    return result != nullptr;
}

int Watch::traverse(visitproc visit, void* arg) const {
    for (const auto* rows : {&names_, &cells_}) {
        for (const Name& row : *rows) {
            Py_VISIT(row.place);
            Py_VISIT(row.value);
        }
    }
    Py_VISIT(on_change_);
    return 0;
}

}  // namespace fieldforge
