// `Entry(plan, address, keepalive)`: immutable, and therefore free to share between programs.
#include "entry.h"

#include <nanobind/nanobind.h>

#include <memory>

#include "rows/rows.h"

namespace fieldforge {

PyTypeObject* entry_type = nullptr;

namespace {

Entry* entry_of(PyObject* self) { return reinterpret_cast<Entry*>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"plan",        "address", "keepalive", "set_threads",
                                  "get_threads", "threads", "ask", "after", nullptr};
    PyObject *source, *keepalive = Py_None, *ask = nullptr;
    unsigned long long address = 0, set_threads = 0, get_threads = 0;
    int threads = 0;
    double after = 0.0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OK|OKKiOd:Entry", const_cast<char**>(names),
                                     &source, &address, &keepalive, &set_threads, &get_threads,
                                     &threads, &ask, &after)) {
        return nullptr;
    }
    try {
        std::unique_ptr<Work> work = rows::make_work(keepalive);
        if (work == nullptr) {
            work = make_work(source, keepalive,
                             reinterpret_cast<EntryPoint>(static_cast<uintptr_t>(address)));
        }
        if (address == 0 && work == nullptr) {
            PyErr_SetString(PyExc_ValueError, "The address of an entry point cannot be 0.");
            return nullptr;
        }
        FirstTier* first_tier = nullptr;
        if (ask != nullptr) {
            if (work == nullptr) throw std::invalid_argument("Only rows are a first tier.");
            first_tier = new FirstTier(std::move(work), ask, after);
            work.reset(first_tier);
        }
        auto plan = std::make_unique<CallPlan>(read_plan(source));
        const Device* device = find_device(plan->device);
        if (device == nullptr) {
            PyErr_Format(PyExc_ValueError, "This process has no device of kind %d.", plan->device);
            return nullptr;
        }
        auto arena = std::make_unique<Arena>(*device, first_tier != nullptr);
        PyObject* self = type->tp_alloc(type, 0);
        if (self == nullptr) return nullptr;
        Entry* entry = entry_of(self);
        entry->plan = plan.release();
        entry->device = device;
        entry->arena = arena.release();
        entry->work = work.release();
        entry->first_tier = first_tier;
        entry->address = reinterpret_cast<EntryPoint>(static_cast<uintptr_t>(address));
        entry->openmp = {reinterpret_cast<void (*)(int)>(static_cast<uintptr_t>(set_threads)),
                         reinterpret_cast<int (*)()>(static_cast<uintptr_t>(get_threads))};
        entry->crew = {threads};
        if (device->context != nullptr) {
            entry->context = *device->context;
            entry->context.pool = &entry->crew;
        }
        entry->is_plain = entry->context.version != 0 && entry->work == nullptr &&
                          entry->openmp.set == nullptr;
        entry->source = Py_NewRef(source);
        entry->keepalive = Py_NewRef(keepalive);
        entry->ask = Py_XNewRef(ask);
        return self;
    } catch (nanobind::python_error& error) {
        error.restore();
    } catch (const nanobind::cast_error&) {
        PyErr_SetString(PyExc_TypeError, "The argument plan has a value of the wrong type.");
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    }
    return nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(entry_of(self)->source);
    Py_VISIT(entry_of(self)->keepalive);
    Py_VISIT(entry_of(self)->ask);
    return 0;
}

// There is no tp_clear: an entry is immutable, and every cycle through it contains another object,
// such as the program, that breaks the cycle. So a running call never sees a half-cleared entry.
void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Entry* entry = entry_of(self);
    delete entry->plan;
    delete entry->arena;
    delete entry->work;
    Py_XDECREF(entry->source);
    Py_XDECREF(entry->keepalive);
    Py_XDECREF(entry->ask);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* get_plan(PyObject* self, void*) { return Py_NewRef(entry_of(self)->source); }

PyObject* get_address(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(entry_of(self)->address));
}

PyObject* get_keepalive(PyObject* self, void*) { return Py_NewRef(entry_of(self)->keepalive); }

PyObject* get_threads(PyObject* self, void*) { return PyLong_FromLong(entry_of(self)->crew.threads); }

PyObject* get_first_tier(PyObject* self, void*) {
    const FirstTier* tier = entry_of(self)->first_tier;
    if (tier == nullptr) Py_RETURN_NONE;
    return Py_BuildValue("Ld", static_cast<long long>(tier->calls()), tier->seconds());
}

PyGetSetDef properties[] = {
    {"first_tier", get_first_tier, nullptr,
     "Calls and seconds so far of what stands in for compiled code; None of compiled code.",
     nullptr},
    {"plan", get_plan, nullptr, "The argument plan.", nullptr},
    {"address", get_address, nullptr, "Address of the C entry point.", nullptr},
    {"threads", get_threads, nullptr, "Default number of threads; 0: all of the process.", nullptr},
    {"keepalive", get_keepalive, nullptr, "What keeps the code loaded.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("One variant of a program: Entry(plan, address, keepalive).")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._core.Entry",
    sizeof(Entry),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

}  // namespace

int add_entry(PyObject* module) {
    entry_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (entry_type == nullptr) return -1;
    return PyModule_AddType(module, entry_type);
}

}  // namespace fieldforge
