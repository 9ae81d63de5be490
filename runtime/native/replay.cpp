// All calls of a round run between one release of the interpreter's lock and one return to it.
#include "replay.h"

#include <algorithm>

namespace fieldforge {

std::shared_ptr<const Round> Round::make(const std::vector<Recorded>& calls,
                                         const std::vector<Substitute>& fields, size_t& place) {
    auto made = std::make_shared<Round>();
    for (const Substitute& each : fields) made->fields_.push_back(Py_NewRef(each.given));
    for (place = 0; place < calls.size(); ++place) {
        const Recorded& call = calls[place];
        if (call.program == nullptr) return nullptr;
        made->generations_.push_back(call.program->generation);
        auto prepared = prepare(call.program, call.bound(), fields);
        if (prepared == nullptr) return nullptr;
        made->workspace_ = std::max(made->workspace_, prepared->workspace());
        made->copied_ = std::max(made->copied_, prepared->copied());
        made->calls_.push_back(std::move(prepared));
    }
    return made;
}

Round::~Round() {
    for (PyObject* field : fields_) Py_DECREF(field);
}

bool Round::has(const std::vector<Substitute>& fields) const {
    return std::equal(fields_.begin(), fields_.end(), fields.begin(), fields.end(),
                      [](PyObject* own, const Substitute& each) { return own == each.given; });
}

bool Round::is_current(const std::vector<Recorded>& calls) const {
    for (size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].program->generation != generations_[i]) return false;
    }
    return true;
}

Refusal Round::run(Arena& arena, size_t& place) const {
    // Calls share the workspace of those that need one.
    for (place = 0; workspace_ > 0 && place < calls_.size(); ++place) {
        if (Refusal refusal = calls_[place]->check_workspace()) return refusal;
    }
    place = 0;
    const Lease memory(arena, workspace_, copied_);
    if (memory.refusal()) return memory.refusal();
    int32_t status = 0;
    PyThreadState* thread = PyEval_SaveThread();
    for (place = 0; place < calls_.size(); ++place) {
        status = calls_[place]->run_in(memory);
        if (status != 0) break;
    }
    PyEval_RestoreThread(thread);
    return refusal_of(status);
}

}  // namespace fieldforge
