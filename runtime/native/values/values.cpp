// The module `fieldforge.runtime._values`: the `__init__` of classes of values, `==`, `evolve`.
#include <Python.h>
#include <structmember.h>

#include <memory>
#include <vector>

#include "../held.h"
#include "rows.h"
#include "sha256.h"

namespace fieldforge {
namespace {

enum class Default { none, value, made, made_of_self };

struct Field {
    PyObject* name;
    PyObject* alias;      // how calls name it
    PyObject* value;      // the default, or what makes it
    PyObject* converter;  // or null
    Py_ssize_t place;     // of its slot in an instance; 0: it is set by name
    Default otherwise;
    bool is_given, by_name, is_compared;
};

struct Constructor {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    std::vector<Field>* fields;
    PyObject* owner;   // the name of the class, for errors
    PyObject* finish;  // called with the new value, or null
};

PyTypeObject* constructor_type = nullptr;
PyObject* init_name = nullptr;  // "__init__"

Constructor* constructor_of(PyObject* self) { return reinterpret_cast<Constructor*>(self); }

// Values by field while they are collected; null: not given.
class Values {
   public:
    explicit Values(size_t count) : count_(count) {
        if (count > few) many_ = std::make_unique<PyObject*[]>(count);
        values_ = count > few ? many_.get() : own_;
        for (size_t i = 0; i < count; ++i) values_[i] = nullptr;
    }
    ~Values() {
        for (size_t i = 0; i < count_; ++i) Py_XDECREF(values_[i]);
    }
    PyObject*& operator[](size_t i) { return values_[i]; }

   private:
    static constexpr size_t few = 24;
    size_t count_;
    PyObject* own_[few];
    std::unique_ptr<PyObject*[]> many_;
    PyObject** values_;
};

// The place of a keyword among the fields, or -1 with an error set.
Py_ssize_t place_of(const Constructor* self, PyObject* keyword) {
    const auto& fields = *self->fields;
    const auto count = static_cast<Py_ssize_t>(fields.size());
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (fields[i].alias == keyword && fields[i].is_given) return i;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (fields[i].is_given && PyUnicode_Compare(fields[i].alias, keyword) == 0) return i;
        if (PyErr_Occurred()) return -1;
    }
    PyErr_Format(PyExc_TypeError, "%U.__init__() got an unexpected keyword argument '%U'",
                 self->owner, keyword);
    return -1;
}

bool take_positions(const Constructor* self, PyObject* const* given, Py_ssize_t count,
                    Values& values) {
    const auto& fields = *self->fields;
    Py_ssize_t taken = 0;
    for (size_t i = 0; i < fields.size() && taken < count; ++i) {
        if (fields[i].is_given && !fields[i].by_name) values[i] = Py_NewRef(given[taken++]);
    }
    if (taken == count) return true;
    PyErr_Format(PyExc_TypeError, "%U.__init__() takes %zd positional arguments but %zd were given",
                 self->owner, taken + 1, count + 1);
    return false;
}

bool take_keywords(const Constructor* self, PyObject* const* given, PyObject* keywords,
                   Values& values) {
    const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t at = 0; at < count; ++at) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, at);
        const Py_ssize_t i = place_of(self, keyword);
        if (i < 0) return false;
        if (values[i] != nullptr) {
            PyErr_Format(PyExc_TypeError, "%U.__init__() got multiple values for argument '%U'",
                         self->owner, keyword);
            return false;
        }
        values[i] = Py_NewRef(given[at]);
    }
    return true;
}

PyObject* otherwise(const Constructor* self, const Field& field, PyObject* object) {
    switch (field.otherwise) {
        case Default::value: return Py_NewRef(field.value);
        case Default::made: return PyObject_CallNoArgs(field.value);
        case Default::made_of_self: return PyObject_CallOneArg(field.value, object);
        case Default::none: break;
    }
    if (!field.is_given) return nullptr;  // the class sets it by itself, later
    PyErr_Format(PyExc_TypeError, "%U.__init__() missing 1 required argument: '%U'", self->owner,
                 field.alias);
    return nullptr;
}

bool set(PyObject* object, const Field& field, PyObject* value) {
    if (field.place == 0) return PyObject_GenericSetAttr(object, field.name, value) == 0;
    auto** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + field.place);
    PyObject* before = *slot;
    *slot = Py_NewRef(value);
    Py_XDECREF(before);
    return true;
}

bool fill(const Constructor* self, PyObject* object, Values& values) {
    for (size_t i = 0; i < self->fields->size(); ++i) {
        const Field& field = (*self->fields)[i];
        if (values[i] == nullptr) {
            values[i] = otherwise(self, field, object);
            if (values[i] == nullptr) {
                if (PyErr_Occurred()) return false;
                continue;
            }
        }
        if (field.converter != nullptr) {
            PyObject* converted = PyObject_CallOneArg(field.converter, values[i]);
            if (converted == nullptr) return false;
            Py_SETREF(values[i], converted);
        }
        if (!set(object, field, values[i])) return false;
    }
    if (self->finish == nullptr) return true;
    Held done(PyObject_CallOneArg(self->finish, object));
    return static_cast<bool>(done);
}

// As a method: the first value is the object.
PyObject* initialize(PyObject* callable, PyObject* const* given, size_t flags,
                     PyObject* keywords) noexcept {
    const Constructor* self = constructor_of(callable);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count == 0) {
        PyErr_Format(PyExc_TypeError, "%U.__init__() needs an object", self->owner);
        return nullptr;
    }
    Values values(self->fields->size());
    const bool is_done = take_positions(self, given + 1, count - 1, values) &&
                         take_keywords(self, given + count, keywords, values) &&
                         fill(self, given[0], values);
    return is_done ? Py_NewRef(Py_None) : nullptr;
}

// The constructor that a class has itself, or null.
const Constructor* own_constructor(PyTypeObject* type) {
    PyObject* found = PyDict_GetItemWithError(type->tp_dict, init_name);
    const bool is_ours = found != nullptr && Py_TYPE(found) == constructor_type;
    return is_ours ? constructor_of(found) : nullptr;
}

PyObject* empty_object(PyTypeObject* type) {
    static PyObject* nothing = PyTuple_New(0);
    return type->tp_new(type, nothing, nullptr);
}

// A call of the class: what `type.__call__` does, without tuples of arguments.
PyObject* construct(PyObject* type, PyObject* const* given, size_t flags,
                    PyObject* keywords) noexcept {
    auto* kind = reinterpret_cast<PyTypeObject*>(type);
    const Constructor* self = own_constructor(kind);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (self == nullptr) {  // somebody gave the class another one
        if (PyErr_Occurred()) return nullptr;
        Held values(PyTuple_New(count));
        Held named(PyDict_New());
        if (!values || !named) return nullptr;
        for (Py_ssize_t i = 0; i < count; ++i) {
            PyTuple_SET_ITEM(values.get(), i, Py_NewRef(given[i]));
        }
        for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); ++i) {
            PyObject* name = PyTuple_GET_ITEM(keywords, i);
            if (PyDict_SetItem(named.get(), name, given[count + i]) < 0) return nullptr;
        }
        return PyType_Type.tp_call(type, values.get(), named.get());
    }
    Held object(empty_object(kind));
    if (!object) return nullptr;
    Values values(self->fields->size());
    const bool is_done = take_positions(self, given, count, values) &&
                         take_keywords(self, given + count, keywords, values) &&
                         fill(self, object.get(), values);
    return is_done ? object.release() : nullptr;
}

// `evolve(value, **changes)`: a value of the same class with other fields.
PyObject* evolve(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
    if (count != 1) {
        PyErr_SetString(PyExc_TypeError, "evolve() takes one value and names of fields");
        return nullptr;
    }
    PyObject* value = given[0];
    PyTypeObject* kind = Py_TYPE(value);
    const Constructor* self = own_constructor(kind);
    if (self == nullptr) {
        if (PyErr_Occurred()) return nullptr;
        Held attrs(PyImport_ImportModule("attrs"));
        Held slow(attrs ? PyObject_GetAttrString(attrs.get(), "evolve") : nullptr);
        return slow ? PyObject_Vectorcall(slow.get(), given, 1, keywords) : nullptr;
    }
    Values values(self->fields->size());
    if (!take_keywords(self, given + count, keywords, values)) return nullptr;
    for (size_t i = 0; i < self->fields->size(); ++i) {
        const Field& field = (*self->fields)[i];
        if (!field.is_given || values[i] != nullptr) continue;
        values[i] = PyObject_GetAttr(value, field.name);
        if (values[i] == nullptr) return nullptr;
    }
    Held object(empty_object(kind));
    return object && fill(self, object.get(), values) ? object.release() : nullptr;
}

PyObject* value_of(PyObject* object, const Field& field) {
    if (field.place != 0) {
        auto** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + field.place);
        if (*slot != nullptr) return Py_NewRef(*slot);
    }
    return PyObject_GetAttr(object, field.name);
}

// Whether two objects of a class are equal; -1 with an error set. A field that is compared alone is
// compared as `==` does, fields beside others as those of tuples: an object equals itself.
int is_equal(const Constructor* self, PyObject* left, PyObject* right) {
    Py_ssize_t count = 0;
    for (const Field& field : *self->fields) count += field.is_compared;
    for (const Field& field : *self->fields) {
        if (!field.is_compared) continue;
        Held ours(value_of(left, field));
        Held theirs(ours ? value_of(right, field) : nullptr);
        if (!theirs) return -1;
        if (count > 1) {
            const int same = PyObject_RichCompareBool(ours.get(), theirs.get(), Py_EQ);
            if (same != 1) return same;
        } else {
            Held said(PyObject_RichCompare(ours.get(), theirs.get(), Py_EQ));
            return said ? PyObject_IsTrue(said.get()) : -1;
        }
    }
    return 1;
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
    static const char* const methods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
    const bool is_ours = operation == Py_EQ || operation == Py_NE;
    if (is_ours && Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
    const Constructor* self = is_ours ? own_constructor(Py_TYPE(left)) : nullptr;
    if (self == nullptr) {  // an order of the author's, or somebody gave the class another `__init__`
        if (PyErr_Occurred()) return nullptr;
        return PyObject_CallMethod(left, methods[operation], "O", right);
    }
    if (Py_EnterRecursiveCall(" in a comparison of values") != 0) return nullptr;
    const int equal = is_equal(self, left, right);
    Py_LeaveRecursiveCall();
    return equal < 0 ? nullptr : PyBool_FromLong((equal == 1) == (operation == Py_EQ));
}

Py_hash_t hash_of(PyObject* object) {
    const Constructor* self = own_constructor(Py_TYPE(object));
    if (self == nullptr) {
        Held said(PyErr_Occurred() ? nullptr : PyObject_CallMethod(object, "__hash__", nullptr));
        return said ? PyObject_Hash(said.get()) : -1;
    }
    if (Py_EnterRecursiveCall(" in the hash of a value") != 0) return -1;
    auto found = static_cast<Py_uhash_t>(PyObject_Hash(self->owner));
    for (const Field& field : *self->fields) {
        if (!field.is_compared) continue;
        Held value(value_of(object, field));
        const Py_hash_t part = value ? PyObject_Hash(value.get()) : -1;
        if (part == -1) {
            Py_LeaveRecursiveCall();
            return -1;
        }
        // As a tuple mixes the hashes of its elements.
        found += static_cast<Py_uhash_t>(part) * 14029467366897019727ULL;
        found = ((found << 31) | (found >> 33)) * 11400714785074694791ULL;
    }
    Py_LeaveRecursiveCall();
    const auto result = static_cast<Py_hash_t>(found);
    return result == -1 ? -2 : result;
}

// Where instances of a class keep an attribute; 0 if not in a slot.
Py_ssize_t slot_of(PyObject* kind, PyObject* name) {
    Held found(PyObject_GetAttr(kind, name));
    if (!found) {
        PyErr_Clear();
        return 0;
    }
    if (Py_TYPE(found.get()) != &PyMemberDescr_Type) return 0;
    return reinterpret_cast<PyMemberDescrObject*>(found.get())->d_member->offset;
}

bool read_field(PyObject* given, Field& field) {
    int otherwise, is_given, by_name, is_compared;
    PyObject* converter;
    if (!PyArg_ParseTuple(given, "UUiOOppp:field", &field.name, &field.alias, &otherwise,
                          &field.value, &converter, &is_given, &by_name, &is_compared)) {
        return false;
    }
    field.otherwise = static_cast<Default>(otherwise);
    field.is_given = is_given != 0;
    field.by_name = by_name != 0;
    field.is_compared = is_compared != 0;
    field.converter = converter == Py_None ? nullptr : converter;
    for (PyObject** name : {&field.name, &field.alias}) {
        Py_INCREF(*name);
        PyUnicode_InternInPlace(name);
    }
    Py_INCREF(field.value);
    Py_XINCREF(field.converter);
    return true;
}

PyObject* make(PyObject*, PyObject* args) {
    PyObject *owner, *fields, *finish;
    if (!PyArg_ParseTuple(args, "UO!O:constructor", &owner, &PyTuple_Type, &fields, &finish)) {
        return nullptr;
    }
    Held made(constructor_type->tp_alloc(constructor_type, 0));
    if (!made) return nullptr;
    Constructor* self = constructor_of(made.get());
    self->vectorcall = initialize;
    self->fields = new std::vector<Field>;
    self->owner = Py_NewRef(owner);
    self->finish = finish == Py_None ? nullptr : Py_NewRef(finish);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); ++i) {
        Field field{};
        if (!read_field(PyTuple_GET_ITEM(fields, i), field)) return nullptr;
        self->fields->push_back(field);
    }
    return made.release();
}

// The class has the constructor in its dictionary, as `__init__` or under another name.
PyObject* attach(PyObject*, PyObject* args) {
    PyObject *kind, *constructor;
    int compares, hashes;
    if (!PyArg_ParseTuple(args, "O!O!pp:attach", &PyType_Type, &kind, constructor_type,
                          &constructor, &compares, &hashes)) {
        return nullptr;
    }
    for (Field& field : *constructor_of(constructor)->fields) {
        field.place = slot_of(kind, field.name);
    }
    auto* type = reinterpret_cast<PyTypeObject*>(kind);
    if (own_constructor(type) == nullptr) Py_RETURN_NONE;
    if (type->tp_new == PyBaseObject_Type.tp_new) type->tp_vectorcall = construct;
    if (compares) type->tp_richcompare = compare;
    if (hashes) type->tp_hash = hash_of;
    Py_RETURN_NONE;
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
    return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(constructor_of(self)->finish);
    if (constructor_of(self)->fields == nullptr) return 0;
    for (const Field& field : *constructor_of(self)->fields) {
        Py_VISIT(field.value);
        Py_VISIT(field.converter);
    }
    return 0;
}

int clear(PyObject* self) {
    Py_CLEAR(constructor_of(self)->finish);
    std::unique_ptr<std::vector<Field>> fields(constructor_of(self)->fields);
    constructor_of(self)->fields = new std::vector<Field>;
    for (const Field& field : fields ? *fields : std::vector<Field>{}) {
        Py_DECREF(field.name);
        Py_DECREF(field.alias);
        Py_DECREF(field.value);
        Py_XDECREF(field.converter);
    }
    return 0;
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    delete constructor_of(self)->fields;
    Py_CLEAR(constructor_of(self)->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Constructor, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("The `__init__` of a class of values.")},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._values.Constructor",
    sizeof(Constructor),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    slots,
};

PyMethodDef functions[] = {
    {"constructor", make, METH_VARARGS,
     "constructor(owner, fields, finish, /)\n--\n\nMake the `__init__` of a class."},
    {"attach", attach, METH_VARARGS,
     "attach(cls, constructor, compares, hashes, /)\n--\n\nTell a constructor where instances keep their fields."},
    {"evolve", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(evolve)),
     METH_FASTCALL | METH_KEYWORDS,
     "evolve(value, /, **changes)\n--\n\nMake a value of the same class with other fields."},
    {"rows", rows_of, METH_VARARGS,
     "rows(value, shape, atom, /)\n--\n\nReturn a value as a table of rows."},
    {"sha256", sha256, METH_VARARGS,
     "sha256(content, plainly=False, /)\n--\n\nReturn the SHA-256 digest of bytes."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_values", "Classes of values without text to compile.", -1, functions,
    nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace fieldforge

PyMODINIT_FUNC PyInit__values() {
    using namespace fieldforge;
    init_name = PyUnicode_InternFromString("__init__");
    constructor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (init_name == nullptr || constructor_type == nullptr) return nullptr;
    return PyModule_Create(&definition);
}
