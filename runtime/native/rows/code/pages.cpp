#include "pages.h"

#include <sys/mman.h>

#include <cstring>

namespace fieldforge::rows {

std::unique_ptr<Pages> Pages::with(const std::vector<uint8_t>& code) {
    void* const found = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    std::unique_ptr<Pages> made(new Pages(static_cast<uint8_t*>(found), code.size()));
    std::memcpy(found, code.data(), code.size());
    // never writable and executable at once
    return mprotect(found, code.size(), PROT_READ | PROT_EXEC) == 0 ? std::move(made) : nullptr;
}

bool Pages::are_allowed() {
    static const bool allowed = with({0xc3}) != nullptr;
    return allowed;
}

Pages::~Pages() { munmap(data_, size_); }

}  // namespace fieldforge::rows
