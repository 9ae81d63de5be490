// `Library(path)`: dlopen at construction, dlclose with the last reference.
#include "library.h"

#include <dlfcn.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace fieldforge {
namespace {

// The threads of an OpenMP runtime sleep inside its code. If ours is the only library that
// uses it, closing ours would unmap the code under them, so the runtime is pinned.
void pin_openmp() {
    constexpr const char* runtimes[] = {"libgomp.so.1", "libomp.so", "libomp.so.5", "libiomp5.so",
                                        "libomp.dylib"};
    for (const char* name : runtimes) dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

class Library {
   public:
    explicit Library(const std::string& path) : path_(path) {
        nb::gil_scoped_release release;  // loading runs the library's own initialisers
        handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) {
            const char* why = dlerror();
            throw std::runtime_error(why == nullptr ? path : why);
        }
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
    std::string path_;
    void* handle_ = nullptr;
};

}  // namespace

void add_library(nb::module_& module) {
    nb::class_<Library>(module, "Library", "A loaded shared library: Library(path).")
        .def(nb::init<const std::string&>(), nb::arg("path"))
        .def("symbol", &Library::symbol, nb::arg("name"), "Address of a symbol, or None.")
        .def_prop_ro("path", &Library::path, "Where it was loaded from.");
}

}  // namespace fieldforge
