// Extremes of blocks of rows, made once; the rows at the ends of a range are looked at themselves.
#include "table.h"

#include <algorithm>
#include <limits>

#include "held.h"

namespace fieldforge {
namespace {

constexpr int64_t block_rows = 1024;
constexpr int64_t nothing = std::numeric_limits<int64_t>::max();

// While it is computed, "no valid entry" is the neutral element.
constexpr Entries neutral{nothing, 0};

Entries merge(Entries a, Entries b) {
    return {std::min(a.lowest, b.lowest), std::max(a.beyond, b.beyond)};
}

int64_t width_of(const FieldView& view) { return view.axes[1].stop - view.axes[1].start; }

Entries scan(const FieldView& view, int64_t start, int64_t stop, int64_t slot) {
    const Axis& rows = view.axes[0];
    const auto* at = reinterpret_cast<const char*>(view.data) + start * rows.stride +
                     slot * view.axes[1].stride;
    Entries found = neutral;
    for (int64_t i = start; i < stop; ++i, at += rows.stride) {
        const int64_t entry = *reinterpret_cast<const int32_t*>(at);
        if (entry >= 0) found = merge(found, {entry, entry + 1});
    }
    return found;
}

TableIndex* make_index(FieldView& view) {
    auto* object = reinterpret_cast<PyObject*>(&view);
    if (view.dtype != DType::int32 || view.ndim != 2 || !view.regular) return nullptr;
    if (!is_table_type(Py_TYPE(object))) return nullptr;
    PyObject* skip = PyObject_GetAttrString(object, "skip_value");
    PyObject* codomain = PyObject_GetAttrString(object, "codomain");
    PyErr_Clear();
    PyObject* host = nullptr;
    if (view.device_type != device_cpu) {
        host = PyObject_GetAttrString(object, "__fieldforge_host__");
        PyErr_Clear();
        if (host == nullptr || !is_field_view(host)) {
            Py_XDECREF(host);
            Py_XDECREF(skip);
            Py_XDECREF(codomain);
            return nullptr;
        }
    }
    auto* made = new TableIndex(skip != nullptr && skip != Py_None, codomain, host);
    Py_XDECREF(skip);
    Py_XDECREF(codomain);  // the table is immutable and holds it
    // Python code has run: another thread may have been faster.
    if (view.table != nullptr) {
        delete made;
        return view.table;
    }
    return view.table = made;
}

}  // namespace

Entries TableIndex::over(const FieldView& view, int64_t start, int64_t stop, const Slots& slots) {
    const std::lock_guard guard(lock_);
    for (const Answer& answer : answers_) {
        if (answer.start == start && answer.stop == stop && answer.slots == slots) {
            return answer.entries;
        }
    }
    const Entries found = compute(readable(view), start, stop, slots);
    answers_[next_++ % answers_.size()] = {start, stop, slots, found};
    return found;
}

Entries TableIndex::compute(const FieldView& view, int64_t start, int64_t stop,
                            const Slots& slots) {
    if (blocks_.empty()) summarize(view);
    const int64_t first = (start + block_rows - 1) / block_rows, last = stop / block_rows;
    const int64_t width = width_of(view), count = slots.empty() ? width : slots.size();
    Entries found = neutral;
    for (int64_t k = 0; k < count; ++k) {
        const int64_t slot = slots.empty() ? k : slots[k];
        if (slot >= width) continue;  // a table of this width does not fit the plan
        if (first >= last) {
            found = merge(found, scan(view, start, stop, slot));
            continue;
        }
        for (int64_t i = first; i < last; ++i) found = merge(found, blocks_[i * width + slot]);
        found = merge(found, scan(view, start, first * block_rows, slot));
        found = merge(found, scan(view, last * block_rows, stop, slot));
    }
    return found.lowest == nothing ? Entries{} : found;
}

void TableIndex::summarize(const FieldView& view) {
    const int64_t rows = view.axes[0].stop - view.axes[0].start;
    for (int64_t start = 0; start < rows; start += block_rows) {
        const int64_t stop = std::min(start + block_rows, rows);
        for (int64_t slot = 0; slot < width_of(view); ++slot) {
            blocks_.push_back(scan(view, start, stop, slot));
        }
    }
}

bool is_table_type(PyTypeObject* type) {
    PyObject* value = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type),
                                             "__fieldforge_table__");
    const bool result = value == Py_True;
    Py_XDECREF(value);
    PyErr_Clear();
    return result;
}

TableIndex* table_of(PyObject* object) {
    if (!is_field_view(object)) return nullptr;
    auto& view = *reinterpret_cast<FieldView*>(object);
#ifdef Py_GIL_DISABLED
    static std::mutex making;
    const std::lock_guard guard(making);
#endif
    return view.table != nullptr ? view.table : make_index(view);
}

namespace {

// A new reference to an entry, or null without an error set.
PyObject* entry_of(PyObject* provider, PyObject* name) {
    PyObject* found;
#if PY_VERSION_HEX < 0x030D0000
    if (PyDict_CheckExact(provider)) {
        found = Py_XNewRef(PyDict_GetItemWithError(provider, name));
#else
    if (PyDict_CheckExact(provider)) {
        if (PyDict_GetItemRef(provider, name, &found) < 0) found = nullptr;
#endif
    } else {
        found = PyObject_GetItem(provider, name);
    }
    if (found == nullptr) PyErr_Clear();
    return found;
}

// What table "C2E" is transposed, "C2E_t" or "C2E_s": Python makes it, and keeps it with the table.
PyObject* transposed_of(PyObject* provider, PyObject* name) {
    const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
    const Py_ssize_t mark = PyUnicode_FindChar(name, '_', 0, length, -1);
    if (mark <= 0) return nullptr;
    const Held base(PyUnicode_Substring(name, 0, mark));
    const Held table(base ? entry_of(provider, base.get()) : nullptr);
    if (!table || !is_table_type(Py_TYPE(table.get()))) return nullptr;
    const Held kept(PyObject_GetAttrString(table.get(), "__fieldforge_transposed__"));
    PyObject* found = kept ? PyObject_GetItem(kept.get(), name) : nullptr;
    PyErr_Clear();
    if (found != nullptr) return found;
    const Held maker(PyImport_ImportModule("fieldforge.runtime.meshes.transposed_tables"));
    const Held made(maker ? PyObject_CallMethod(maker.get(), "table_in", "OO", provider, name)
                          : nullptr);
    PyErr_Clear();
    return made && made.get() != Py_None ? Py_NewRef(made.get()) : nullptr;
}

}  // namespace

PyObject* find_table(PyObject* provider, PyObject* name) {
    if (provider == nullptr || provider == Py_None) return nullptr;
    PyObject* found = entry_of(provider, name);
    return found != nullptr ? found : transposed_of(provider, name);
}

Entries entries_of(const FieldView& table, int64_t start, int64_t stop, const Slots& slots) {
    const Axis& rows = table.axes[0];
    if (start >= stop || start < rows.start || stop > rows.stop) return {};
    return table.table->over(table, start - rows.start, stop - rows.start, slots);
}

}  // namespace fieldforge
