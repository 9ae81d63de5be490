// Looks up the lists that a table keeps, or makes them and copies them to its device.
#include "patch_lists.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "held.h"
#include "patches.h"

namespace fieldforge {
namespace {

// How many lists one table keeps. None is ever dropped, because kernels may still read it.
constexpr size_t most_kept = 64, most_kept_on_gpu = 8;

FieldView& view_of(PyObject* leaf) { return *reinterpret_cast<FieldView*>(leaf); }

// Reads the numbers of an order, and collects the arguments that are its tables.
class Reader {
   public:
    explicit Reader(const Slots& numbers) : numbers_(numbers) {}

    PatchOrder read() {
        PatchOrder order;
        order.size = next();
        order.portion = next();
        order.most = next();
        order.percent = next();
        order.members.resize(next());
        for (Member& member : order.members) {
            member.fills = next() != 0;
            member.row_bytes = next();
            const int32_t argument = next();
            member.owner = {argument < 0 ? -1 : table(argument), 0};
            member.owner_leads_back = next() != 0;
            member.begins = next();
            member.readings.resize(next());
            for (NearReading& reading : member.readings) {
                reading.filler = next();
                reading.links.resize(next());
                for (Link& link : reading.links) {
                    link.table = table(next());
                    link.slot = next();
                }
            }
        }
        return order;
    }

    const std::vector<int32_t>& arguments() const { return arguments_; }

   private:
    int32_t next() { return numbers_[at_++]; }
    int32_t table(int32_t argument) {
        const auto found = std::find(arguments_.begin(), arguments_.end(), argument);
        if (found == arguments_.end()) return arguments_.push_back(argument), std::ssize(arguments_) - 1;
        return static_cast<int32_t>(found - arguments_.begin());
    }

    const Slots& numbers_;
    size_t at_ = 1;
    std::vector<int32_t> arguments_;
};

// The tables as the host reads them; nothing if one does not begin at 0.
std::optional<std::vector<HostTable>> host_tables(const std::vector<int32_t>& arguments,
                                                  PyObject* const* leaves) {
    std::vector<HostTable> made;
    for (const int32_t argument : arguments) {
        const FieldView& own = view_of(leaves[argument]);
        const FieldView& view = own.table->readable(own);
        const Axis &rows = view.axes[0], &slots = view.axes[1];
        if (rows.start != 0 || slots.start != 0) return std::nullopt;
        made.push_back({reinterpret_cast<const char*>(view.data), rows.stop, slots.stop, rows.stride,
                        slots.stride});
    }
    return made;
}

bool leads_everywhere(const PatchOrder& order, const std::vector<HostTable>& tables) {
    for (const Member& member : order.members) {
        for (const NearReading& reading : member.readings) {
            for (const Link& link : reading.links) {
                if (link.slot >= tables[link.table].width) return false;
            }
        }
    }
    return true;
}

// Copies the words to the device of a table; false if that is not possible now, as in a capture.
bool bring(const PatchLists& lists, const FieldView& table, KeptPatches& into) {
    const Held module(PyImport_ImportModule("fieldforge.runtime.fields.patch_lists"));
    const Held bytes(PyBytes_FromStringAndSize(
        reinterpret_cast<const char*>(lists.words.data()),
        static_cast<Py_ssize_t>(lists.words.size() * sizeof(uint32_t))));
    const Held made(module && bytes
                        ? PyObject_CallMethod(module.get(), "bring", "Oii", bytes.get(),
                                              static_cast<int>(table.device_type),
                                              static_cast<int>(table.device_id))
                        : nullptr);
    if (made.get() == Py_None) return false;
    if (made) {
        into.address = PyLong_AsLongLong(PyTuple_GetItem(made.get(), 1));
        into.owner = Py_XNewRef(PyTuple_GetItem(made.get(), 0));
        into.patches = lists.patches;
        into.shared = lists.shared;
        into.size = lists.size;
    }
    PyErr_Clear();  // no memory: the nests run one by one from now on
    return true;
}

bool is_same(const KeptPatches& kept, const Slots& asked, PyObject* const* leaves) {
    if (!std::equal(kept.asked.begin() + 1, kept.asked.end(), asked.begin() + 1, asked.end())) {
        return false;
    }
    return std::all_of(kept.tables.begin(), kept.tables.end(), [&](const auto& each) {
        return view_of(leaves[each.first]).table->serial() == each.second;
    });
}

int64_t answer(const KeptPatches& kept, int32_t what) {
    switch (static_cast<PatchNumber>(what)) {
        case PatchNumber::address: return kept.address;
        case PatchNumber::patches: return kept.patches;
        case PatchNumber::size: return kept.size;
        default: return kept.shared;
    }
}

// Finds the answer in a table that has it.
std::optional<int64_t> known(TableIndex& index, const Slots& asked, PyObject* const* leaves) {
    for (const KeptPatches& kept : index.patches()) {
        if (is_same(kept, asked, leaves)) return answer(kept, asked[0]);
    }
    return std::nullopt;
}

}  // namespace

int64_t ask_patches(const Slots& asked, PyObject* const* leaves, int32_t table) {
    const FieldView& own = view_of(leaves[table]);
    TableIndex& index = *own.table;
    {
        const std::lock_guard guard(index.lock());
        if (const auto found = known(index, asked, leaves)) return *found;
        const bool is_gpu = own.device_type != device_cpu;
        if (index.patches().size() >= (is_gpu ? most_kept_on_gpu : most_kept)) return 0;
    }
    Reader reader(asked);
    const PatchOrder order = reader.read();
    KeptPatches made;
    made.asked = asked;
    for (const int32_t argument : reader.arguments()) {
        made.tables.emplace_back(argument, view_of(leaves[argument]).table->serial());
    }
    const auto tables = host_tables(reader.arguments(), leaves);
    if (tables && leads_everywhere(order, *tables)) {
        const PatchLists lists = inspect(order, *tables);
        if (lists.patches > 0 && !bring(lists, own, made)) return 0;
    }
    // Python code has run: another thread may have been faster.
    const std::lock_guard guard(index.lock());
    if (const auto found = known(index, asked, leaves)) {
        Py_XDECREF(made.owner);
        return *found;
    }
    index.patches().push_back(std::move(made));
    return answer(index.patches().back(), asked[0]);
}

}  // namespace fieldforge
