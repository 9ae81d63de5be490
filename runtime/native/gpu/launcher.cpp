// `Launcher` and `BoundCall`: a kernel with its argument types known, called through vectorcall.
#include <Python.h>

#include <structmember.h>

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "guarded.h"
#include "launch_values.h"

namespace fieldforge::gpu {
namespace {

PyTypeObject *launcher_type, *bound_type;
PyObject *name_stream, *name_grid, *name_block;

// Set by one call at a time; the interpreter's lock keeps threads apart where there is one.
class Flag {
   public:
#ifdef Py_GIL_DISABLED
    bool set() { return is_set_.exchange(true, std::memory_order_acquire); }
    void clear() { is_set_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> is_set_{false};
#else
    bool set() { return std::exchange(is_set_, true); }
    void clear() { is_set_ = false; }

   private:
    bool is_set_ = false;
#endif
};

struct Launcher {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    std::shared_ptr<PreparedLaunch>* plan;
    LaunchValues* values;  // of the call in flight
    Flag* busy;
    PyObject* weak_references;
};

// The values of a launcher for one call, or values of its own: arrays of other libraries run Python
// code while they are read, and so another thread may call the same launcher.
class Loan {
   public:
    explicit Loan(Launcher* self) : busy_(self->busy->set() ? nullptr : self->busy) {
        if (busy_ == nullptr) own_ = std::make_unique<LaunchValues>(**self->plan);
        values_ = busy_ == nullptr ? own_.get() : self->values;
    }
    ~Loan() {
        if (busy_ != nullptr) busy_->clear();
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    LaunchValues& values() const { return *values_; }

   private:
    Flag* busy_;  // null if somebody else has the launcher's values
    std::unique_ptr<LaunchValues> own_;
    LaunchValues* values_;
};

struct BoundCall {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    std::shared_ptr<PreparedLaunch>* plan;
    LaunchValues* values;
    PyObject* held;  // the arguments
    StreamRef* stream;  // null: the current one
    PyObject* weak_references;
};

void launch(const PreparedLaunch& plan, LaunchValues& values, const Dim3& grid, const Dim3& block,
            const StreamRef& stream) {
    const Kernel& kernel = *plan.kernel;
    Device& device = *kernel.device;
    const Driver& driver = *device.driver;
    const Guard guard(device);
    const auto [gx, gy, gz] = grid.of;
    const auto [bx, by, bz] = block.of;
    Result result;
    Entry entry = Entry::launch;
    if (plan.cooperative) {
        entry = Entry::launch_cooperative;
        result = driver.launch_cooperative(kernel.function, gx, gy, gz, bx, by, bz, plan.shared,
                                           stream->ptr, values.params.data());
    } else {
        const ArgumentList list{static_cast<unsigned>(plan.sizes.size()), plan.sizes.data(),
                                plan.kinds.data()};
        void** extra = driver.vendor == Vendor::null
                           ? reinterpret_cast<void**>(const_cast<ArgumentList*>(&list))
                           : nullptr;
        result = driver.launch(kernel.function, gx, gy, gz, bx, by, bz, plan.shared, stream->ptr,
                               values.params.data(), extra);
    }
    if (result != success) [[unlikely]] fail(device, result, entry, "kernel '" + kernel.name + "'");
}

// What a call was given by name: a stream, a grid, a block.
struct Options {
    PyObject *stream = nullptr, *grid = nullptr, *block = nullptr;
};

bool read_options(Options& options, PyObject* const* values, PyObject* names) {
    const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* name = PyTuple_GET_ITEM(names, i);
        if (name == name_stream || PyUnicode_Compare(name, name_stream) == 0) {
            options.stream = values[i];
        } else if (PyUnicode_Compare(name, name_grid) == 0) {
            options.grid = values[i];
        } else if (PyUnicode_Compare(name, name_block) == 0) {
            options.block = values[i];
        } else {
            PyErr_Format(PyExc_TypeError, "A launch has no option '%U': expected stream, grid or block.",
                         name);
            return false;
        }
    }
    return true;
}

PyObject* call_launcher(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
    return guarded([&]() -> PyObject* {
        auto* self = reinterpret_cast<Launcher*>(object);
        const PreparedLaunch& plan = **self->plan;
        const Py_ssize_t count = PyVectorcall_NARGS(flags);
        Options options;
        if (names != nullptr && !read_options(options, args + count, names)) return nullptr;
        const bool elsewhere = options.stream != nullptr && options.stream != Py_None;
        const StreamRef given = elsewhere ? stream_from(options.stream, plan.kernel->device) : nullptr;
        const StreamRef& stream = elsewhere ? given : current_stream(*plan.kernel->device);
        const Loan loan(self);
        if (!read_values(plan, args, count, stream, loan.values())) return nullptr;
        launch(plan, loan.values(),
               options.grid == nullptr ? plan.grid : dim3_from(options.grid, "grid"),
               options.block == nullptr ? plan.block : dim3_from(options.block, "block"), stream);
        if (stream->graph != nullptr) [[unlikely]] {
            for (Py_ssize_t i = 0; i < count; ++i) keep_for_capture(*stream, args[i]);
            keep_for_capture(*stream, plan.kernel_object.ptr());
        }
        Py_RETURN_NONE;
    });
}

PyObject* call_bound(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
    return guarded([&]() -> PyObject* {
        auto* self = reinterpret_cast<BoundCall*>(object);
        const PreparedLaunch& plan = **self->plan;
        const Py_ssize_t count = PyVectorcall_NARGS(flags);
        Options options;
        if (names != nullptr && !read_options(options, args + count, names)) return nullptr;
        if (count != 0) {
            PyErr_SetString(PyExc_TypeError, "A bound call takes no arguments besides a stream.");
            return nullptr;
        }
        const bool elsewhere = options.stream != nullptr && options.stream != Py_None;
        const StreamRef given = elsewhere ? stream_from(options.stream, plan.kernel->device) : nullptr;
        const StreamRef& stream = elsewhere                 ? given
                                  : self->stream != nullptr ? *self->stream
                                                            : current_stream(*plan.kernel->device);
        launch(plan, *self->values,
               options.grid == nullptr ? plan.grid : dim3_from(options.grid, "grid"),
               options.block == nullptr ? plan.block : dim3_from(options.block, "block"), stream);
        if (stream->graph != nullptr) [[unlikely]] keep_for_capture(*stream, object);
        Py_RETURN_NONE;
    });
}

PyObject* new_launcher(std::shared_ptr<PreparedLaunch> plan) {
    auto* made = reinterpret_cast<Launcher*>(launcher_type->tp_alloc(launcher_type, 0));
    if (made == nullptr) return nullptr;
    made->vectorcall = call_launcher;
    made->values = new LaunchValues(*plan);
    made->busy = new Flag;
    made->plan = new std::shared_ptr<PreparedLaunch>(std::move(plan));
    return reinterpret_cast<PyObject*>(made);
}

PyObject* bind(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        auto* self = reinterpret_cast<Launcher*>(object);
        Options options;
        if (names != nullptr && !read_options(options, args + count, names)) return nullptr;
        auto plan = *self->plan;
        if (options.grid != nullptr || options.block != nullptr) {
            plan = std::make_shared<PreparedLaunch>(*plan);
            if (options.grid != nullptr) plan->grid = dim3_from(options.grid, "grid");
            if (options.block != nullptr) plan->block = dim3_from(options.block, "block");
        }
        const bool fixed = options.stream != nullptr && options.stream != Py_None;
        const StreamRef stream = stream_from(fixed ? options.stream : Py_None, plan->kernel->device);
        auto values = std::make_unique<LaunchValues>(*plan);
        if (!read_values(*plan, args, count, stream, *values)) return nullptr;
        nb::object held = nb::steal(PyTuple_New(count));
        if (!held.is_valid()) return nullptr;
        for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(held.ptr(), i, Py_NewRef(args[i]));
        auto* made = reinterpret_cast<BoundCall*>(bound_type->tp_alloc(bound_type, 0));
        if (made == nullptr) return nullptr;
        made->vectorcall = call_bound;
        made->plan = new std::shared_ptr<PreparedLaunch>(std::move(plan));
        made->values = values.release();
        made->held = held.release().ptr();
        if (fixed) made->stream = new StreamRef(stream);
        return reinterpret_cast<PyObject*>(made);
    });
}

template <typename T>
void deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    auto* self = reinterpret_cast<T*>(object);
    PyObject_GC_UnTrack(object);
    if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
    delete self->plan;
    delete self->values;
    if constexpr (std::is_same_v<T, Launcher>) delete self->busy;
    if constexpr (std::is_same_v<T, BoundCall>) {
        Py_XDECREF(self->held);
        delete self->stream;
    }
    type->tp_free(object);
    Py_DECREF(type);
}

int traverse_launcher(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    return 0;
}

int traverse_bound(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<BoundCall*>(object)->held);
    return 0;
}

template <typename T>
PyObject* get_kernel(PyObject* object, void*) {
    return Py_NewRef((*reinterpret_cast<T*>(object)->plan)->kernel_object.ptr());
}

template <typename T>
PyObject* get_grid(PyObject* object, void*) {
    const auto& of = (*reinterpret_cast<T*>(object)->plan)->grid.of;
    return Py_BuildValue("III", of[0], of[1], of[2]);
}

template <typename T>
PyObject* get_block(PyObject* object, void*) {
    const auto& of = (*reinterpret_cast<T*>(object)->plan)->block.of;
    return Py_BuildValue("III", of[0], of[1], of[2]);
}

template <typename T>
PyGetSetDef properties[] = {
    {"kernel", get_kernel<T>, nullptr, "The kernel that is launched.", nullptr},
    {"grid", get_grid<T>, nullptr, "Blocks along x, y and z.", nullptr},
    {"block", get_block<T>, nullptr, "Threads of a block along x, y and z.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <typename T>
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(T, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(T, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef launcher_methods[] = {
    {"bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(bind)),
     METH_FASTCALL | METH_KEYWORDS, "Fix all arguments; the result is called without any."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot launcher_slots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel whose argument types are known: Kernel.prepare(format).")},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate<Launcher>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_launcher)},
    {Py_tp_getset, properties<Launcher>},
    {Py_tp_members, members<Launcher>},
    {Py_tp_methods, launcher_methods},
    {0, nullptr},
};

PyType_Slot bound_slots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel with its arguments: one call of the driver.")},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate<BoundCall>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_bound)},
    {Py_tp_getset, properties<BoundCall>},
    {Py_tp_members, members<BoundCall>},
    {0, nullptr},
};

constexpr unsigned long type_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                     Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION;

PyType_Spec launcher_spec = {"fieldforge.runtime._core.gpu.Launcher", sizeof(Launcher), 0, type_flags,
                             launcher_slots};
PyType_Spec bound_spec = {"fieldforge.runtime._core.gpu.BoundCall", sizeof(BoundCall), 0, type_flags,
                          bound_slots};

}  // namespace

PyObject* make_launcher(PyObject* kernel, const char* format, Dim3 grid, Dim3 block, unsigned shared,
                        bool cooperative) {
    auto plan = std::make_shared<PreparedLaunch>();
    plan->kernel_object = nb::borrow(kernel);
    plan->kernel = as_kernel(kernel);
    plan->grid = grid;
    plan->block = block;
    plan->shared = shared;
    plan->cooperative = cooperative;
    if (!parse(*plan, format)) return nullptr;
    return new_launcher(std::move(plan));
}

PyObject* launch_once(PyObject* kernel, Dim3 grid, Dim3 block, PyObject* arguments, unsigned shared,
                      PyObject* stream, bool cooperative) {
    const nb::object given = nb::steal(PySequence_Tuple(arguments));
    if (!given.is_valid()) return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(given.ptr());
    std::string format;
    std::vector<PyObject*> values;
    for (Py_ssize_t i = 0; i < count; ++i) {
        values.push_back(PyTuple_GET_ITEM(given.ptr(), i));
        const char kind = kind_for(values.back());
        const Array* array = kind == 'P' ? as_array(values.back()) : nullptr;
        format.push_back(array != nullptr && array->readonly ? 'R' : kind);
    }
    const nb::object launcher =
        nb::steal(make_launcher(kernel, format.c_str(), grid, block, shared, cooperative));
    if (!launcher.is_valid()) return nullptr;
    values.push_back(stream);
    const nb::object names = nb::steal(PyTuple_Pack(1, name_stream));
    return call_launcher(launcher.ptr(), values.data(), static_cast<size_t>(count), names.ptr());
}

int add_launchers(PyObject* module) {
    name_stream = PyUnicode_InternFromString("stream");
    name_grid = PyUnicode_InternFromString("grid");
    name_block = PyUnicode_InternFromString("block");
    launcher_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&launcher_spec));
    bound_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&bound_spec));
    if (launcher_type == nullptr || bound_type == nullptr) return -1;
    if (PyModule_AddType(module, launcher_type) < 0) return -1;
    return PyModule_AddType(module, bound_type);
}

}  // namespace fieldforge::gpu
