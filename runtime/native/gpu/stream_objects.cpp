// `Stream` and `Event`.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "guarded.h"

namespace fieldforge::gpu {
namespace {

Stream make(nb::handle device, int priority, bool nonblocking) {
    return Stream(make_stream(device_from(device), priority, nonblocking));
}

Stream from_handle(uintptr_t ptr, nb::handle owner, nb::handle device) {
    auto ref = std::make_shared<StreamHandle>(&device_from(device), reinterpret_cast<Handle>(ptr),
                                              false, 0, 0);
    if (!owner.is_none()) ref->keep = Py_NewRef(owner.ptr());
    return Stream(std::move(ref));
}

// Whatever stands for a stream: the protocol of cuda.core, or what CuPy and torch call it.
StreamRef from_object(nb::handle given, Device* device) {
    if (const Stream* stream = as<Stream>(given.ptr())) return stream->ref;
    Device& place = device != nullptr ? *device : current_device();
    uintptr_t ptr = 0;
    if (nb::hasattr(given, "__cuda_stream__")) {
        nb::object pair = given.attr("__cuda_stream__");
        if (PyCallable_Check(pair.ptr())) pair = pair();
        ptr = nb::cast<uintptr_t>(pair[1]);
    } else if (PyLong_Check(given.ptr())) {
        ptr = nb::cast<uintptr_t>(given);
    } else if (nb::hasattr(given, "cuda_stream")) {
        ptr = nb::cast<uintptr_t>(given.attr("cuda_stream"));
    } else if (nb::hasattr(given, "ptr")) {
        ptr = nb::cast<uintptr_t>(given.attr("ptr"));
    } else {
        PyErr_Format(PyExc_TypeError,
                     "Expected a stream (of this package, CuPy, torch or cuda.core, or its "
                     "address), got %R.", given.ptr());
        throw nb::python_error();
    }
    auto ref = std::make_shared<StreamHandle>(&place, reinterpret_cast<Handle>(ptr), false, 0, 0);
    if (!PyLong_Check(given.ptr())) ref->keep = Py_NewRef(given.ptr());
    return ref;
}

bool is_done(const Stream& self) {
    Device& device = *self.ref->device;
    const Guard guard(device);
    const Result result = device.driver->stream_query(self.ref->ptr);
    if (result == not_ready) return false;
    if (result != success) fail(device, result, Entry::stream_query);
    return true;
}

// Asking first costs less than giving the lock away, where there is nothing to wait for.
void sync_stream(const Stream& self) {
    if (is_done(self)) return;
    Device& device = *self.ref->device;
    const Guard guard(device);
    Result result;
    {
        const LockReleased released;
        result = device.driver->stream_sync(self.ref->ptr);
    }
    if (result != success) fail(device, result, Entry::stream_sync);
}

bool is_event_done(const Event& self) {
    const Guard guard(*self.device);
    const Result result = self.device->driver->event_query(self.event);
    if (result == not_ready) return false;
    if (result != success) fail(*self.device, result, Entry::event_query);
    return true;
}

void sync_event(const Event& self) {
    if (is_event_done(self)) return;
    const Guard guard(*self.device);
    Result result;
    {
        const LockReleased released;
        result = self.device->driver->event_sync(self.event);
    }
    if (result != success) fail(*self.device, result, Entry::event_sync);
}

void record_on(const Event& event, const StreamRef& stream) {
    if (event.device != stream->device) {
        throw nb::value_error(("The event belongs to device " + event.device->label() +
                               ", the stream to " + stream->device->label() + ".").c_str());
    }
    const Guard guard(*event.device);
    GPU_CALL(*event.device, event_record, event.event, stream->ptr);
}

// --- what Python calls without nanobind in between ------------------------------------------------

PyObject* record_on_stream(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        const StreamRef& stream = nb::inst_ptr<Stream>(self)->ref;
        const Py_ssize_t given = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
        if (given > 1) throw nb::type_error("A stream records one event.");
        const bool is_new = given == 0 || args[0] == Py_None;
        const nb::object event =
            is_new ? make_object<Event>(stream->device, false, false) : nb::borrow(args[0]);
        const Event* found = as<Event>(event.ptr());
        if (found == nullptr) throw nb::type_error("Expected an event.");
        record_on(*found, stream);
        return Py_NewRef(event.ptr());
    });
}

PyObject* record_event(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        const Event& event = *nb::inst_ptr<Event>(self);
        const Py_ssize_t given = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
        if (given > 1) throw nb::type_error("An event is recorded on one stream.");
        if (given == 0 || args[0] == Py_None) record_on(event, current_stream(*event.device));
        else if (const Stream* stream = as<Stream>(args[0])) record_on(event, stream->ref);
        else record_on(event, stream_from(args[0], event.device));
        return Py_NewRef(self);
    });
}

template <typename T, void (*wait_for)(const T&)>
PyObject* sync_object(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        wait_for(*nb::inst_ptr<T>(self));
        Py_RETURN_NONE;
    });
}

template <typename T, bool (*ask)(const T&)>
PyObject* get_done(PyObject* self, void*) {
    return guarded([&] { return Py_NewRef(ask(*nb::inst_ptr<T>(self)) ? Py_True : Py_False); });
}

PyObject* get_stream_ptr(PyObject* self, void*) {
    Stream& stream = *nb::inst_ptr<Stream>(self);
    if (stream.number == nullptr) stream.number = PyLong_FromVoidPtr(stream.ref->ptr);
    return Py_XNewRef(stream.number);
}

PyObject* get_event_ptr(PyObject* self, void*) {
    return PyLong_FromVoidPtr(nb::inst_ptr<Event>(self)->event);
}

// The arguments of a constructor: a device, and options by name.
struct Options {
    PyObject* device = Py_None;
    PyObject* given[2] = {nullptr, nullptr};  // in the order of the names

    Options(const char* const (&known)[2], PyObject* const* args, size_t flags, PyObject* names) {
        const Py_ssize_t count = PyVectorcall_NARGS(flags);
        if (count > 1) throw nb::type_error("Expected a device; everything else is given by name.");
        if (count == 1) device = args[0];
        const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
        for (Py_ssize_t i = 0; i < named; ++i) take(known, PyTuple_GET_ITEM(names, i), args[count + i], count);
    }

   private:
    void take(const char* const (&known)[2], PyObject* name, PyObject* value, Py_ssize_t count) {
        if (count == 0 && PyUnicode_CompareWithASCIIString(name, "device") == 0) {
            device = value;
            return;
        }
        for (int i = 0; i < 2; ++i) {
            if (PyUnicode_CompareWithASCIIString(name, known[i]) == 0) {
                given[i] = value;
                return;
            }
        }
        PyErr_Format(PyExc_TypeError, "There is no option '%U' here: expected '%s' or '%s'.", name,
                     known[0], known[1]);
        throw nb::python_error();
    }
};

bool is_true(PyObject* given, bool otherwise) {
    if (given == nullptr) return otherwise;
    if (!PyBool_Check(given)) throw nb::type_error("Expected True or False.");
    return given == Py_True;
}

PyObject* construct_event(PyObject*, PyObject* const* args, size_t flags, PyObject* names) {
    static constexpr const char* known[] = {"timing", "blocking"};
    return guarded([&] {
        const Options options(known, args, flags, names);
        Device& device = device_from(options.device);
        return make_object<Event>(&device, is_true(options.given[0], false),
                                  is_true(options.given[1], false)).release().ptr();
    });
}

PyObject* construct_stream(PyObject*, PyObject* const* args, size_t flags, PyObject* names) {
    static constexpr const char* known[] = {"priority", "nonblocking"};
    return guarded([&] {
        const Options options(known, args, flags, names);
        const int priority = options.given[0] == nullptr ? 0 : nb::cast<int>(nb::handle(options.given[0]));
        return make_object<Stream>(make_stream(device_from(options.device), priority,
                                               is_true(options.given[1], true))).release().ptr();
    });
}

PyMethodDef stream_methods[] = {
    fast_method("record", record_on_stream, METH_FASTCALL | METH_KEYWORDS,
                "Record an event, a new one if none is given, and return it."),
    fast_method("sync", sync_object<Stream, sync_stream>, METH_NOARGS,
                "Wait for everything that was given to the stream."),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef stream_properties[] = {
    fast_property("ptr", get_stream_ptr, "The vendor's handle as a number."),
    fast_property("done", get_done<Stream, is_done>, "Whether nothing is left to do."),
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot stream_slots[] = {
    {Py_tp_vectorcall, reinterpret_cast<void*>(construct_stream)},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_properties},
    {0, nullptr},
};

PyMethodDef event_methods[] = {
    fast_method("record", record_event, METH_FASTCALL | METH_KEYWORDS,
                "Record it on a stream, the current one if none is given."),
    fast_method("sync", sync_object<Event, sync_event>, METH_NOARGS,
                "Wait until what was recorded is done."),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef event_properties[] = {
    fast_property("ptr", get_event_ptr, "The vendor's handle as a number."),
    fast_property("done", get_done<Event, is_event_done>, "Whether what was recorded is done."),
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot event_slots[] = {
    {Py_tp_vectorcall, reinterpret_cast<void*>(construct_event)},
    {Py_tp_methods, event_methods},
    {Py_tp_getset, event_properties},
    {0, nullptr},
};

void wait(const Stream& self, nb::handle other) {
    const Event* event = as<Event>(other.ptr());
    if (event == nullptr) return order(from_object(other, self.ref->device), self.ref);
    Device& device = *self.ref->device;
    const Guard guard(device);
    GPU_CALL(device, stream_wait, self.ref->ptr, event->event, 0);
}

float elapsed(const Event& later, const Event& earlier) {
    const Guard guard(*later.device);
    float milliseconds = 0;
    GPU_CALL(*later.device, event_elapsed, &milliseconds, earlier.event, later.event);
    return milliseconds;
}

std::string hexadecimal(Handle handle) {
    char text[32];
    snprintf(text, sizeof text, "0x%zx", reinterpret_cast<size_t>(handle));
    return text;
}

}  // namespace

StreamRef stream_from(nb::handle given, Device* device) {
    if (!given.is_valid() || given.is_none()) {
        return current_stream(device != nullptr ? *device : current_device());
    }
    StreamRef found = from_object(given, device);
    if (device != nullptr && found->device != device) {
        throw nb::value_error(("The stream belongs to device " + found->device->label() +
                               ", the work to device " + device->label() + ".").c_str());
    }
    return found;
}

void add_streams(nb::module_& module) {
    nb::class_<Stream> stream_class(module, "Stream", nb::is_weak_referenceable(), nb::pooled(),
                                    nb::type_slots(stream_slots));
    class_of<Stream> = reinterpret_cast<PyTypeObject*>(stream_class.ptr());
    stream_class
        .def("__init__", [](Stream* self, nb::object device, int priority, bool nonblocking) {
            new (self) Stream(make(device, priority, nonblocking));
        }, nb::arg("device") = nb::none(), nb::kw_only(), nb::arg("priority") = 0,
             nb::arg("nonblocking") = true)
        .def_static("from_handle", from_handle, nb::arg("ptr"), nb::kw_only(),
                    nb::arg("owner") = nb::none(), nb::arg("device") = nb::none())
        .def_static("from_object", [](nb::handle given, nb::handle device) {
            return Stream{from_object(given, device.is_none() ? nullptr : &device_from(device))};
        }, nb::arg("obj"), nb::kw_only(), nb::arg("device") = nb::none())
        .def_prop_ro("device", [](const Stream& self) {
            return device_object(*self.ref->device);
        })
        .def_prop_ro("priority", [](const Stream& self) { return self.ref->priority; })
        .def_prop_ro("capturing", [](const Stream& self) {
            int status = 0;
            const Guard guard(*self.ref->device);
            GPU_CALL(*self.ref->device, capture_status, self.ref->ptr, &status);
            return status != 0;
        })
        .def("wait", wait, nb::arg("event_or_stream"))
        .def("__cuda_stream__", [](const Stream& self) {
            return nb::make_tuple(0, reinterpret_cast<uintptr_t>(self.ref->ptr));
        })
        .def("__enter__", [](nb::handle self) {
            push_stream(nb::cast<Stream&>(self).ref);
            return nb::borrow(self);
        })
        .def("__exit__", [](const Stream&, nb::args) { pop_stream(); })
        .def("__eq__", [](const Stream& self, nb::handle other) {
            if (!nb::isinstance<Stream>(other)) return false;
            const StreamRef& ref = nb::cast<Stream&>(other).ref;
            return ref->ptr == self.ref->ptr && ref->device == self.ref->device;
        }, nb::arg("other").none())
        .def("__hash__", [](const Stream& self) {
            return reinterpret_cast<intptr_t>(self.ref->ptr) >> 4;
        })
        .def("__repr__", [](const Stream& self) {
            return "<Stream " + hexadecimal(self.ref->ptr) + " of " + self.ref->device->label() + ">";
        });
    nb::class_<Event> event_class(module, "Event", nb::is_weak_referenceable(), nb::pooled(),
                                  nb::type_slots(event_slots));
    class_of<Event> = reinterpret_cast<PyTypeObject*>(event_class.ptr());
    event_class
        .def("__init__", [](Event* self, nb::object device, bool timing, bool blocking) {
            new (self) Event(&device_from(device), timing, blocking);
        }, nb::arg("device") = nb::none(), nb::kw_only(), nb::arg("timing") = false,
             nb::arg("blocking") = false)
        .def_prop_ro("device", [](const Event& self) { return device_object(*self.device); })
        .def_prop_ro("timing", [](const Event& self) { return self.timing; })
        .def("__sub__", elapsed)
        .def("__repr__", [](const Event& self) {
            return "<Event " + hexadecimal(self.event) + " of " + self.device->label() + ">";
        });
    module.def("current_stream", [](nb::handle device) {
        return Stream{current_stream(device_from(device))};
    }, nb::arg("device") = nb::none());
    module.def("set_current_stream", [](const Stream& stream) { set_current_stream(stream.ref); });
}

}  // namespace fieldforge::gpu
