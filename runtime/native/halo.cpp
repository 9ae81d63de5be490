// Rows of a field are filled with other rows of it, with their negatives, or with a number.
//
// The integers of a call, which `runtime/calls/boundaries.py` plans: the size of an element as a
// power of 2, whether it is a float, the number of axes, start, stop and stride of each, the number
// of transfers, and each `Transfer`.
#include "halo.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "work.h"

namespace fieldforge {
namespace {

constexpr int most_axes = 64;  // of an array of NumPy

enum Kind : int64_t { copied, negated, set };

struct AxisWords {
    int64_t start, stop, stride;
};

// Row `to + i * to_step` along an axis becomes row `from + i * from_step`, for i below `depth`;
// `set` takes the number in scalar slot `from`, 0 if that is negative.
struct Transfer {
    int64_t axis, kind, depth, to, to_step, from, from_step;
};

struct Loop {
    int64_t count, to, from;  // steps in elements
};

template <typename T, typename Op>
void run(T* to, const T* from, const Loop* loop, const Loop* end, Op op) {
    const auto [count, to_step, from_step] = *loop;
    if (loop + 1 != end) {
        for (int64_t i = 0; i < count; ++i) {
            run(to + i * to_step, from + i * from_step, loop + 1, end, op);
        }
    } else if (to_step == 1 && from_step == 1) {
        for (int64_t i = 0; i < count; ++i) to[i] = op(from[i]);
    } else {
        for (int64_t i = 0; i < count; ++i) to[i * to_step] = op(from[i * from_step]);
    }
}

template <typename T>
T negative(T value) {
    if constexpr (std::is_floating_point_v<T>) return -value;
    else return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value));  // the least wraps
}

template <typename T>
void transfer(const Transfer& each, T* field, const AxisWords* axes, int rank,
              const uint64_t* scalars) {
    const bool is_set = each.kind == set;
    T number = 0;
    if (is_set && each.from >= 0) std::memcpy(&number, &scalars[each.from], sizeof number);
    const T* from = is_set ? &number : field;
    std::array<Loop, most_axes> loops;
    for (int i = 0; i < rank; ++i) {
        const auto [start, stop, stride] = axes[i];
        const bool is_filled = i == each.axis;
        Loop& loop = loops[i];
        loop = is_filled ? Loop{each.depth, each.to_step * stride, each.from_step * stride}
                         : Loop{stop - start, stride, stride};
        if (loop.count <= 0) return;
        field += (is_filled ? each.to : start) * stride;
        if (is_set) loop.from = 0;
        else from += (is_filled ? each.from : start) * stride;
    }
    const auto wide = [](const Loop& loop) { return loop.to < 0 ? -loop.to : loop.to; };
    std::sort(loops.begin(), loops.begin() + rank,
              [&](const Loop& one, const Loop& other) { return wide(one) > wide(other); });
    const Loop* const end = loops.data() + rank;
    if (each.kind == negated) run(field, from, loops.data(), end, negative<T>);
    else run(field, from, loops.data(), end, [](T value) { return value; });
}

template <typename T>
void transfer_all(void* field, const AxisWords* axes, int rank, const int64_t* rest,
                  const uint64_t* scalars) {
    const auto* transfers = reinterpret_cast<const Transfer*>(rest + 1);
    for (int64_t i = 0; i < rest[0]; ++i) {
        transfer(transfers[i], static_cast<T*>(field), axes, rank, scalars);
    }
}

// What each row of a halo has goes back to the row that it is a copy of, and the halo gets 0.
template <typename T, typename Op>
void give_back(T* to, T* from, const Loop* loop, const Loop* end, Op op) {
    const auto [count, to_step, from_step] = *loop;
    for (int64_t i = 0; i < count; ++i) {
        if (loop + 1 != end) give_back(to + i * to_step, from + i * from_step, loop + 1, end, op);
        else op(to[i * to_step], from[i * from_step]);
    }
}

template <typename T>
void transfer_back(const Transfer& each, T* field, const AxisWords* axes, int rank) {
    const bool is_set = each.kind == set;
    T nothing = 0;
    T* from = is_set ? &nothing : field;
    std::array<Loop, most_axes> loops;
    for (int i = 0; i < rank; ++i) {
        const auto [start, stop, stride] = axes[i];
        const bool is_filled = i == each.axis;
        const int64_t last = each.depth - 1;  // rows go back in the opposite order
        Loop& loop = loops[i];
        loop = is_filled ? Loop{each.depth, -each.to_step * stride, -each.from_step * stride}
                         : Loop{stop - start, stride, stride};
        if (loop.count <= 0) return;
        field += (is_filled ? each.to + last * each.to_step : start) * stride;
        if (is_set) loop.from = 0;
        else from += (is_filled ? each.from + last * each.from_step : start) * stride;
    }
    const auto wide = [](const Loop& loop) { return loop.to < 0 ? -loop.to : loop.to; };
    std::sort(loops.begin(), loops.begin() + rank,
              [&](const Loop& one, const Loop& other) { return wide(one) > wide(other); });
    const Loop* const end = loops.data() + rank;
    if (each.kind == negated) {
        give_back(field, from, loops.data(), end, [](T& to, T& of) { of -= to, to = 0; });
    } else if (is_set) {
        give_back(field, from, loops.data(), end, [](T& to, T&) { to = 0; });
    } else {
        give_back(field, from, loops.data(), end, [](T& to, T& of) { of += to, to = 0; });
    }
}

template <typename T>
void transfer_all_back(void* field, const AxisWords* axes, int rank, const int64_t* rest) {
    const auto* transfers = reinterpret_cast<const Transfer*>(rest + 1);
    for (int64_t i = rest[0]; i-- > 0;) {
        transfer_back(transfers[i], static_cast<T*>(field), axes, rank);
    }
}

// The integers are those of `fill_halo`; the field is one of floats.
int32_t fill_halo_adjoint(const void* const* pointers, const int64_t* ints, const void*, void*,
                          const Context*) {
    const int rank = static_cast<int>(ints[2]);
    const auto* axes = reinterpret_cast<const AxisWords*>(ints + 3);
    const auto* rest = reinterpret_cast<const int64_t*>(axes + rank);
    void* const field = const_cast<void*>(pointers[0]);
    if (ints[0] == 2) transfer_all_back<float>(field, axes, rank, rest);
    else transfer_all_back<double>(field, axes, rank, rest);
    return 0;
}

int32_t fill_halo(const void* const* pointers, const int64_t* ints, const void* scalars, void*,
                  const Context*) {
    const int64_t shift = ints[0], is_float = ints[1];
    const int rank = static_cast<int>(ints[2]);
    const auto* axes = reinterpret_cast<const AxisWords*>(ints + 3);
    const auto* transfers = reinterpret_cast<const int64_t*>(axes + rank);
    const auto go = [&](auto* as) {
        using T = std::remove_pointer_t<decltype(as)>;
        transfer_all<T>(const_cast<void*>(pointers[0]), axes, rank, transfers,
                        static_cast<const uint64_t*>(scalars));
    };
    switch (shift) {
        case 0: go(static_cast<int8_t*>(nullptr)); break;
        case 1: go(static_cast<int16_t*>(nullptr)); break;
        case 2: is_float ? go(static_cast<float*>(nullptr)) : go(static_cast<int32_t*>(nullptr)); break;
        default: is_float ? go(static_cast<double*>(nullptr)) : go(static_cast<int64_t*>(nullptr));
    }
    return 0;
}

}  // namespace

void add_halo(nanobind::module_& module) {
    const EntryPoint entry = fill_halo;
    module.attr("halo_entry") = reinterpret_cast<uintptr_t>(entry);
    const EntryPoint adjoint = fill_halo_adjoint;
    module.attr("halo_adjoint_entry") = reinterpret_cast<uintptr_t>(adjoint);
}

}  // namespace fieldforge
