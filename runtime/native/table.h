// The range of source indices in some rows of a neighbour table.
#pragma once

#include <Python.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "field_view.h"

namespace fieldforge {

// The slots of a table whose entries count; none stand for all.
using Slots = std::vector<int32_t>;

// The smallest valid entry and one more than the largest; both 0 where no entry is valid.
struct Entries {
    int64_t lowest = 0;
    int64_t beyond = 0;
};

#ifdef Py_GIL_DISABLED
using TableLock = std::mutex;
#else
// Calls query tables with the interpreter's lock held; no other lock is needed.
struct TableLock {
    void lock() {}
    void unlock() {}
};
#endif

// The lists of patches of one order, in which the numbers of tables are arguments; `tables` are these
// and the serial numbers of their indexes.
struct KeptPatches {
    Slots asked;
    std::vector<std::pair<int32_t, uint64_t>> tables;
    int64_t address = 0, patches = 0, shared = 0, size = 0;
    PyObject* owner = nullptr;
};

// The first call that uses a table creates its index. Tables are immutable, so the extremes of
// blocks of rows and all answers stay valid.
class TableIndex {
   public:
    // `host` is a view of the same entries that the host can read, if the table's own is none; the
    // index takes the reference.
    TableIndex(bool skips, PyObject* codomain, PyObject* host = nullptr)
        : skips_(skips), codomain_(codomain), host_(host), serial_(++made_) {}
    ~TableIndex() {
        for (const KeptPatches& each : patches_) Py_XDECREF(each.owner);
        Py_XDECREF(host_);
    }
    TableIndex(const TableIndex&) = delete;
    TableIndex& operator=(const TableIndex&) = delete;

    bool has_skips() const { return skips_; }
    PyObject* codomain() const { return codomain_; }  // borrowed from the table
    // Over some slots of the rows start .. stop, counted from the first of the table and inside it.
    Entries over(const FieldView& view, int64_t start, int64_t stop, const Slots& slots);
    // The table itself, or the view of its entries that the host can read.
    const FieldView& readable(const FieldView& view) const {
        return host_ == nullptr ? view : *reinterpret_cast<const FieldView*>(host_);
    }
    uint64_t serial() const { return serial_; }  // no other index ever has it
    // The lists that stay with this table; whoever looks at them holds the lock.
    std::vector<KeptPatches>& patches() { return patches_; }
    TableLock& lock() { return lock_; }

   private:
    struct Answer {
        int64_t start = 0;
        int64_t stop = 0;
        Slots slots;
        Entries entries;
    };
    Entries compute(const FieldView& view, int64_t start, int64_t stop, const Slots& slots);
    void summarize(const FieldView& view);

    const bool skips_;
    PyObject* const codomain_;
    PyObject* const host_;
    const uint64_t serial_;
    static inline std::atomic<uint64_t> made_{0};
    std::vector<KeptPatches> patches_;
    TableLock lock_;
    std::vector<Entries> blocks_;  // by block, then by slot
    std::array<Answer, 8> answers_{};  // a cache of the last queries; an empty range is an empty slot
    size_t next_ = 0;
};

// A table is an object that declares itself immutable.
bool is_table_type(PyTypeObject* type);

// The index of a neighbour table, created on first use; null for any other object.
TableIndex* table_of(PyObject* object);

// A new reference to the entry of an offset provider (or null), or null without an error set.
PyObject* find_table(PyObject* provider, PyObject* name);

// Over some slots of the rows start .. stop of a table in domain coordinates; nothing for rows that
// it does not have, because the check of the ranges refuses them.
Entries entries_of(const FieldView& table, int64_t start, int64_t stop, const Slots& slots);

}  // namespace fieldforge
