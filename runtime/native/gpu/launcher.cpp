// `Launcher` and `BoundCall`: a kernel with its argument types known, called through vectorcall.
#include <Python.h>

#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstring>
#include <new>

#include "../field_view.h"
#include "guarded.h"

namespace fieldforge::gpu {
namespace {

PyTypeObject *launcher_type, *bound_type;
PyObject *name_stream, *name_grid, *name_block;

struct Argument {
    char kind;  // as in the format; 's' is a structure of `size` bytes
    uint16_t size;
    uint32_t offset;
};

// What a launch needs besides its values; shared by a launcher and its bound calls.
struct Plan {
    nb::object kernel_object;
    const Kernel* kernel;
    Dim3 grid, block;
    unsigned shared;
    bool cooperative;
    std::vector<Argument> arguments;
    std::vector<uint16_t> sizes;
    std::string kinds;
    uint32_t bytes = 0;
};

struct Values {
    std::vector<unsigned char> storage;
    std::vector<void*> params;
    explicit Values(const Plan& plan) : storage(plan.bytes + 8), params(plan.arguments.size()) {
        for (size_t i = 0; i < params.size(); ++i) {
            params[i] = storage.data() + plan.arguments[i].offset;
        }
    }
};

struct Launcher {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    std::shared_ptr<Plan>* plan;
    Values* values;
    PyObject* weak_references;
};

struct BoundCall {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    std::shared_ptr<Plan>* plan;
    Values* values;
    PyObject* held;  // the arguments
    StreamRef* stream;  // null: the current one
    PyObject* weak_references;
};

bool add_argument(Plan& plan, char kind, unsigned size) {
    const unsigned align = kind == 's' ? 8 : size;
    plan.bytes = (plan.bytes + align - 1) / align * align;
    plan.arguments.push_back({kind, static_cast<uint16_t>(size), plan.bytes});
    plan.sizes.push_back(static_cast<uint16_t>(size));
    plan.kinds.push_back(kind);
    plan.bytes += size;
    return true;
}

unsigned size_of(char kind) {
    switch (kind) {
        case 'P': case 'R': case 'q': case 'Q': case 'd': return 8;
        case 'i': case 'I': case 'f': return 4;
        case 'h': case 'H': case 'e': return 2;
        case 'b': case 'B': case '?': return 1;
        default: return 0;
    }
}

bool parse(Plan& plan, const char* format) {
    for (const char* at = format; *at != 0; ++at) {
        unsigned count = 0;
        while (*at >= '0' && *at <= '9' && count < 4096) count = count * 10 + (*at++ - '0');
        if (*at == 's' && count > 0 && count <= 4096) {
            add_argument(plan, 's', count);
        } else if (count == 0 && size_of(*at) != 0) {
            add_argument(plan, *at, size_of(*at));
        } else {
            PyErr_Format(PyExc_ValueError,
                         "The format '%s' has no type at position %zd: expected P or R (pointer that "
                         "is written or only read), ? b B h H i I q Q e f d, or a size and s.",
                         format, static_cast<Py_ssize_t>(at - format));
            return false;
        }
    }
    return true;
}

// --- values ------------------------------------------------------------------------------------

void wrong_device(const Plan& plan, size_t index, const char* where) {
    PyErr_Format(PyExc_ValueError, "Argument %zu of kernel '%s' lies on %s, the kernel on device %s.",
                 index, plan.kernel->name.c_str(), where, plan.kernel->device->label().c_str());
}

bool use_buffer(const Plan& plan, size_t index, Buffer& buffer, const StreamRef& stream) {
    if (buffer.device != nullptr && buffer.device->platform != plan.kernel->device->platform) {
        return wrong_device(plan, index, buffer.device->label().c_str()), false;
    }
    if (buffer.kind == MemoryKind::host) return wrong_device(plan, index, "the host"), false;
    if (buffer.address == 0 && buffer.size != 0) {
        PyErr_Format(PyExc_ValueError, "Argument %zu of kernel '%s' is a buffer that was freed.", index,
                     plan.kernel->name.c_str());
        return false;
    }
    buffer.use(stream);
    return true;
}

// The address of anything that is memory; false with a Python error set.
bool read_address(const Plan& plan, size_t index, PyObject* given, const StreamRef& stream,
                  Address& to) {
    if (PyLong_CheckExact(given)) {
        to = PyLong_AsUnsignedLongLong(given);
        return !(to == static_cast<Address>(-1) && PyErr_Occurred());
    }
    if (const Array* array = as_array(given); array != nullptr) {
        if (array->device == nullptr && array->device_type == device_host) {
            return wrong_device(plan, index, "the host"), false;
        }
        if (array->readonly && plan.arguments[index].kind == 'P') {
            PyErr_Format(PyExc_ValueError,
                         "Argument %zu of kernel '%s' is read-only: its type is 'R', not 'P'.", index,
                         plan.kernel->name.c_str());
            return false;
        }
        to = array->address;
        return array->buffer == nullptr || use_buffer(plan, index, *array->buffer, stream);
    }
    if (Buffer* buffer = as_buffer(given); buffer != nullptr) {
        to = buffer->address;
        return use_buffer(plan, index, *buffer, stream);
    }
    if (given == Py_None) return to = 0, true;
    if (is_field_view(given)) {
        const auto* view = reinterpret_cast<const FieldView*>(given);
        if (view->device_type == device_host) return wrong_device(plan, index, "the host"), false;
        to = view->data;
        if (view->owner == nullptr || view->owner == given) return true;
        if (const Array* array = as_array(view->owner); array != nullptr && array->buffer != nullptr) {
            return use_buffer(plan, index, *array->buffer, stream);
        }
        return true;
    }
    const nb::object array = nb::steal(PyObject_CallOneArg(hook_foreign, given));
    if (!array.is_valid()) return false;
    return read_address(plan, index, array.ptr(), stream, to);
}

template <typename T>
bool read_integer(PyObject* given, unsigned char* to) {
    T value;
    if constexpr (std::is_signed_v<T>) {
        const long long wide = PyLong_AsLongLong(given);
        if (wide == -1 && PyErr_Occurred()) return false;
        value = static_cast<T>(wide);
        if (value != wide) goto refused;
    } else {
        const nb::object index = nb::steal(PyNumber_Index(given));
        if (!index.is_valid()) return false;
        const unsigned long long wide = PyLong_AsUnsignedLongLong(index.ptr());
        if (wide == static_cast<unsigned long long>(-1) && PyErr_Occurred()) return false;
        value = static_cast<T>(wide);
        if (value != wide) goto refused;
    }
    std::memcpy(to, &value, sizeof value);
    return true;
refused:
    PyErr_Format(PyExc_OverflowError, "The value %R does not fit %zu bytes.", given, sizeof value);
    return false;
}

bool read_floating(PyObject* given, char kind, unsigned char* to) {
    const double wide = PyFloat_AsDouble(given);
    if (wide == -1.0 && PyErr_Occurred()) return false;
    if (kind == 'd') return std::memcpy(to, &wide, sizeof wide), true;
    if (kind == 'e') return PyFloat_Pack2(wide, reinterpret_cast<char*>(to), 1) == 0;
    const auto narrow = static_cast<float>(wide);
    return std::memcpy(to, &narrow, sizeof narrow), true;
}

bool read_structure(PyObject* given, const Argument& argument, unsigned char* to) {
    Py_buffer view;
    if (PyObject_GetBuffer(given, &view, PyBUF_SIMPLE) < 0) return false;
    const bool fits = view.len == argument.size;
    if (fits) std::memcpy(to, view.buf, argument.size);
    else PyErr_Format(PyExc_ValueError, "Expected a structure of %d bytes, got %zd.", argument.size, view.len);
    PyBuffer_Release(&view);
    return fits;
}

bool read_value(const Plan& plan, size_t index, PyObject* given, const StreamRef& stream,
                unsigned char* to) {
    const Argument& argument = plan.arguments[index];
    switch (argument.kind) {
        case 'P': case 'R': {
            Address address = 0;
            if (!read_address(plan, index, given, stream, address)) return false;
            return std::memcpy(to, &address, sizeof address), true;
        }
        case 'i': return read_integer<int32_t>(given, to);
        case 'q': return read_integer<int64_t>(given, to);
        case 'I': return read_integer<uint32_t>(given, to);
        case 'Q': return read_integer<uint64_t>(given, to);
        case 'h': return read_integer<int16_t>(given, to);
        case 'H': return read_integer<uint16_t>(given, to);
        case 'b': return read_integer<int8_t>(given, to);
        case 'B': return read_integer<uint8_t>(given, to);
        case 's': return read_structure(given, argument, to);
        case '?': {
            const int truth = PyObject_IsTrue(given);
            return truth < 0 ? false : (*to = static_cast<unsigned char>(truth), true);
        }
        default: return read_floating(given, argument.kind, to);
    }
}

bool read_values(const Plan& plan, PyObject* const* given, Py_ssize_t count, const StreamRef& stream,
                 Values& values) {
    if (count != static_cast<Py_ssize_t>(plan.arguments.size())) {
        PyErr_Format(PyExc_TypeError, "Kernel '%s' takes %zu arguments, got %zd.",
                     plan.kernel->name.c_str(), plan.arguments.size(), count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!read_value(plan, i, given[i], stream,
                        values.storage.data() + plan.arguments[i].offset)) [[unlikely]] {
            return false;
        }
    }
    return true;
}

// --- launches ----------------------------------------------------------------------------------

void launch(const Plan& plan, Values& values, const Dim3& grid, const Dim3& block,
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
        const Plan& plan = **self->plan;
        const Py_ssize_t count = PyVectorcall_NARGS(flags);
        Options options;
        if (names != nullptr && !read_options(options, args + count, names)) return nullptr;
        const bool elsewhere = options.stream != nullptr && options.stream != Py_None;
        const StreamRef given = elsewhere ? stream_from(options.stream, plan.kernel->device) : nullptr;
        const StreamRef& stream = elsewhere ? given : current_stream(*plan.kernel->device);
        if (!read_values(plan, args, count, stream, *self->values)) return nullptr;
        launch(plan, *self->values,
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
        const Plan& plan = **self->plan;
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

PyObject* new_launcher(std::shared_ptr<Plan> plan) {
    auto* made = reinterpret_cast<Launcher*>(launcher_type->tp_alloc(launcher_type, 0));
    if (made == nullptr) return nullptr;
    made->vectorcall = call_launcher;
    made->values = new Values(*plan);
    made->plan = new std::shared_ptr<Plan>(std::move(plan));
    return reinterpret_cast<PyObject*>(made);
}

PyObject* bind(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        auto* self = reinterpret_cast<Launcher*>(object);
        Options options;
        if (names != nullptr && !read_options(options, args + count, names)) return nullptr;
        auto plan = *self->plan;
        if (options.grid != nullptr || options.block != nullptr) {
            plan = std::make_shared<Plan>(*plan);
            if (options.grid != nullptr) plan->grid = dim3_from(options.grid, "grid");
            if (options.block != nullptr) plan->block = dim3_from(options.block, "block");
        }
        const bool fixed = options.stream != nullptr && options.stream != Py_None;
        const StreamRef stream = stream_from(fixed ? options.stream : Py_None, plan->kernel->device);
        auto values = std::make_unique<Values>(*plan);
        if (!read_values(*plan, args, count, stream, *values)) return nullptr;
        nb::object held = nb::steal(PyTuple_New(count));
        if (!held.is_valid()) return nullptr;
        for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(held.ptr(), i, Py_NewRef(args[i]));
        auto* made = reinterpret_cast<BoundCall*>(bound_type->tp_alloc(bound_type, 0));
        if (made == nullptr) return nullptr;
        made->vectorcall = call_bound;
        made->plan = new std::shared_ptr<Plan>(std::move(plan));
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

// The type of an argument whose kernel was not prepared: integers are of 8 bytes, as in CuPy.
char kind_for(PyObject* given) {
    if (PyBool_Check(given)) return '?';
    if (PyLong_Check(given)) return 'q';
    if (PyFloat_CheckExact(given)) return 'd';
    const nb::handle value(given);
    if (!nb::hasattr(value, "dtype") || !PyObject_CheckBuffer(given) ||
        nb::cast<size_t>(nb::object(nb::getattr(value, "ndim", nb::int_(1)))) != 0) {
        return 'P';
    }
    const auto code = nb::cast<std::string>(nb::object(value.attr("dtype").attr("char")));
    return code == "l" ? 'q' : code == "L" ? 'Q' : code[0];
}

}  // namespace

PyObject* make_launcher(PyObject* kernel, const char* format, Dim3 grid, Dim3 block, unsigned shared,
                        bool cooperative) {
    auto plan = std::make_shared<Plan>();
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
