#include "rows.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../execution.h"
#include "walk.h"

namespace nb = nanobind;

namespace fieldforge::rows {
namespace {

const KernelTable& table_named(const std::optional<std::string>& name) {
    size_t count = 0;
    const KernelTable* const* tables = kernel_tables(count);
    for (size_t i = 0; i < count; ++i) {
        if (!name || tables[i]->name == *name) return *tables[i];
    }
    throw std::invalid_argument("This processor has no kernels '" + *name + "'.");
}

class Rows {
   public:
    Rows(nb::handle encoded, const std::optional<std::string>& kernels)
        : table_(table_named(kernels)),
          program_(std::make_shared<const Program>(read_program(encoded.ptr(), table_))) {}

    const std::shared_ptr<const Program>& program() const { return program_; }
    std::string kernels() const { return table_.name; }

   private:
    const KernelTable& table_;
    std::shared_ptr<const Program> program_;
};

class RowWork final : public Work {
   public:
    explicit RowWork(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    int32_t run(const Words& words, std::byte* arena, const Context& context) noexcept override {
        run_program(*program_, words.pointers, words.ints, words.scalars,
                    reinterpret_cast<char*>(arena), context);
        return 0;
    }

   private:
    const std::shared_ptr<const Program> program_;
};

// For tests: runs one kernel on memory at addresses, where 0 stands for no operand.
void run_kernel(const std::string& name, const std::string& kernels, uintptr_t out,
                const std::vector<uintptr_t>& operands, int64_t count) {
    const NamedKernel* const kernel = table_named(kernels).find(name);
    if (kernel == nullptr) throw std::invalid_argument("There is no instruction '" + name + "'.");
    const auto operand = [&](size_t i) {
        return reinterpret_cast<const void*>(i < operands.size() ? operands[i] : 0);
    };
    kernel->run(reinterpret_cast<void*>(out), operand(0), operand(1), operand(2), count);
}

std::vector<std::string> instructions() {
    std::vector<std::string> names;
    const KernelTable& table = table_named({});
    for (size_t i = 0; i < table.count; ++i) names.emplace_back(table.kernels[i].name);
    return names;
}

std::vector<std::string> kernel_classes() {
    std::vector<std::string> names;
    size_t count = 0;
    const KernelTable* const* tables = kernel_tables(count);
    for (size_t i = 0; i < count; ++i) names.emplace_back(tables[i]->name);
    return names;
}

}  // namespace

std::unique_ptr<Work> make_work(PyObject* given) {
    Rows* rows = nullptr;
    if (!nb::try_cast(nb::handle(given), rows) || rows == nullptr) return nullptr;
    return std::make_unique<RowWork>(rows->program());
}

void add_rows(nb::module_& module) {
    nb::class_<Rows>(module, "Rows",
                     "An encoded program and the kernels that run it: Rows(encoded, kernels=None).")
        .def(nb::init<nb::handle, const std::optional<std::string>&>(), nb::arg("encoded"),
             nb::arg("kernels").none() = nb::none())
        .def_prop_ro("kernels", &Rows::kernels, "The class of processors that its kernels are for.");
    module.def("row_instructions", &instructions, "The names of all kernels.");
    module.def("row_kernel_classes", &kernel_classes,
               "The classes of kernels that this processor can run, the fastest first.");
    module.def("run_row_kernel", &run_kernel, nb::arg("name"), nb::arg("kernels"), nb::arg("out"),
               nb::arg("operands"), nb::arg("count"));
}

}  // namespace fieldforge::rows
