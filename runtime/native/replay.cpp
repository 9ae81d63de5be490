// All calls of a round run between one release of the interpreter's lock and one return to it.
#include "replay.h"

#include <algorithm>

#include "entry.h"
#include "interpreter_lock.h"
#include "scalar.h"
#include "work.h"

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
        const Entry* entry = prepared->entry();
        made->on_host_ &= !entry->device->queues && entry->first_tier == nullptr;
        made->calls_.push_back(std::move(prepared));
    }
    return made;
}

Round::~Round() {
    for (PyObject* field : fields_) Py_DECREF(field);
}

bool Round::has(const std::vector<Substitute>& fields) const {
    return std::equal(fields_.begin(), fields_.end(), fields.begin(), fields.end(),
                      [](PyObject* own, const Substitute& each) {
                          return own == each.given || is_same_number(own, each.given);
                      });
}

bool Round::is_current(const std::vector<Recorded>& calls) const {
    for (size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].program->generation != generations_[i]) return false;
    }
    return true;
}

// Several calls of one device, in the order of one stream, with memory of their own.
bool Round::can_be_graph() const {
    if (calls_.size() < 2 || wishes.workspace != nullptr) return false;
    if (is_tried_) return graph_ != nullptr;
    const Device* device = calls_[0]->entry()->device;
    const Place& first = calls_[0]->place();
    return device->capture != nullptr &&
           std::all_of(calls_.begin(), calls_.end(), [&](const auto& call) {
               const Place& own = call->place();
               return call->entry()->device == device && own.device_id == first.device_id &&
                      own.libraries == first.libraries && own.stream == first.stream;
           });
}

// Makes the graph; false with a Python error set if its warning is an error. What cannot be captured
// is called one by one.
bool Round::capture() const {
    struct Calls {
        const Round* round;
        Refusal refusal;
    } calls{this, {}};
    const auto body = [](void* data, void* stream) {
        auto& all = *static_cast<Calls*>(data);
        for (const auto& call : all.round->calls_) {
            all.refusal = call->run(stream);
            if (all.refusal) return false;
        }
        return true;
    };
    const Place here = fieldforge::place;
    auto made = calls_[0]->entry()->device->capture(body, &calls, workspace_ + copied_);
    fieldforge::place = here;
    is_tried_ = true;
    graph_ = std::move(made);
    if (graph_ != nullptr) return true;
    PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject* why = error == nullptr ? PyUnicode_FromString("a call needs the host") : PyObject_Str(error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    if (why == nullptr) return false;
    const int warned = PyErr_WarnFormat(PyExc_UserWarning, 1,
                                        "A recorded step launches its kernels one by one: %U", why);
    Py_DECREF(why);
    return warned == 0;
}

Refusal Round::run(Arena& arena, size_t& place) const {
    // Calls share the workspace of those that need one.
    for (place = 0; workspace_ > 0 && place < calls_.size(); ++place) {
        if (Refusal refusal = calls_[place]->check_workspace()) return refusal;
    }
    if (!on_host_ && can_be_graph()) {
        const Device& device = *calls_[0]->entry()->device;
        place = 0;
        if (!settle(device, calls_[0]->place())) return {Reason::status, {work_failed}};
        const bool is_own = !device.captures();  // in a capture the calls become part of that
        if (is_own && !is_tried_ && !capture()) return {Reason::status, {work_failed}};
        if (is_own && graph_ != nullptr) {
            return device.launch(graph_.get()) ? Refusal{} : Refusal{Reason::status, {work_failed}};
        }
    }
    if (!on_host_) {
        for (place = 0; place < calls_.size(); ++place) {
            if (Refusal refusal = calls_[place]->run()) return refusal;
        }
        return {};
    }
    place = 0;
    const Lease memory(arena, workspace_, copied_);
    if (memory.refusal()) return memory.refusal();
    int32_t status = 0;
    {
        const LockReleased released;
        for (place = 0; place < calls_.size(); ++place) {
            status = calls_[place]->run_in(memory);
            if (status != 0) break;
        }
    }
    return refusal_of(status);
}

}  // namespace fieldforge
