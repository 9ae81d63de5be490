// Modules of the null driver: shared libraries whose functions run a whole grid on the host.
#include <dlfcn.h>

#include <cstring>
#include <memory>

#include "null_state.h"

namespace fieldforge::gpu::null {
namespace {

// `image` is the path of a shared library, because what is loaded must be a verified file.
Result module_load(Handle* module, const void* image) {
    NULL_ENTER(module_load, nullptr);
    void* library = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = dlerror();
        return problem(why == nullptr ? "The library cannot be loaded." : why, invalid_image);
    }
    // Libraries whose kernels check themselves have a variable for what they tell.
    if (void* told = dlsym(library, "fieldforge_report"); told != nullptr) {
        *static_cast<void (**)(const char*)>(told) = report;
    }
    auto* made = new Module{library, {}};
    s.modules.insert(made);
    return *module = made, success;
}

Result module_unload(Handle handle) {
    NULL_ENTER(module_unload, handle);
    auto* module = static_cast<Module*>(handle);
    if (s.modules.erase(module) == 0) return problem("A module was unloaded twice.", invalid_handle);
    dlclose(module->library);
    delete module;
    return success;
}

Result module_function(Handle* function, Handle handle, const char* name) {
    NULL_ENTER(module_function, handle);
    auto* module = static_cast<Module*>(handle);
    void* found = dlsym(module->library, name);
    if (found == nullptr) {
        return problem(std::string("The module has no kernel '") + name + "'.", not_found);
    }
    auto& kernel = module->kernels[name];
    void* place = dlsym(module->library, "fieldforge_place");
    kernel = {reinterpret_cast<Kernel::Function>(found), name,
              reinterpret_cast<void (*)(unsigned*)>(place)};
    return *function = &kernel, success;
}

Result module_global(Address* address, size_t* size, Handle handle, const char* name) {
    NULL_ENTER(module_global, handle);
    void* found = dlsym(static_cast<Module*>(handle)->library, name);
    if (found == nullptr) return not_found;
    *address = reinterpret_cast<Address>(found);
    if (size != nullptr) *size = 0;  // the loader does not say
    return success;
}

Result kernel_attribute(int* value, int attribute, Handle) {
    return *value = attribute == 0 ? 1024 : 0, success;
}
Result kernel_set(Handle function, int, int) {
    NULL_ENTER(kernel_set, function);
    return success;
}
Result occupancy(int* blocks, Handle, int threads, size_t) {
    return *blocks = threads > 0 ? 2048 / threads : 0, success;
}

std::shared_ptr<Node> make_node(const ArgumentList& list, void** params) {
    auto node = std::make_shared<Node>(0, std::vector<Access>{}, run_kernel);
    node->kinds.assign(list.kinds, list.count);
    for (unsigned i = 0; i < list.count; ++i) {
        const auto* value = static_cast<const unsigned char*>(params[i]);
        node->values.emplace_back(value, value + list.sizes[i]);
        if (list.kinds[i] != 'P' && list.kinds[i] != 'R') continue;
        Address address = 0;
        std::memcpy(&address, value, sizeof address);
        if (address != 0) node->accesses.push_back({address, 1, list.kinds[i] == 'P'});
    }
    node->sizes.assign(list.sizes, list.sizes + list.count);
    return node;
}

bool is_possible(const unsigned (&grid)[3], const unsigned (&block)[3]) {
    for (int i = 0; i < 3; ++i) {
        if (grid[i] == 0 || block[i] == 0) return false;
    }
    return uint64_t{block[0]} * block[1] * block[2] <= 1024 && grid[1] < 65536 && grid[2] < 65536;
}

Result launch(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
              unsigned bz, unsigned shared, Handle stream, void** params, void** extra) {
    NULL_ENTER(launch, stream);
    const KernelNode kernel{function, {gx, gy, gz}, {bx, by, bz}, shared,
                            nullptr,  nullptr,      nullptr,      nullptr};
    if (!is_possible(kernel.grid, kernel.block)) {
        return problem("A grid or block has no extent, or more than a device allows.",
                       invalid_value);
    }
    auto node = make_node(*reinterpret_cast<const ArgumentList*>(extra), params);
    node->kernel = kernel;
    point_to_values(*node);
    return submit(stream_of(stream), std::move(node));
}

}  // namespace

void point_to_values(Node& node) {
    node.params.clear();
    for (auto& value : node.values) node.params.push_back(value.data());
    node.list = {static_cast<unsigned>(node.values.size()), node.sizes.data(), node.kinds.data()};
    node.kernel.params = node.params.data();
    node.kernel.extra = reinterpret_cast<void**>(&node.list);
}

void fill_modules(Driver& driver) {
    driver.module_load = module_load;
    driver.module_unload = module_unload;
    driver.module_function = module_function;
    driver.module_global = module_global;
    driver.kernel_attribute = kernel_attribute;
    driver.kernel_set = kernel_set;
    driver.occupancy = occupancy;
    driver.launch = launch;
}

}  // namespace fieldforge::gpu::null
