#include "linking.h"

#include <set>

#include "joining.h"

namespace fieldforge::rows {
namespace {

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

class Linker {
   public:
    Linker(const Nest& nest, const Uses& uses, const ChainTable& table, const Steps& steps, const std::vector<int32_t>& asked)
        : nest_(nest), uses_(uses), table_(table), steps_(steps), asked_(asked) {}

    void run(Chain& chain) {
        const Code& code = steps_.code;
        for (at_ = 0; at_ < code.size(); ++at_) code[at_].kind == Step::Kind::load ? add_load(code[at_]) : add(code[at_]);
        keep(at_ - 1);
        chain.may_repeat = may_repeat();
        for (int reach = 0; reach < reach_count; ++reach) {
            for (int form = 0; form < form_count; ++form) {
                chain.starts[reach][form] = static_cast<int32_t>(chain.links.size());
                add_links(chain.links, form, static_cast<Reach>(reach));
            }
        }
    }

   private:
    // --- items ----------------------------------------------------------------------------------

    const NamedLink* find(const Item& item) const {
        int ones = 0;
        for (int i = 0; i < most_operands; ++i) {
            const Place& place = item.places[static_cast<size_t>(i)];
            if (place.slot >= 0 && uses_.operand(place).first) ones |= 1 << i;
        }
        return table_.find(item.op, item.size, ones);
    }

    bool is_needed(size_t after, int32_t slot) const { return steps_.is_needed(uses_, after, slot); }

    void link(std::string op, const Place& x = {}, const Place& y = {}) {
        items_.push_back({std::move(op), steps_.size, {x, y}, at_});
        join(items_, {[this](const Item& item) { return find(item) != nullptr; },
                      [this](int32_t slot, size_t at) {
                          if (uses_.is_access(slot) || uses_.block_of(slot) < 0) return false;
                          return steps_.code[at].out.slot == slot || !is_needed(at, slot);
                      }});
    }

    void keep(size_t after) {
        if (held_ >= 0 && is_dirty_ && is_needed(after, held_)) put();
    }
    void put() {
        link("store", {held_});
        is_dirty_ = false;
    }

    // Brings an operand to the registers.
    void take(const Place& place) {
        if (place.slot == held_) return;
        keep(at_ - 1);  // the step may read what is in registers as its other operand
        link("load", place);
        held_ = uses_.block_of(place.slot) >= 0 && !uses_.is_access(place.slot) ? place.slot : -1;
        is_dirty_ = false;
    }

    void add(const Step& step) {
        const Shape shape = shape_of(step);
        std::array<Place, 3> args{step.a, step.b, step.c};
        const bool is_select = shape.op == "select";
        const Place condition = is_select ? args[0] : Place{};
        if (is_select) args = {args[1], args[2], Place{}};
        const int count = 1 + (args[1].slot >= 0) + (args[2].slot >= 0);
        int at = -1, uses = 0;
        for (int i = 0; i < count; ++i) {
            if (held_ >= 0 && args[i].slot == held_ && !uses_.operand(args[i]).first) at = i, ++uses;
        }
        if (at < 0) {
            take(args[0]);
            at = 0;
        } else if (is_dirty_ && (uses > 1 || is_needed(at_, held_))) {
            put();
        }
        compute(shape, step, args, count, at, condition);
    }

    // Adds a load that a condition for all lanes decides.
    void add_load(const Step& step) {
        keep(at_ - 1);
        link("when", {step.access}, step.b);
        held_ = step.out.slot, is_dirty_ = true;
    }

    void compute(const Shape& shape, const Step& step, const std::array<Place, 3>& args, int count, int at,
                 const Place& condition) {
        const bool is_row = uses_.is_access(step.out.slot);
        if (shape.op == "copy") return link("store", step.out);
        if (condition.slot >= 0) {
            link(at == 0 ? "select_first" : "select_second", condition, args[1 - at]);
        } else if (is_comparison(shape)) {
            return link(at == 0 ? std::string(shape.op) : second_in_registers(shape.op), args[1 - at], step.out);
        } else if (count == 3) {
            const std::string name = fma_names[step.minus];
            if (at == 2) {
                link(name + "_summand", args[0], args[1]);
            } else {
                link(name + "_factor", args[1 - at], args[2]);
            }
        } else if (count == 2) {
            link(at == 0 ? std::string(shape.op) : second_in_registers(shape.op), args[1 - at]);
        } else {
            link(std::string(shape.op));
        }
        if (is_row) link("store", step.out);
        held_ = is_row ? -1 : step.out.slot, is_dirty_ = !is_row;
    }

    // --- links ----------------------------------------------------------------------------------

    // A chain that changes a block that it has read must not compute lanes twice.
    bool may_repeat() const {
        std::set<int32_t> loaded, stored;
        for (const Item& item : items_) {
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

    // Adds the links of a form, and spreads prefetches of rows over them.
    void add_links(std::vector<Link>& to, int form, Reach reach) const {
        const size_t count = items_.size(), rows = reach == Reach::near ? 0 : asked_.size();
        size_t done = 0;
        for (size_t i = 0; i < count; ++i) {
            for (; done < rows && done * count <= i * rows; ++done) {
                to.push_back({table_.find("ask", steps_.size, 0)->run[form], {{asked_[done], 0}}});
            }
            Link link{link_of(items_[i], reach)->run[form], {}};
            for (size_t k = 0; k < most_operands; ++k) {
                const Place& place = items_[i].places[k];
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

    const Nest& nest_;
    const Uses& uses_;
    const ChainTable& table_;
    const Steps& steps_;
    const std::vector<int32_t>& asked_;
    std::vector<Item> items_;
    size_t at_ = 0;
    int32_t held_ = -1;      // the block whose numbers are in registers
    bool is_dirty_ = false;  // memory does not have them
};

}  // namespace

void link_steps(Chain& chain, const Nest& nest, const Uses& uses, const ChainTable& table, const Steps& steps,
                const std::vector<int32_t>& asked) {
    Linker(nest, uses, table, steps, asked).run(chain);
}

}  // namespace fieldforge::rows
