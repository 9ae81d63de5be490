// Running costs leaving the interpreter and the call itself.
#include "prepared.h"

#include "entry.h"
#include "interpreter_lock.h"

namespace fieldforge {

Prepared::Prepared(Entry* entry, const Words& words, size_t pointers, size_t ints, size_t scalars,
                   size_t copied, int64_t workspace, const Place& place)
    : entry_(entry),
      pointers_(words.pointers, words.pointers + pointers),
      ints_(words.ints, words.ints + ints),
      scalars_(static_cast<const uint64_t*>(words.scalars),
               static_cast<const uint64_t*>(words.scalars) + scalars),
      copies_(words.copies, words.copies + words.copy_count),
      stepped_(words.step == nullptr ? 0 : static_cast<size_t>(words.step - words.ints)),
      steps_(words.steps),
      whole_{pointers_.data(), ints_.data(), scalars_.data(), nullptr, 0},
      copied_(copied),
      workspace_(workspace),
      place_(place) {
    Py_INCREF(entry);
}

Prepared::~Prepared() {
    for (PyObject* argument : held_) Py_DECREF(argument);
    Py_DECREF(entry_);
}

int32_t Prepared::run_in(const Lease& memory) const {
    if (copies_.empty() && steps_ == 0) {
        return execute(*entry_, whole_, memory);
    }
    std::vector<const void*> pointers(pointers_);  // snapshots lie elsewhere in every call
    std::vector<int64_t> ints(steps_ > 0 ? ints_ : std::vector<int64_t>{});
    int64_t* step = steps_ > 0 ? &ints[stepped_] : nullptr;
    return execute(*entry_, {pointers.data(), step != nullptr ? ints.data() : ints_.data(),
                             scalars_.data(), copies_.data(), copies_.size(), step, steps_},
                   memory);
}

Refusal Prepared::check_workspace() const {
    if (wishes.workspace == nullptr) return {};
    for (const Bytes& each : spans) {
        if (meets_workspace(each.low, each.high)) {
            return {Reason::workspace_shared, {each.argument}};
        }
    }
    return {};
}

Refusal Prepared::run(void* stream) const {
    if (workspace_ > 0) {
        if (Refusal refusal = check_workspace()) return refusal;
    }
    if (!settle(*entry_->device, place_)) return {Reason::status, {work_failed}};
    if (stream != nullptr) fieldforge::place.stream = stream;
    const Lease memory(*entry_->arena, workspace_, copied_);
    if (memory.refusal()) return memory.refusal();
    int32_t status;
    {
        const LockReleased released;
        status = run_in(memory);
    }
    return refusal_of(status);
}

int Prepared::traverse(visitproc visit, void* arg) const {
    Py_VISIT(entry_);
    for (PyObject* argument : held_) Py_VISIT(argument);
    return 0;
}

}  // namespace fieldforge
