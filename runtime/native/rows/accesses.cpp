#include "accesses.h"

namespace fieldforge::rows {
namespace {

class Look {
   public:
    Look(Nest& nest, const std::vector<Buffer>& buffers) : nest_(nest), buffers_(buffers) {}

    void run() {
        look_for_rows();
        look_for_repeats();
        look_for_leaders();
        take_points();
    }

   private:
    // Notes the rows to prefetch, and how much memory a point of the nest touches.
    void look_for_rows() {
        std::vector<bool> seen(buffers_.size());
        for (size_t i = 0; i < nest_.accesses.size(); ++i) {
            const Access& access = nest_.accesses[i];
            if (access.ahead != 0) {
                const auto size = static_cast<uint8_t>(buffers_[access.buffer].size);
                nest_.asked.emplace_back(Operand{static_cast<int32_t>(i), 0}, size);
            }
            if (access.lane >= 0 && !seen[access.buffer]) {
                seen[access.buffer] = true;
                nest_.point_bytes += buffers_[access.buffer].size;
            }
        }
    }

    // Whether an array keeps only the last indices of an axis.
    bool is_ring(const Access& access, size_t axis) const {
        return static_cast<int32_t>(axis) == buffers_[access.buffer].ring;
    }

    // Whether two rows lie equally far apart wherever indices lead.
    bool is_alike(const Access& one, const Access& other) const {
        if (one.buffer != other.buffer) return false;
        const auto varies = [](const Axis& axis) {
            return axis.kind == Axis::Kind::value || axis.kind == Axis::Kind::row;
        };
        for (size_t i = 0; i < one.axes.size(); ++i) {
            const Axis &a = one.axes[i], &b = other.axes[i];
            if (varies(a) != varies(b)) return false;
            if (!varies(a)) continue;
            if (a.kind != b.kind || a.number != b.number) return false;
            const bool is_free = a.kind == Axis::Kind::value && !is_ring(one, i);
            if (!is_free && (one.ahead != other.ahead || (is_ring(one, i) && a.offset != b.offset))) return false;
        }
        return true;
    }

    void look_for_leaders() {
        for (size_t i = 0; i < nest_.accesses.size(); ++i) {
            Access& access = nest_.accesses[i];
            for (size_t j = 0; j < i && access.leader < 0; ++j) {
                const Access& other = nest_.accesses[j];
                const bool leads = other.leader < 0 && other.ahead == 0 && is_alike(access, other);
                if (leads) access.leader = static_cast<int32_t>(j);
            }
        }
    }

    // Takes accesses whose rows follow from indices of loops out of the code right around the lanes.
    void take_points() {
        if (nest_.outer == 0) return;
        Code rest;
        for (const Step& step : nest_.around.back()) {
            if (step.kind != Step::Kind::point) {
                rest.push_back(step);
                continue;
            }
            for (int32_t i = step.access; i < step.access + step.count; ++i) take_point(step, i, rest);
        }
        nest_.around.back() = std::move(rest);
    }

    void take_point(Step step, int32_t number, Code& rest) {
        const Access& access = nest_.accesses[number];
        const auto loops = static_cast<int32_t>(nest_.loops.size());
        bool follows = true, turns = false;
        for (size_t i = 0; i < access.axes.size(); ++i) {
            const Axis& axis = access.axes[i];
            const bool is_value = axis.kind == Axis::Kind::value;
            follows &= !is_value || axis.number < loops;
            turns |= axis.kind == Axis::Kind::row || (is_value && is_ring(access, i) && axis.number == nest_.outer - 1);
        }
        if (follows) {
            (turns ? nest_.turning : nest_.moving).push_back(number);
        } else {
            step.access = number, step.count = 1;
            rest.push_back(step);
        }
    }

    // Finds out whether points may be computed twice.
    void look_for_repeats() {
        std::vector<bool> stored(buffers_.size()), loaded(buffers_.size());
        const auto accesses = static_cast<int32_t>(nest_.accesses.size());
        const auto note = [&](std::vector<bool>& to, int32_t slot) {
            if (slot >= 0 && slot < accesses) to[nest_.accesses[slot].buffer] = true;
        };
        const auto look_at = [&](const Code& code) {
            for (const Step& step : code) {
                if (step.kind == Step::Kind::point) continue;
                note(stored, step.kind == Step::Kind::store ? step.access : step.out.slot);
                if (step.kind == Step::Kind::load) note(loaded, step.access);
                for (const Place& each : {step.a, step.b, step.c}) note(loaded, each.slot);
            }
        };
        for (const Code& code : nest_.around) look_at(code);
        look_at(nest_.rows);
        look_at(nest_.first);
        for (const Part& part : nest_.parts) look_at(part.code);
        for (size_t out = 0; out < buffers_.size(); ++out) {
            if (!stored[out]) continue;
            if (loaded[out]) nest_.may_repeat = false;
            for (size_t in = 0; in < buffers_.size(); ++in) {
                const bool are_given = buffers_[in].kind == Buffer::Kind::given &&
                                       buffers_[out].kind == Buffer::Kind::given;
                if (loaded[in] && in != out && are_given) nest_.apart.emplace_back(out, in);
            }
        }
    }

    Nest& nest_;
    const std::vector<Buffer>& buffers_;
};

}  // namespace

void look_at_accesses(Nest& nest, const std::vector<Buffer>& buffers) { Look(nest, buffers).run(); }

}  // namespace fieldforge::rows
