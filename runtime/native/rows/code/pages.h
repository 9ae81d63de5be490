// Memory that the processor may execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fieldforge::rows {

class Pages {
   public:
    // Null where the system refuses such memory.
    static std::unique_ptr<Pages> with(const std::vector<uint8_t>& code);
    // Whether this process may have such memory.
    static bool are_allowed();

    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages();
    const uint8_t* data() const { return data_; }

   private:
    Pages(uint8_t* data, size_t size) : data_(data), size_(size) {}

    uint8_t* data_;
    size_t size_;
};

}  // namespace fieldforge::rows
