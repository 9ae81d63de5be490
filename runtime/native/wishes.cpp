// Wishes belong to a thread; what became of the threads of OpenMP in a fork belongs to the process.
#include "wishes.h"

#include <pthread.h>

#include "device.h"
#include "pool.h"
#include "thread_count.h"
#include "workspace.h"

namespace fieldforge {

constinit thread_local Wishes wishes;
std::atomic<bool> is_observed{false};
std::atomic<bool> is_timed{false};

namespace {

// The threads of an OpenMP runtime do not follow into a forked process, but the runtime there
// believes in them and would wait for them for ever. One thread needs nobody.
std::atomic<bool> has_pool{false};
std::atomic<bool> is_alone{false};

void after_fork_in_child() {
    if (has_pool.load(std::memory_order_relaxed)) is_alone.store(true, std::memory_order_relaxed);
}

PyObject* set_threads(PyObject*, PyObject* number) {
    const long count = PyLong_AsLong(number);
    if (count == -1 && PyErr_Occurred()) return nullptr;
    if (count < 0 || count > 1 << 16) {
        PyErr_Format(PyExc_ValueError, "Expected a number of threads, got %ld.", count);
        return nullptr;
    }
    const int before = wishes.threads;
    wishes.threads = static_cast<int>(count);
    return PyLong_FromLong(before);
}

PyObject* set_workspace(PyObject*, PyObject* given) {
    if (given != Py_None && !is_workspace(given)) {
        PyErr_Format(PyExc_TypeError, "Expected a Workspace or None, got '%s'.",
                     Py_TYPE(given)->tp_name);
        return nullptr;
    }
    auto* before = reinterpret_cast<PyObject*>(wishes.workspace);
    wishes.workspace =
        given == Py_None ? nullptr : reinterpret_cast<Workspace*>(Py_NewRef(given));
    return before == nullptr ? Py_NewRef(Py_None) : before;
}

PyObject* set_observed(PyObject*, PyObject* given) {
    is_observed.store(PyObject_IsTrue(given) == 1, std::memory_order_relaxed);
    Py_RETURN_NONE;
}

PyObject* set_timed(PyObject*, PyObject* given) {
    is_timed.store(PyObject_IsTrue(given) == 1, std::memory_order_relaxed);
    Py_RETURN_NONE;
}

PyObject* kernel_seconds(PyObject*, PyObject*) { return PyFloat_FromDouble(wishes.seconds); }

PyObject* set_machine(PyObject*, PyObject* args) {
    long long shared_cache = 0, bandwidth = 0, stream_from = 0, parallel_from = 0;
    if (!PyArg_ParseTuple(args, "LLLL", &shared_cache, &bandwidth, &stream_from, &parallel_from)) {
        return nullptr;
    }
    const auto store = [](int64_t& place, int64_t number) {  // calls may be reading it
        __atomic_store_n(&place, number, __ATOMIC_RELAXED);
    };
    store(host_machine.cores, default_threads());
    store(host_machine.shared_cache, shared_cache);
    store(host_machine.bandwidth, bandwidth);
    store(host_machine.stream_from, stream_from);
    store(host_machine.parallel_from, parallel_from);
    Py_RETURN_NONE;
}

PyObject* workers(PyObject*, PyObject*) { return PyLong_FromLong(pool_size()); }

PyObject* threads_by_default(PyObject*, PyObject*) { return PyLong_FromLong(default_threads()); }

PyMethodDef functions[] = {
    {"set_machine", set_machine, METH_VARARGS,
     "Set shared_cache, bandwidth, stream_from and parallel_from of this machine; 0 where unknown."},
    {"workers", workers, METH_NOARGS, "Number of threads in the pool of this process."},
    {"default_threads", threads_by_default, METH_NOARGS, "Number of threads of a call."},
    {"set_threads", set_threads, METH_O, "Set how many threads calls of this thread use; 0: all."},
    {"set_workspace", set_workspace, METH_O, "Set the workspace for calls of this thread."},
    {"set_observed", set_observed, METH_O, "Say whether hooks or metrics are in use."},
    {"set_timed", set_timed, METH_O, "Say whether time is taken around generated code."},
    {"kernel_seconds", kernel_seconds, METH_NOARGS,
     "Seconds that this thread was inside generated code while calls were timed."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Team::Team(const OpenMP& openmp, int of_backend) {
    if (openmp.set == nullptr || openmp.get == nullptr) return;
    const bool alone = is_alone.load(std::memory_order_relaxed);
    if (!alone && !has_pool.load(std::memory_order_relaxed)) {
        has_pool.store(true, std::memory_order_relaxed);
    }
    const int wanted = alone ? 1 : threads_of_call(of_backend);
    before_ = openmp.get();
    if (before_ == wanted) return;
    openmp.set(wanted);
    openmp_ = &openmp;
}

int add_wishes(PyObject* module) {
    if (pthread_atfork(nullptr, nullptr, after_fork_in_child) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}

}  // namespace fieldforge
