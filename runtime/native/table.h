// What a call asks of a neighbour table: which rows of the source do these rows point to?
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "field_view.h"

namespace fieldforge {

// The smallest valid entry and one more than the largest; both 0 where no entry is valid.
struct Entries {
    int64_t lowest = 0;
    int64_t beyond = 0;
};

#ifdef Py_GIL_DISABLED
using TableLock = std::mutex;
#else
// Tables are asked with the interpreter's lock held; that is lock enough.
struct TableLock {
    void lock() {}
    void unlock() {}
};
#endif

// Kept with a table from the first call that uses it. A table never changes, so neither do the
// extremes of its blocks of rows, nor any answer.
class TableIndex {
   public:
    explicit TableIndex(bool skips) : skips_(skips) {}
    TableIndex(const TableIndex&) = delete;
    TableIndex& operator=(const TableIndex&) = delete;

    bool has_skips() const { return skips_; }
    // Over the rows start .. stop, counted from the first of the table and inside it.
    Entries over(const FieldView& view, int64_t start, int64_t stop);

   private:
    struct Answer {
        int64_t start = 0;
        int64_t stop = 0;
        Entries entries;
    };
    Entries compute(const FieldView& view, int64_t start, int64_t stop);
    void summarize(const FieldView& view);

    const bool skips_;
    TableLock lock_;
    std::vector<Entries> blocks_;
    std::array<Answer, 8> answers_{};  // the last ones; an empty range is no question
    size_t next_ = 0;
};

// Only what says of itself that it never changes is a table.
bool is_table_type(PyTypeObject* type);

// The index of a neighbour table, made when it is seen first; null for any other object.
TableIndex* table_of(PyObject* object);

// A new reference to the entry of an offset provider (or null), or null without an error set.
PyObject* find_table(PyObject* provider, PyObject* name);

// Over the rows start .. stop of a table in domain coordinates; nothing for rows that it does not
// have, because the check of the ranges refuses them.
Entries entries_of(const FieldView& table, int64_t start, int64_t stop);

}  // namespace fieldforge
