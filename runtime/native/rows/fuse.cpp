#include "fuse.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "joining.h"
#include "uses.h"

namespace fieldforge::rows {
namespace {

bool is_comparison(const Shape& shape) { return shape.op.size() == 2; }

// What an operation is called whose second operand is in registers.
std::string second_in_registers(std::string_view op) {
    if (op == "sub") return "sub_from";
    if (op == "div") return "div_of";
    if (op == "minimum" || op == "maximum") return std::string(op) + "_of";
    if (op == "lt") return "gt";
    if (op == "le") return "ge";
    if (op == "gt") return "lt";
    if (op == "ge") return "le";
    return std::string(op);
}

constexpr const char* fma_names[] = {"fma", "fnma", "fms", "fnms"};

// A chain that is being made.
struct Draft {
    std::vector<Item> items;
    int size = 0;  // bytes of its numbers
};

class Fuser {
   public:
    Fuser(Nest& nest, const ChainTable& table) : nest_(nest), table_(table), uses_(nest) {}

    void run() {
        const auto lanes = [this](Code& code) {
            fold_signs(code, uses_);
            code = fused(code);
        };
        lanes(nest_.rows);
        lanes(nest_.first);
        for (Part& part : nest_.parts) lanes(part.code);
        drop_fills();
        for (const Draft& draft : drafts_) nest_.chains.push_back(packed(draft));
    }

   private:
    // --- chains ---------------------------------------------------------------------------------

    Code fused(const Code& code) {
        Code made;
        for (at_ = 0; at_ < code.size(); ++at_) {
            if (!add(made, code, code[at_])) {
                close(made, code);
                made.push_back(code[at_]);
            }
        }
        close(made, code);
        return made;
    }

    const NamedLink* find(const Item& item) const {
        int ones = 0;
        for (int i = 0; i < most_operands; ++i) {
            const Place& place = item.places[static_cast<size_t>(i)];
            if (place.slot >= 0 && uses_.operand(place).first) ones |= 1 << i;
        }
        return table_.find(item.op, item.size, ones);
    }

    void link(const Code& code, std::string op, const Place& x = {}, const Place& y = {}) {
        draft_.items.push_back({std::move(op), draft_.size, {x, y}, at_});
        join(draft_.items, {[this](const Item& item) { return find(item) != nullptr; },
                            [this, &code](int32_t slot, size_t at) {
                                if (uses_.is_access(slot) || uses_.block_of(slot) < 0) return false;
                                return code[at].out.slot == slot || !uses_.is_needed(code, at, slot);
                            }});
    }

    void keep(const Code& code, size_t after) {
        if (held_ >= 0 && is_dirty_ && uses_.is_needed(code, after, held_)) put(code);
    }
    void put(const Code& code) {
        link(code, "store", {held_});
        is_dirty_ = false;
    }

    // Brings an operand to the registers.
    void take(const Code& code, const Place& place) {
        if (place.slot == held_) return;
        keep(code, at_ - 1);  // the step may read what is in registers as its other operand
        link(code, "load", place);
        held_ = uses_.block_of(place.slot) >= 0 && !uses_.is_access(place.slot) ? place.slot : -1;
        is_dirty_ = false;
    }

    // Adds a step to the chain; false if there are no links for it.
    bool add(Code& made, const Code& code, const Step& step) {
        if (step.kind == Step::Kind::load) return add_load(made, code, step);
        const Shape shape = shape_of(step);
        std::array<Place, 3> args{step.a, step.b, step.c};
        const bool is_select = shape.op == "select";
        const Place condition = is_select ? args[0] : Place{};
        if (is_select) args = {args[1], args[2], Place{}};
        const int count = 1 + (args[1].slot >= 0) + (args[2].slot >= 0);
        if (shape.size == 0 || !exists(shape, count)) return false;
        if (is_comparison(shape) && uses_.is_access(step.out.slot)) return false;  // bytes of a row
        begin(made, code, shape.size);
        int at = -1, uses = 0;
        for (int i = 0; i < count; ++i) {
            if (held_ >= 0 && args[i].slot == held_ && !uses_.operand(args[i]).first) at = i, ++uses;
        }
        if (at < 0) {
            take(code, args[0]);
            at = 0;
        } else if (is_dirty_ && (uses > 1 || uses_.is_needed(code, at_, held_))) {
            put(code);
        }
        return compute(code, shape, step, args, count, at, condition);
    }

    // Adds a load that a condition for all lanes decides.
    bool add_load(Code& made, const Code& code, const Step& step) {
        const bool fits = nest_.accesses[step.access].is_row && step.size >= 4 && !step.is_truth &&
                          step.b.slot >= 0 && uses_.operand(step.b).first;
        if (!fits) return false;
        begin(made, code, step.size);
        keep(code, at_ - 1);
        link(code, "when", {step.access}, step.b);
        held_ = step.out.slot, is_dirty_ = true;
        return true;
    }

    // Ends a chain of numbers of another size.
    void begin(Code& made, const Code& code, int size) {
        if (draft_.size != size) close(made, code);
        draft_.size = size;
    }

    bool exists(const Shape& shape, int count) const {
        if (shape.op == "copy" || shape.op == "select") return true;
        const std::string op = count == 3 ? std::string(shape.op) + "_factor" : std::string(shape.op);
        return table_.find(op, shape.size, 0) != nullptr;
    }

    bool compute(const Code& code, const Shape& shape, const Step& step, const std::array<Place, 3>& args,
                 int count, int at, const Place& condition) {
        const bool is_row = uses_.is_access(step.out.slot);
        if (shape.op == "copy") {
            link(code, "store", step.out);
            return true;
        }
        if (condition.slot >= 0) {
            link(code, at == 0 ? "select_first" : "select_second", condition, args[1 - at]);
        } else if (is_comparison(shape)) {
            link(code, at == 0 ? std::string(shape.op) : second_in_registers(shape.op), args[1 - at], step.out);
            return true;  // the registers are as before
        } else if (count == 3) {
            const std::string name = fma_names[step.minus];
            if (at == 2) {
                link(code, name + "_summand", args[0], args[1]);
            } else {
                link(code, name + "_factor", args[1 - at], args[2]);
            }
        } else if (count == 2) {
            link(code, at == 0 ? std::string(shape.op) : second_in_registers(shape.op), args[1 - at]);
        } else {
            link(code, std::string(shape.op));
        }
        if (is_row) link(code, "store", step.out);
        held_ = is_row ? -1 : step.out.slot, is_dirty_ = !is_row;
        return true;
    }

    // Ends the chain, and begins an empty one.
    void close(Code& made, const Code& code) {
        if (draft_.items.empty()) return;
        keep(code, at_ - 1);
        held_ = -1, is_dirty_ = false;
        Step step{};
        step.kind = Step::Kind::chain;
        step.access = static_cast<int32_t>(drafts_.size());
        drafts_.push_back(std::move(draft_));
        draft_ = {};
        made.push_back(step);
    }

    // --- links ----------------------------------------------------------------------------------

    Chain packed(const Draft& draft) const {
        Chain chain;
        chain.size = draft.size;
        chain.may_repeat = may_repeat(draft);
        chain.row = row_of(draft);
        for (int reach = 0; reach < reach_count; ++reach) {
            for (int form = 0; form < form_count; ++form) {
                chain.starts[reach][form] = static_cast<int32_t>(chain.links.size());
                add_links(chain.links, draft, form, static_cast<Reach>(reach));
            }
        }
        return chain;
    }

    // The last row that a chain stores, or -1.
    int32_t row_of(const Draft& draft) const {
        int32_t found = -1;
        for (const Item& item : draft.items) {
            if (item.op == "store" && uses_.is_access(item.places[0].slot)) found = item.places[0].slot;
        }
        return found;
    }

    // A chain that changes a block that it has read must not compute lanes twice.
    bool may_repeat(const Draft& draft) const {
        std::set<int32_t> loaded, stored;
        for (const Item& item : draft.items) {
            const bool stores = item.op == "store", compares = item.op.size() == 2;
            for (size_t i = 0; i < item.places.size(); ++i) {
                const int32_t slot = item.places[i].slot;
                const bool is_written = (stores && i == 0) || (compares && i == 1);
                if (is_written && loaded.count(slot) > 0) return false;
                if (is_written) {
                    stored.insert(slot);
                } else if (stored.count(slot) == 0) {
                    loaded.insert(slot);
                }
            }
        }
        return true;
    }

    // How many rows a chain prefetches: the longest one prefetches all, others none.
    size_t asked_by(const Draft& draft) const {
        const auto longest = std::max_element(
            drafts_.begin(), drafts_.end(),
            [](const Draft& one, const Draft& other) { return one.items.size() < other.items.size(); });
        return &draft == &*longest ? nest_.asked.size() : 0;
    }

    // Adds the links of a form, and spreads prefetches of rows over them.
    void add_links(std::vector<Link>& to, const Draft& draft, int form, Reach reach) const {
        const size_t count = draft.items.size(), rows = reach == Reach::near ? 0 : asked_by(draft);
        size_t done = 0;
        for (size_t i = 0; i < count; ++i) {
            for (; done < rows && done * count <= i * rows; ++done) {
                const auto& [row, size] = nest_.asked[done];
                to.push_back({table_.find("ask", draft.size, 0)->run[form], {row}});
            }
            Link link{link_of(draft.items[i], reach)->run[form], {}};
            for (size_t k = 0; k < most_operands; ++k) {
                const Place& place = draft.items[i].places[k];
                if (place.slot >= 0) link.operands[k] = uses_.operand(place).second;
            }
            to.push_back(link);
        }
        to.push_back({table_.find("end", 0, 0)->run[form], {}});
    }

    const NamedLink* link_of(const Item& item, Reach reach) const {
        const int32_t slot = item.places[0].slot;
        const bool streams = reach == Reach::farthest && item.op == "store" && uses_.is_access(slot) && nest_.accesses[slot].streams;
        return streams ? table_.find("stream", item.size, 0) : find(item);
    }

    // --- copies of values ------------------------------------------------------------------------

    void drop_fills() {
        std::vector<bool> read(static_cast<size_t>(nest_.blocks));
        const auto note = [&](int32_t slot) {
            const int32_t block = slot < 0 ? -1 : uses_.block_of(slot);
            if (block >= 0) read[block] = true;
        };
        uses_.each_code([&](Code& code) {
            for (const Step& step : code) uses_.each_read(step, note);
        });
        for (const Draft& draft : drafts_) {
            for (const Item& item : draft.items) {
                for (const Place& place : item.places) {
                    if (place.slot >= 0) note(uses_.operand(place).second.slot);
                }
            }
        }
        uses_.each_code([&](Code& code) {
            std::erase_if(code, [&](const Step& step) {
                return step.kind == Step::Kind::fill && !read[uses_.block_of(step.out.slot)];
            });
        });
    }

    Nest& nest_;
    const ChainTable& table_;
    Uses uses_;
    Draft draft_;
    std::vector<Draft> drafts_;
    size_t at_ = 0;
    int32_t held_ = -1;      // the block whose numbers are in registers
    bool is_dirty_ = false;  // memory does not have them
};

}  // namespace

void fuse(Nest& nest, const ChainTable& table) { Fuser(nest, table).run(); }

}  // namespace fieldforge::rows
