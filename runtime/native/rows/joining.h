// The links of a chain by name, and the rules that join some of them to one.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "program.h"

namespace fieldforge::rows {

// A link that is not looked up yet: its operation, the bytes of its numbers, and where operands lie.
struct Item {
    std::string op;
    int size = 0;
    std::array<Place, most_operands> places{};
    size_t at = 0;  // the step of the code that it belongs to

    int count() const;  // of its operands
};

struct Knowledge {
    std::function<bool(const Item&)> exists;        // whether there is a link that does this
    std::function<bool(int32_t, size_t)> is_dead;   // whether nothing reads a block after a step
};

// Joins the last items for as long as some rule fits. They do the same as before, but for stores to
// blocks that nothing else reads.
void join(std::vector<Item>& items, const Knowledge& known);

}  // namespace fieldforge::rows
