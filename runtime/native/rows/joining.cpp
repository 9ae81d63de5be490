#include "joining.h"

#include <string_view>

namespace fieldforge::rows {
namespace {

using Items = std::vector<Item>;

bool ends_with(const std::string& op, std::string_view end) {
    return op.size() > end.size() && op.compare(op.size() - end.size(), end.size(), end) == 0;
}

bool is_comparison(const Item& item) { return item.op.size() == 2; }

// What the operation of one operand is called if it swaps that with the numbers in registers.
struct Swapped {
    const char *op, *of;
};
constexpr Swapped swapped[] = {{"sub", "sub_from"}, {"div", "div_of"}, {"minimum", "minimum_of"}, {"maximum", "maximum_of"}};

// `op` with its operands in order, and whether the numbers in registers are the second of them.
std::pair<std::string, bool> in_order(const std::string& op) {
    for (const Swapped& each : swapped) {
        if (op == each.of) return {each.op, true};
    }
    return {op, false};
}

std::string other_order(const std::string& op) {
    for (const Swapped& each : swapped) {
        if (op == each.of) return each.op;
        if (op == each.op) return each.of;
    }
    return op;
}

class Joiner {
   public:
    Joiner(Items& items, const Knowledge& known) : items_(items), known_(known) {}

    bool join_once() { return load() || products() || pair() || sum_of_products() || product_when() || choice(); }

   private:
    Item& last(size_t number) { return items_[items_.size() - 1 - number]; }
    bool are_at_end(std::initializer_list<std::string_view> ops) {
        if (items_.size() < ops.size()) return false;
        size_t at = items_.size() - ops.size();
        for (const std::string_view op : ops) {
            if (!op.empty() && items_[at].op != op) return false;
            ++at;
        }
        return true;
    }

    // Replaces the last items if there is a link for the one that takes their place.
    bool replace(size_t count, Item made) {
        made.size = last(0).size, made.at = last(0).at;
        if (!known_.exists(made)) return false;
        items_.resize(items_.size() - count);
        items_.push_back(std::move(made));
        return true;
    }

    // Whether a store to the only operand of the last item, `before` items before it, is for it alone.
    bool is_only_for_last(size_t before) {
        const Item &store = last(before), &user = last(0);
        const int32_t block = store.places[0].slot;
        if (store.op != "store" || store.size != user.size || user.places[0].slot != block) return false;
        for (size_t i = 1; i < before; ++i) {
            for (const Place& each : last(i).places) {
                if (each.slot == block) return false;
            }
        }
        return known_.is_dead(block, user.at);
    }

    // A load and an operation.
    bool load() {
        if (!are_at_end({"load", ""}) || last(1).size != last(0).size) return false;
        const Place x = last(1).places[0];
        const auto& [y, z, _, __] = last(0).places;
        const std::string& op = last(0).op;
        if (ends_with(op, "_factor")) return replace(2, {op.substr(0, op.size() - 7), 0, {x, y, z}});
        if (ends_with(op, "_summand")) return replace(2, {op.substr(0, op.size() - 8), 0, {y, z, x}});
        const auto [name, is_second] = in_order(op);
        return replace(2, {"fresh_" + name, 0, is_second ? std::array<Place, 4>{y, x} : std::array<Place, 4>{x, y}});
    }

    bool products() {
        if (!are_at_end({"fresh_mul", "fma_summand"})) return false;
        const auto &x = last(1).places, &z = last(0).places;
        return replace(2, {"dot", 0, {x[0], x[1], z[0], z[1]}});
    }

    // A number that waits in a block while an operation on two others is done.
    bool pair() {
        if (items_.size() < 3 || last(1).op.rfind("fresh_", 0) != 0 || last(0).count() != 1) return false;
        if (!is_only_for_last(2)) return false;
        return replace(3, {other_order(last(0).op) + "+" + last(1).op.substr(6), 0, last(1).places});
    }

    bool sum_of_products() {
        if (!are_at_end({"store", "dot", "add"}) || !is_only_for_last(2)) return false;
        return replace(3, {"add+dot", 0, last(1).places});
    }

    bool product_when() {
        if (!are_at_end({"store", "fresh_mul", "select_first", "add"}) || !is_only_for_last(3)) return false;
        const auto &x = last(2).places, &when = last(1).places;
        return replace(4, {"add_product_when", 0, {x[0], x[1], when[0], when[1]}});
    }

    // A comparison whose condition chooses between two numbers of memory.
    bool choice() {
        const bool is_first = last(0).op == "select_first";
        if (!is_first && last(0).op != "select_second") return false;
        const size_t between = items_.size() > 3 && last(2).op == "store" ? 1 : 0;
        if (items_.size() < 3 + between || last(1).op != "load") return false;
        const Item compared = last(2 + between);
        const int32_t condition = last(0).places[0].slot;
        if (!is_comparison(compared) || compared.places[1].slot != condition) return false;
        if (!known_.is_dead(condition, last(0).at) || compared.size != last(0).size) return false;
        const Place x = compared.places[0], u = last(1).places[0], v = last(0).places[1];
        if (between == 1 && (last(2).places[0].slot == x.slot)) return false;
        const Item store = last(2);
        if (!replace(3 + between, {"choose_" + compared.op, 0, {x, is_first ? u : v, is_first ? v : u}})) return false;
        if (between == 1) items_.insert(items_.end() - 1, store);
        return true;
    }

    Items& items_;
    const Knowledge& known_;
};

}  // namespace

int Item::count() const {
    int found = 0;
    for (const Place& each : places) found += each.slot >= 0;
    return found;
}

void join(Items& items, const Knowledge& known) {
    while (Joiner(items, known).join_once()) {
    }
}

}  // namespace fieldforge::rows
