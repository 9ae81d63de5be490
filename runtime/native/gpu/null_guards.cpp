// Pages that no one may touch around the memory of the null driver, and kernels that touch them.
#include <csetjmp>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "null_state.h"

namespace fieldforge::gpu::null {
namespace {

constexpr size_t alignment = 16;  // what wide loads need; a device aligns to 256
constexpr unsigned char untouched = 0xa5;

size_t page() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

// What the kernel that runs on this thread has told of itself; empty while nothing is wrong.
thread_local std::string reported;

struct Fault {
    sigjmp_buf back;
    Address address = 0;
    bool writes = false;
};
thread_local Fault* expected = nullptr;
struct sigaction before[2];

bool is_write(const void* context) {
#if defined(__x86_64__)
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    static_cast<void>(context);
    return false;
#endif
}

// The thread of a kernel holds the mutex of the state, so that the blocks do not change.
void on_fault(int number, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<Address>(info->si_addr);
    if (expected != nullptr && guarded_block(address) != nullptr) {
        expected->address = address;
        expected->writes = is_write(context);
        siglongjmp(expected->back, 1);
    }
    sigaction(number, &before[number == SIGBUS], nullptr);  // the fault comes again
}

struct Watch {
    Watch() {
        struct sigaction mine{};
        mine.sa_sigaction = on_fault;
        mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&mine.sa_mask);
        sigaction(SIGSEGV, &mine, &before[0]);
        sigaction(SIGBUS, &mine, &before[1]);
    }
    ~Watch() {
        sigaction(SIGSEGV, &before[0], nullptr);
        sigaction(SIGBUS, &before[1], nullptr);
        expected = nullptr;
    }
};

std::string described(const Fault& fault) {
    Address start = 0;
    const Block& block = *guarded_block(fault.address, &start);
    const bool is_before = fault.address < start;
    const size_t far = is_before ? start - fault.address : fault.address - start - block.size;
    std::string text = fault.writes ? "It writes " : "It reads ";
    if (!block.live) return text + "memory that was freed, of " + std::to_string(block.size) + " bytes.";
    text += std::to_string(far) + (is_before ? " bytes before the start of" : " bytes behind the end of");
    return text + " an allocation of " + std::to_string(block.size) + " bytes.";
}

void call(const Kernel& kernel, const Node& node) {
    const KernelNode& launch = node.kernel;
    kernel.function(launch.grid, launch.block, launch.shared, const_cast<void**>(node.params.data()));
}

}  // namespace

void report(const char* text) { reported = text; }

// The memory of a block whose pages, or those beside it, an address lies in.
const Block* guarded_block(Address address, Address* start) {
    const State& s = state();
    auto next = s.blocks.upper_bound(address + page());
    while (next != s.blocks.begin()) {
        --next;
        const Block& block = next->second;
        if (address < block.mapping || address >= block.mapping + block.mapped) continue;
        if (start != nullptr) *start = next->first;
        return &block;
    }
    return nullptr;
}

Address map_guarded(size_t size, Guard guard, Block& block) {
    const size_t inner = (size + page() - 1) / page() * page();
    void* mapped = mmap(nullptr, inner + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 0;
    auto* first = static_cast<char*>(mapped) + page();
    mprotect(first, inner, PROT_READ | PROT_WRITE);
    std::memset(first, untouched, inner);
    block.mapping = reinterpret_cast<Address>(mapped);
    block.mapped = inner + 2 * page();
    const size_t taken = (size + alignment - 1) / alignment * alignment;
    return reinterpret_cast<Address>(guard == Guard::before ? first : first + inner - taken);
}

// Bytes between the memory and its pages must be as they were; then no one may touch any of it.
void close_guarded(Address start, const Block& block) {
    const Address inner = block.mapping + page(), end = block.mapping + block.mapped - page();
    bool same = true;
    for (Address at = inner; at < start; ++at) same &= *reinterpret_cast<unsigned char*>(at) == untouched;
    for (Address at = start + block.size; at < end; ++at) {
        same &= *reinterpret_cast<unsigned char*>(at) == untouched;
    }
    if (!same) {
        problem("Something was written beside an allocation of " + std::to_string(block.size) + " bytes.",
                success);
    }
    mprotect(reinterpret_cast<void*>(block.mapping), block.mapped, PROT_NONE);
}

void unmap_guarded(const Block& block) { munmap(reinterpret_cast<void*>(block.mapping), block.mapped); }

Result run_kernel(const Node& node) {
    const Kernel& kernel = *static_cast<Kernel*>(node.kernel.function);
    reported.clear();
    Result code = launch_failed;
    if (state().guarded == 0) {
        call(kernel, node);
    } else {
        const Watch watch;
        Fault fault;
        if (sigsetjmp(fault.back, 1) == 0) {
            expected = &fault;
            call(kernel, node);
        } else {
            expected = nullptr;
            reported = described(fault);
            if (kernel.place != nullptr) {
                unsigned at[6];
                kernel.place(at);
                char text[128];
                snprintf(text, sizeof text, " Thread (%u, %u, %u) of block (%u, %u, %u) does.", at[0],
                         at[1], at[2], at[3], at[4], at[5]);
                reported += text;
            }
            code = illegal_address;
        }
    }
    if (reported.empty()) return success;
    return problem("Kernel '" + kernel.name + "': " + reported, code);
}

}  // namespace fieldforge::gpu::null
