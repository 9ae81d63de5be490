// Which registers hold the values of a chain while its instructions are written.
#pragma once

#include <algorithm>
#include <vector>

namespace fieldforge::rows {

// Registers in groups: one group for the lanes of a value in an unrolled loop.
class Groups {
   public:
    Groups(int first, int count, int each) : first_(first), each_(each), taken_(static_cast<size_t>(count / each), -1) {}

    int register_of(int group, int copy) const { return first_ + group * each_ + copy; }
    // A free group, or -1.
    int take(int value) {
        const auto free = std::find(taken_.begin(), taken_.end(), -1);
        if (free == taken_.end()) return -1;
        *free = value;
        return static_cast<int>(free - taken_.begin());
    }
    void assign(int group, int value) { taken_[static_cast<size_t>(group)] = value; }
    void give_back(int group) { taken_[static_cast<size_t>(group)] = -1; }
    // The values in groups.
    const std::vector<int>& values() const { return taken_; }

   private:
    int first_, each_;
    std::vector<int> taken_;
};

}  // namespace fieldforge::rows
