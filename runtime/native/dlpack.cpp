// The table costs a tenth of a microsecond, `__dlpack__` of a class in Python several times that.
#include "dlpack.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "held.h"

namespace nb = nanobind;

namespace fieldforge {
namespace {

constexpr uint32_t major_version = 1;
constexpr uint64_t flag_read_only = 1, flag_copied = 2;  // who writes to a copy writes for nobody

// The structures of DLPack 1 that nanobind keeps to itself.
struct Version {
    uint32_t major, minor;
};

struct Managed {
    Version version;
    void* context;
    void (*deleter)(Managed*);
    uint64_t flags;
    nb::dlpack::dltensor tensor;
};

struct Exchange {
    Version version;
    Exchange* previous;
    void* allocate;
    int (*export_array)(void* array, Managed** out);
};

DType dtype_of(const nb::dlpack::dtype& given) {
    const int shift = given.bits == 8 ? 0 : given.bits == 16 ? 1 : given.bits == 32 ? 2 : 3;
    if (given.lanes != 1 || given.bits != 8 << shift) return DType::none;
    constexpr DType ints[] = {DType::int8, DType::int16, DType::int32, DType::int64};
    constexpr DType uints[] = {DType::uint8, DType::uint16, DType::uint32, DType::uint64};
    switch (static_cast<nb::dlpack::dtype_code>(given.code)) {
        case nb::dlpack::dtype_code::Int: return ints[shift];
        case nb::dlpack::dtype_code::UInt: return uints[shift];
        case nb::dlpack::dtype_code::Bool: return shift == 0 ? DType::bool_ : DType::none;
        case nb::dlpack::dtype_code::Float:
            return shift == 3 ? DType::float64 : shift == 2 ? DType::float32 : DType::none;
        default: return DType::none;
    }
}

// Memory of the host that a device can reach is memory of the host.
int device_of(int given) {
    constexpr int cuda_host = 3, rocm_host = 11;
    return given == cuda_host || given == rocm_host ? device_cpu : given;
}

bool fill_from_tensor(FieldView* view, const nb::dlpack::dltensor& tensor, bool readonly,
                      PyObject* owner, PyObject* dims) {
    const DType dtype = dtype_of(tensor.dtype);
    if (dtype == DType::none || tensor.ndim < 0) return false;
    std::vector<Py_ssize_t> shape(tensor.shape, tensor.shape + tensor.ndim), strides(tensor.ndim);
    Py_ssize_t step = Py_ssize_t{1} << dtype_shift(dtype);
    for (int i = tensor.ndim - 1; i >= 0; --i) {
        strides[i] = tensor.strides != nullptr ? tensor.strides[i] << dtype_shift(dtype) : step;
        step *= shape[i];
    }
    const auto pointer = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
    return fill_from_memory(view,
                            {pointer, tensor.ndim, shape.data(), strides.data(), dtype,
                             device_of(tensor.device.device_type), tensor.device.device_id,
                             readonly, owner},
                            dims, nullptr);
}

PyObject* find_capsule(PyObject* array) {
    static PyObject* const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    PyObject* found = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(array)), name);
    if (found == nullptr) PyErr_Clear();
    return found;
}

// The table of a library lives as long as the process; null where there is none that we know.
const Exchange* find_exchange(PyObject* array) {
    const Held capsule(find_capsule(array));
    if (!capsule) return nullptr;
    void* table = PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api");
    if (table == nullptr) PyErr_Clear();
    const auto* exchange = static_cast<const Exchange*>(table);
    while (exchange != nullptr && exchange->version.major != major_version) {
        exchange = exchange->previous;
    }
    return exchange;
}

bool fill_from_exchange(FieldView* view, const Exchange& exchange, PyObject* array,
                        PyObject* dims) {
    Managed* managed = nullptr;
    if (exchange.export_array(array, &managed) != 0 || managed == nullptr) return false;
    const nb::capsule owner(managed, [](void* each) noexcept {
        auto* given = static_cast<Managed*>(each);
        if (given->deleter != nullptr) given->deleter(given);
    });
    const bool readonly = (managed->flags & (flag_read_only | flag_copied)) != 0;
    return fill_from_tensor(view, managed->tensor, readonly, owner.ptr(), dims);
}

template <typename Array>
nb::dlpack::dltensor tensor_of(const Array& array) {
    return {const_cast<void*>(static_cast<const void*>(array.data())),
            {array.device_type(), array.device_id()},
            static_cast<int32_t>(array.ndim()),
            array.dtype(),
            const_cast<int64_t*>(array.shape_ptr()),
            const_cast<int64_t*>(array.stride_ptr()),
            0};
}

template <typename Array>
bool fill_from_nanobind(FieldView* view, Array given, bool readonly, PyObject* dims) {
    const nb::dlpack::dltensor tensor = tensor_of(given);
    const nb::capsule owner(new Array(std::move(given)), [](void* each) noexcept {
        delete static_cast<Array*>(each);
    });
    return fill_from_tensor(view, tensor, readonly, owner.ptr(), dims);
}

}  // namespace

bool has_dlpack(PyObject* array) {
    return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(array)), "__dlpack__");
}

// nanobind knows the versions of the capsules; what is not writable it hands out only as such.
bool fill_from_dlpack(FieldView* view, PyObject* array, PyObject* dims) {
    if (const Exchange* exchange = find_exchange(array)) {
        return fill_from_exchange(view, *exchange, array, dims);
    }
    nb::ndarray<> writable;
    if (nb::try_cast(nb::handle(array), writable, false)) {
        return fill_from_nanobind(view, std::move(writable), false, dims);
    }
    nb::ndarray<nb::ro> readable;
    return nb::try_cast(nb::handle(array), readable, false) &&
           fill_from_nanobind(view, std::move(readable), true, dims);
}

}  // namespace fieldforge
