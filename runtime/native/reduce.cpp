// Reduce the elements of an array to one number, in an order that threads do not change.
//
// The array is cut into chunks whose size depends on its shape only. Inside a chunk eight
// accumulators take the elements in turn; chunks are combined pairwise, in order. Threads share
// the chunks, so their number changes who computes a partial result and nothing else.
#include "reduce.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "interpreter_lock.h"
#include "thread_count.h"

namespace nb = nanobind;

namespace fieldforge {
namespace {

constexpr int64_t lanes = 8;
constexpr int64_t chunk_elements = 4096;
constexpr int64_t elements_per_thread = 1 << 17;  // fewer are not worth starting a thread

struct Axis {
    int64_t extent;
    int64_t stride;  // in bytes
};

// Sums wrap like int64; sums of floats are computed in double.
template <typename T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// `step` may lose a NaN where `loses_nan`, so that the compiler can use vectors: rows look for those
// themselves. `join` keeps them, as NumPy does.
template <typename T>
struct Add {
    using Value = Sum<T>;
    static constexpr Value first = 0;
    static constexpr bool loses_nan = false, squares = false;
    static Value step(Value a, Value b) { return a + b; }
    static Value join(Value a, Value b) { return a + b; }
};

template <typename T>
struct Squares {
    using Value = double;
    static constexpr Value first = 0;
    static constexpr bool loses_nan = false, squares = true;
    static Value step(Value a, Value b) { return a + b; }
    static Value join(Value a, Value b) { return a + b; }
};

template <typename T>
struct Largest {
    using Value = T;
    static constexpr Value first = std::numeric_limits<T>::has_infinity
                                       ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
    static constexpr bool loses_nan = std::is_floating_point_v<T>, squares = false;
    static Value step(Value a, Value b) { return b > a ? b : a; }
    static Value join(Value a, Value b) { return b != b ? b : step(a, b); }
};

template <typename T>
struct Smallest {
    using Value = T;
    static constexpr Value first = std::numeric_limits<T>::has_infinity
                                       ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
    static constexpr bool loses_nan = std::is_floating_point_v<T>, squares = false;
    static Value step(Value a, Value b) { return b < a ? b : a; }
    static Value join(Value a, Value b) { return b != b ? b : step(a, b); }
};

// Where the rows of an array lie: its innermost axis, cut into pieces, is a row.
struct Rows {
    const char* base;
    std::vector<Axis> outer;  // the slowest first
    Axis inner;
    int64_t pieces;          // of each innermost axis
    int64_t rows;            // pieces of all
    int64_t rows_per_chunk;
    int64_t chunks;
};

template <typename T, typename Op>
typename Op::Value value_of(T x) {
    const auto value = static_cast<typename Op::Value>(x);
    if constexpr (Op::squares) return value * value;
    return value;
}

template <typename T, typename Op, bool is_dense>
typename Op::Value reduce_row(const char* start, int64_t count, int64_t stride) {
    using Value = typename Op::Value;
    const auto at = [=](int64_t i) {
        const int64_t step = is_dense ? static_cast<int64_t>(sizeof(T)) : stride;
        return value_of<T, Op>(*reinterpret_cast<const T*>(start + i * step));
    };
    Value part[lanes];
    for (Value& each : part) each = Op::first;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (int64_t j = 0; j < lanes; ++j) part[j] = Op::step(part[j], at(i + j));
    }
    for (int64_t j = 0; i + j < count; ++j) part[j] = Op::step(part[j], at(i + j));
    for (int64_t width = lanes / 2; width > 0; width /= 2) {
        for (int64_t j = 0; j < width; ++j) part[j] = Op::join(part[j], part[j + width]);
    }
    if constexpr (Op::loses_nan) {
        // The row is in the cache by now.
        int64_t missing = 0;
        for (int64_t k = 0; k < count; ++k) {
            const Value x = at(k);
            missing += x != x;
        }
        if (missing > 0) return std::numeric_limits<Value>::quiet_NaN();
    }
    return part[0];
}

template <typename T, typename Op>
typename Op::Value reduce_chunk(const Rows& rows, int64_t chunk) {
    typename Op::Value total = Op::first;
    const int64_t stop = std::min((chunk + 1) * rows.rows_per_chunk, rows.rows);
    for (int64_t row = chunk * rows.rows_per_chunk; row < stop; ++row) {
        const int64_t piece = row % rows.pieces;
        int64_t outer = row / rows.pieces, offset = 0;
        for (size_t axis = rows.outer.size(); axis-- > 0;) {
            offset += (outer % rows.outer[axis].extent) * rows.outer[axis].stride;
            outer /= rows.outer[axis].extent;
        }
        const int64_t first = piece * chunk_elements;
        const int64_t count = std::min(chunk_elements, rows.inner.extent - first);
        const char* start = rows.base + offset + first * rows.inner.stride;
        const bool is_dense = rows.inner.stride == static_cast<int64_t>(sizeof(T));
        const auto reduce = is_dense ? reduce_row<T, Op, true> : reduce_row<T, Op, false>;
        total = Op::join(total, reduce(start, count, rows.inner.stride));
    }
    return total;
}

// Works on the chunks with so many threads; with fewer if the system gives no more.
template <typename Body>
void share(int64_t chunks, int threads, Body body) {
    std::atomic<int64_t> next{0};
    const auto work = [&] {
        for (int64_t chunk; (chunk = next.fetch_add(1)) < chunks;) body(chunk);
    };
    std::vector<std::thread> helpers;
    try {
        for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {
    }
    work();
    for (std::thread& helper : helpers) helper.join();
}

template <typename T, typename Op>
typename Op::Value reduce_all(const Rows& rows, int threads) {
    std::vector<typename Op::Value> parts(static_cast<size_t>(rows.chunks), Op::first);
    share(rows.chunks, threads, [&](int64_t chunk) {
        parts[static_cast<size_t>(chunk)] = reduce_chunk<T, Op>(rows, chunk);
    });
    size_t count = parts.size();
    while (count > 1) {
        const size_t half = (count + 1) / 2;
        for (size_t i = 0; i + half < count; ++i) parts[i] = Op::join(parts[i], parts[i + half]);
        count = half;
    }
    return parts.empty() ? Op::first : parts[0];
}

// Axes in the order of memory; neighbours that can be one axis are.
Rows rows_of(const Py_buffer& view) {
    std::vector<Axis> axes;
    for (int axis = 0; axis < view.ndim; ++axis) {
        if (view.shape[axis] != 1) axes.push_back({view.shape[axis], view.strides[axis]});
    }
    const char* base = static_cast<const char*>(view.buf);
    for (Axis& axis : axes) {
        if (axis.stride < 0 && axis.extent > 0) {
            base += (axis.extent - 1) * axis.stride;
            axis.stride = -axis.stride;
        }
    }
    std::stable_sort(axes.begin(), axes.end(),
                     [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    std::vector<Axis> merged;
    for (const Axis& axis : axes) {
        if (!merged.empty() && merged.back().stride == axis.extent * axis.stride) {
            merged.back() = {merged.back().extent * axis.extent, axis.stride};
        } else {
            merged.push_back(axis);
        }
    }
    Rows rows{base, {}, {1, view.itemsize}, 1, 1, 1, 0};
    if (!merged.empty()) {
        rows.inner = merged.back();
        merged.pop_back();
        rows.outer = std::move(merged);
    }
    rows.pieces = (rows.inner.extent + chunk_elements - 1) / chunk_elements;
    rows.rows = rows.pieces;
    for (const Axis& axis : rows.outer) rows.rows *= axis.extent;
    const int64_t width = std::max<int64_t>(1, std::min(rows.inner.extent, chunk_elements));
    rows.rows_per_chunk = std::max<int64_t>(1, chunk_elements / width);
    rows.chunks = (rows.rows + rows.rows_per_chunk - 1) / rows.rows_per_chunk;
    return rows;
}

int threads_for(int64_t elements) {
    const int64_t useful = std::max<int64_t>(1, elements / elements_per_thread);
    return static_cast<int>(std::min<int64_t>(useful, threads_of_call(0)));
}

nb::object number(uint8_t value) { return nb::bool_(value != 0); }
nb::object number(double value) { return nb::float_(value); }
nb::object number(float value) { return nb::float_(static_cast<double>(value)); }
nb::object number(int64_t value) { return nb::int_(value); }
nb::object number(int32_t value) { return nb::int_(value); }

template <typename T, typename Op>
nb::object run(const Rows& rows, int threads) {
    typename Op::Value found;
    {
        const LockReleased released;
        found = reduce_all<T, Op>(rows, threads);
    }
    return number(found);
}

template <typename T>
nb::object dispatch(const Rows& rows, int threads, const std::string& op) {
    if (op == "sum") return run<T, Add<T>>(rows, threads);
    if (op == "squares") return run<T, Squares<T>>(rows, threads);
    if (op == "max") return run<T, Largest<T>>(rows, threads);
    if (op == "min") return run<T, Smallest<T>>(rows, threads);
    throw std::invalid_argument("Unknown reduction '" + op + "'.");
}

// Holds the memory of an array for the time of a reduction.
struct View {
    Py_buffer buffer;
    explicit View(nb::handle array) {
        if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
            throw nb::python_error();
        }
    }
    ~View() { PyBuffer_Release(&buffer); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
};

nb::object reduce(nb::handle array, const std::string& op) {
    const View view(array);
    const Rows rows = rows_of(view.buffer);
    const int threads = threads_for(view.buffer.len / std::max<int64_t>(1, view.buffer.itemsize));
    const std::string format = view.buffer.format == nullptr ? "B" : view.buffer.format;
    const bool is_wide = view.buffer.itemsize == 8;
    if (format == "d") return dispatch<double>(rows, threads, op);
    if (format == "f") return dispatch<float>(rows, threads, op);
    if (format == "?") return dispatch<uint8_t>(rows, threads, op);
    if (format == "i" || format == "l" || format == "q") {
        return is_wide ? dispatch<int64_t>(rows, threads, op) : dispatch<int32_t>(rows, threads, op);
    }
    throw std::invalid_argument("No reduction over elements of format '" + format + "'.");
}

}  // namespace

void add_reduce(nb::module_& module) {
    module.def("reduce", [](nb::object array, const char* op) { return reduce(array, op); },
               nb::arg("array"), nb::arg("op"));
}

}  // namespace fieldforge
