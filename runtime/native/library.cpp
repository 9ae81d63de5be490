// `Library(path)`: dlopen at construction, dlclose with the last reference.
#include "library.h"

#include <dlfcn.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "interpreter_lock.h"

namespace nb = nanobind;

namespace fieldforge {
namespace {

constexpr const char* runtimes[] = {"libgomp.so.1", "libomp.so", "libomp.so.5", "libiomp5.so",
                                    "libomp.dylib"};

// Code of ours has no threads of its own. What DaCe writes, and what users load, may use OpenMP, whose
// threads sleep inside its code. If generated code is the only user of the
// runtime, closing a library would unmap the code under them, so the runtime is pinned.
bool pin_openmp() {
    bool is_loaded = false;
    for (const char* name : runtimes) {
        is_loaded |= dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
    }
    return is_loaded;
}

// Waiting threads of OpenMP spin for milliseconds by default. On busy cores they take the time of
// the threads they wait for, so a call of 5 us takes 100 and more. A runtime reads its policy from
// the environment once, when it is loaded or first used. So the environment asks for threads that
// sleep while the first library loads the runtime, unless the user has named a policy.
//
// A runtime that another component has loaded before keeps its policy.
class WaitPolicy {
   public:
    WaitPolicy() : lock_(mutex) {
        if (is_decided) return;
        is_decided = pin_openmp();
        for (const char* name : chosen) is_decided |= std::getenv(name) != nullptr;
        if (is_decided) return;
        is_set_ = setenv(chosen[0], "passive", 0) == 0;
    }
    // Lets the runtime read its environment now; libomp would do so at the first region.
    void apply(void* library) {
        if (!is_set_) return;
        auto* count = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
        if (count == nullptr) return;
        count();
        is_decided = true;
    }
    ~WaitPolicy() {
        if (is_set_) unsetenv(chosen[0]);
    }
    WaitPolicy(const WaitPolicy&) = delete;
    WaitPolicy& operator=(const WaitPolicy&) = delete;

   private:
    static constexpr const char* chosen[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME",
                                             "KMP_LIBRARY"};
    static inline std::mutex mutex;
    static inline bool is_decided = false;
    std::lock_guard<std::mutex> lock_;
    bool is_set_ = false;
};

class Library {
   public:
    Library(const std::string& path, bool uses_openmp) : path_(path) {
        const LockReleased released;  // loading runs the library's own initialisers
        if (!uses_openmp) {
            open();
            return;
        }
        WaitPolicy policy;
        open();
        policy.apply(handle_);
        pin_openmp();
    }
    ~Library() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    std::optional<uint64_t> symbol(const std::string& name) const {
        void* address = dlsym(handle_, name.c_str());
        if (address == nullptr) return std::nullopt;
        return reinterpret_cast<uintptr_t>(address);
    }
    const std::string& path() const { return path_; }

   private:
    void open() {
        handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) {
            const char* why = dlerror();
            throw std::runtime_error(why == nullptr ? path_ : why);
        }
    }

    std::string path_;
    void* handle_ = nullptr;
};

}  // namespace

void add_library(nb::module_& module) {
    nb::class_<Library>(module, "Library", "A loaded shared library: Library(path).")
        .def(nb::init<const std::string&, bool>(), nb::arg("path"), nb::arg("uses_openmp") = true)
        .def("symbol", &Library::symbol, nb::arg("name"), "Address of a symbol, or None.")
        .def_prop_ro("path", &Library::path, "Where it was loaded from.");
}

}  // namespace fieldforge
