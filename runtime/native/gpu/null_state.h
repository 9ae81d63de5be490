// The state of the null driver: memory of the host, streams whose work is done when it is
// submitted, and vector clocks that tell whether two uses of memory are ordered.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>

#include "null.h"

namespace fieldforge::gpu::null {

// How much of the work of each stream is known to be done before what comes next.
class Clock {
   public:
    uint64_t of(int stream) const {
        return static_cast<size_t>(stream) < ticks_.size() ? ticks_[stream] : 0;
    }
    void merge(const Clock& other) {
        if (ticks_.size() < other.ticks_.size()) ticks_.resize(other.ticks_.size());
        for (size_t i = 0; i < other.ticks_.size(); ++i) {
            if (other.ticks_[i] > ticks_[i]) ticks_[i] = other.ticks_[i];
        }
    }
    void set(int stream, uint64_t tick) {
        if (ticks_.size() <= static_cast<size_t>(stream)) ticks_.resize(stream + 1);
        ticks_[stream] = tick;
    }

   private:
    std::vector<uint64_t> ticks_;
};

struct Use {
    int stream;
    uint64_t tick;
};
struct Uses {
    Use write{-1, 0};
    std::vector<Use> reads;
};

struct Pool {
    int device;
    uint64_t threshold = 0, used = 0, reserved = 0;
    uint64_t users = 0;  // other devices that were given access, by bits
};

struct GraphMemory;

enum class Kind { device, pool, pinned, managed };
enum class Guard { none, after, before };  // on which side a page is right beside the memory

struct Block {
    size_t size;
    Kind kind;
    int device;
    Pool* pool;
    bool live = true;
    const GraphMemory* graph = nullptr;  // of what a capture allocated
    Uses uses;
    Address mapping = 0;  // of guarded memory: all of its pages
    size_t mapped = 0;
};

struct Access {
    Address address;
    size_t size;
    bool writes;
};

struct Node {
    int type;  // as CUDA counts: 0 kernel, 1 copy, 2 fill, 3 work on the host, 10 alloc, 11 free
    std::vector<Access> accesses;
    std::function<Result(const Node&)> run;
    KernelNode kernel{};  // of kernels: its params point into `values`
    std::vector<std::vector<unsigned char>> values;
    std::vector<void*> params;
    std::string kinds;
    std::vector<uint16_t> sizes;
    ArgumentList list{};

    Node(int type, std::vector<Access> accesses, std::function<Result(const Node&)> run)
        : type(type), accesses(std::move(accesses)), run(std::move(run)) {}
};

// The blocks allocated while a graph was captured; they live as long as it and what it was made into.
struct GraphMemory {
    std::vector<Address> blocks;
    ~GraphMemory();
};

struct Graph {
    std::vector<std::shared_ptr<Node>> nodes;
    std::shared_ptr<GraphMemory> memory = std::make_shared<GraphMemory>();
};

struct Exec {
    std::vector<std::shared_ptr<Node>> nodes;      // its own, because they can be changed
    std::vector<std::shared_ptr<Node>> originals;  // of the graph, which name them
    std::shared_ptr<GraphMemory> memory;
};

struct Stream;
struct Capture {
    std::unique_ptr<Graph> graph = std::make_unique<Graph>();
    Stream* origin;
    int mode;
    std::thread::id thread;
    bool invalid = false;
    std::set<Stream*> streams;
    std::map<Address, Uses> uses;  // by block
};

struct Stream {
    int index;
    int device;
    bool blocking;
    int priority = 0;
    uint64_t ticks = 0;
    Clock clock;
    Capture* capture = nullptr;
};

struct Event {
    int device;
    bool timed;
    bool recorded = false;
    double time = 0;
    Clock clock;
    Capture* capture = nullptr;
};

struct Kernel {
    using Function = void (*)(const unsigned*, const unsigned*, unsigned, void**);
    Function function;
    std::string name;
    void (*place)(unsigned*) = nullptr;  // tells which thread of which block runs
};
struct Module {
    void* library;
    std::map<std::string, Kernel> kernels;
};

struct Device {
    size_t memory = default_memory, used = 0;
    Pool pool;
    Stream legacy;
};

struct State {
    State();
    std::recursive_mutex mutex;
    int devices = 2;
    bool counted = false;  // somebody knows how many there are
    Device device[most_devices];
    Clock host;
    std::map<Address, Block> blocks;
    std::deque<Address> quarantine;  // freed, and kept so that a use of them is noticed
    size_t quarantined = 0;
    Guard guard = Guard::none;  // of what is allocated from now on
    size_t guarded = 0;         // how many blocks have guards
    std::unordered_set<Stream*> streams;
    std::unordered_set<Event*> events;
    std::unordered_set<Module*> modules;
    std::unordered_set<Graph*> graphs;
    std::unordered_set<Exec*> execs;
    std::unordered_set<Pool*> pools;
    std::set<Capture*> captures;
    int next_stream = most_devices;
    bool recording = false;
    std::vector<CallRecord> calls;
    std::vector<std::string> problems;
    Result injected[static_cast<int>(Entry::count)] = {};
    int pending = 0;  // how many are injected
};

State& state();
int& current();  // the device of this thread, -1 where none was set

// Held for the length of an entry; `result` is not 0 where a test asked that the call fails.
struct Call {
    Call(Entry entry, uintptr_t object);
    std::lock_guard<std::recursive_mutex> lock;
    Result result = success;
};
#define NULL_ENTER(member, object)                                                 \
    const Call call_(Entry::member, reinterpret_cast<uintptr_t>((void*)(object))); \
    if (call_.result != success) return call_.result;                              \
    State& s = state();                                                            \
    static_cast<void>(s)

Result problem(std::string text, Result code);
Stream* stream_of(Handle handle);  // null if there is no such stream
Result submit(Stream* stream, std::shared_ptr<Node> node);
Result replay(Stream* stream, const std::vector<std::shared_ptr<Node>>& nodes);
// Ends with an error where this thread captures in a mode that forbids what it does.
Result forbid_in_capture();
Block* find_block(Address address, Address* start = nullptr);
void release_memory(Address start, Block& block);
void order_streams(Stream* stream);  // with the legacy stream of the device and with the host

constexpr Result launch_failed = 719;
void report(const char* text);          // what a kernel tells of itself
Result run_kernel(const Node& node);    // with an eye on guards
const Block* guarded_block(Address address, Address* start = nullptr);
Address map_guarded(size_t size, Guard guard, Block& block);
void close_guarded(Address start, const Block& block);
void unmap_guarded(const Block& block);

void point_to_values(Node& node);  // of a kernel, after it was made or copied
void fill_memory(Driver& driver);
void fill_streams(Driver& driver);
void fill_modules(Driver& driver);
void fill_graphs(Driver& driver);

}  // namespace fieldforge::gpu::null
