// What the codes of a nest read and write, block by block: what chains may leave out of memory.
#pragma once

#include <set>
#include <string_view>
#include <utility>

#include "program.h"

namespace fieldforge::rows {

inline bool is_writer(const Step& step) {
    return step.kind != Step::Kind::point && step.kind != Step::Kind::store;
}

// What a kernel is as a link: its operation and the size of its floats.
struct Shape {
    std::string_view op;
    int size = 0;  // 0: no links compute it
};

inline Shape shape_of(const Step& step) {
    if (step.kind != Step::Kind::kernel) return {};
    const std::string_view name = step.name;
    const size_t dot = name.find('.');
    const std::string_view op = name.substr(0, dot), dtype = name.substr(dot + 1);
    if (op == "select" || op == "copy") return {op, dtype == "4" ? 4 : dtype == "8" ? 8 : 0};
    return {op, dtype == "float32" ? 4 : dtype == "float64" ? 8 : 0};
}

inline bool is_comparison(const Shape& shape) { return shape.op.size() == 2; }

class Uses {
   public:
    explicit Uses(Nest& nest) : nest_(nest), accesses_(static_cast<int32_t>(nest.accesses.size())) {
        const auto blocks = static_cast<size_t>(nest.blocks);
        exposed_.resize(blocks), copies_.resize(blocks), writes_.resize(blocks);
        each_code([this](Code& code) { look_at(code); });
        look_at_rows();
    }

    template <class Body>
    void each_code(const Body& body) {
        for (Code& code : nest_.around) body(code);
        body(nest_.rows);
        body(nest_.first);
        for (Part& part : nest_.parts) body(part.code);
    }

    // The number of a block by its slot, negative for other places.
    int32_t block_of(int32_t slot) const { return slot < accesses_ + nest_.blocks ? slot - accesses_ : -1; }

    bool is_access(int32_t slot) const { return slot >= 0 && slot < accesses_; }

    template <class Body>
    void each_read(const Step& step, const Body& body) const {
        for (const Place& each : {step.a, step.b, step.c}) body(each.slot);
        if (step.kind != Step::Kind::load && step.kind != Step::Kind::store) return;
        const Access& access = nest_.accesses[step.access];
        for (int32_t axis : access.told) body(accesses_ + access.axes[axis].number);
    }

    // Whether a step of a code after `at` reads a block before one writes it; `otherwise` if none does either.
    bool is_read(const Code& code, size_t at, int32_t slot, bool otherwise) const {
        for (size_t i = at + 1; i < code.size(); ++i) {
            if (reads(code[i], slot)) return true;
            if (is_writer(code[i]) && code[i].out.slot == slot) return false;
        }
        return otherwise;
    }

    // Whether a block keeps its value after step `at` of a code, for a later reader.
    bool is_needed(const Code& code, size_t at, int32_t slot) const {
        return is_read(code, at, slot, exposed_[block_of(slot)]);
    }

    // Whether an operand is one number for all lanes, and where it lies; so is a block of copies.
    std::pair<bool, Operand> operand(const Place& place) const {
        if (is_access(place.slot)) return {false, {place.slot, 0}};
        const int32_t block = block_of(place.slot);
        if (block < 0) return {true, {place.slot, place.step}};
        const bool is_copy = writes_[block] == 1 && copies_[block].slot > 0;
        if (is_copy) return {true, copies_[block]};
        return {false, {place.slot, 1}};
    }

   private:
    bool reads(const Step& step, int32_t slot) const {
        bool is_read = false;
        each_read(step, [&](int32_t each) { is_read |= each == slot; });
        return is_read;
    }

    void look_at(const Code& code) {
        std::vector<bool> written(exposed_.size());
        const auto read = [&](int32_t slot) {
            const int32_t block = slot < 0 ? -1 : block_of(slot);
            if (block >= 0 && !written[block]) exposed_[block] = true;
        };
        for (const Step& step : code) {
            each_read(step, read);
            const int32_t block = is_writer(step) && step.out.slot >= 0 ? block_of(step.out.slot) : -1;
            if (block < 0) continue;
            written[block] = true;
            ++writes_[block];
            if (step.kind == Step::Kind::fill) copies_[block] = {step.a.slot, step.a.step};
        }
    }

    // Blocks of which single numbers are read: they must be in memory.
    void look_at_rows() {
        for (const Access& access : nest_.accesses) {
            for (const Axis& axis : access.axes) {
                if (axis.kind == Axis::Kind::row) exposed_[axis.number] = true;
            }
        }
        each_code([&](const Code& code) {
            for (const Step& step : code) {
                if (step.a.step > 0) exposed_[step.a.slot - accesses_] = true;
            }
        });
    }

    Nest& nest_;
    const int32_t accesses_;
    std::vector<bool> exposed_;    // by block: some code reads it before it writes it
    std::vector<Operand> copies_;  // by block: the number that it is filled with
    std::vector<int32_t> writes_;  // by block: how many steps write it
};

// What a chain does: its steps, and the slots of blocks that are read after it.
struct Steps {
    Code code;
    std::set<int32_t> kept;
    int size = 0;  // bytes of its numbers

    bool is_needed(const Uses& uses, size_t at, int32_t slot) const {
        return uses.is_read(code, at, slot, kept.count(slot) > 0);
    }
};

// Lets multiply-adds change the signs of their operands, and drops steps that have done so before.
void fold_signs(Code& code, const Uses& uses);

}  // namespace fieldforge::rows
