// The source of all kernels: CMake compiles it once for each class of processors, with the flags of
// the class, its name as CLASS_NAME, its tables as CLASS_TABLE and CLASS_CHAINS (`chains.cpp`).
//
// The values are those of the code that `stages/codegen/rows/spellings.py` writes: no product and sum
// is fused, and integers wrap. Everything here is local to the file, so that the linker does not mix
// functions of different classes.
#include "kernels.h"

namespace fieldforge::rows {
namespace {

using b8 = uint8_t;  // a bool in memory: 0 or 1
using s8 = int8_t;
using u8 = uint8_t;
using s16 = int16_t;
using u16 = uint16_t;
using s32 = int32_t;
using u32 = uint32_t;
using s64 = int64_t;
using u64 = uint64_t;
using f32 = float;
using f64 = double;

#include "mathematics.inc"

template <class T>
constexpr bool is_float = false;
template <>
constexpr bool is_float<f32> = true;
template <>
constexpr bool is_float<f64> = true;
template <class T>
constexpr bool is_signed = T(-1) < T(0);

// --- loops --------------------------------------------------------------------------------------

template <class Operation, class R, class A>
void one(void* out, const void* a, const void*, const void*, int64_t count) {
    auto* r = static_cast<R*>(out);
    auto* x = static_cast<const A*>(a);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) r[i] = static_cast<R>(Operation::of(x[i]));
}

template <class Operation, class R, class A, class B = A>
void two(void* out, const void* a, const void* b, const void*, int64_t count) {
    auto* r = static_cast<R*>(out);
    auto* x = static_cast<const A*>(a);
    auto* y = static_cast<const B*>(b);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) r[i] = static_cast<R>(Operation::of(x[i], y[i]));
}

template <class Operation, class R, class A>
void three(void* out, const void* a, const void* b, const void* c, int64_t count) {
    auto* r = static_cast<R*>(out);
    auto* x = static_cast<const A*>(a);
    auto* y = static_cast<const R*>(b);
    auto* z = static_cast<const R*>(c);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) r[i] = Operation::of(x[i], y[i], z[i]);
}

// --- operations ---------------------------------------------------------------------------------

#define OPERATION_1(name, value)          \
    struct name {                         \
        template <class T>                \
        static auto of(T a) {             \
            return value;                 \
        }                                 \
    };
#define OPERATION_2(name, value)          \
    struct name {                         \
        template <class T>                \
        static auto of(T a, T b) {        \
            return value;                 \
        }                                 \
    };
#define FUNCTION(name, builtin)                                  \
    struct name {                                                \
        static f64 of(f64 a) { return __builtin_##builtin(a); }  \
        static f32 of(f32 a) { return __builtin_##builtin##f(a); } \
    };
#define FUNCTION_2(name, builtin)                                          \
    struct name {                                                          \
        static f64 of(f64 a, f64 b) { return __builtin_##builtin(a, b); }  \
        static f32 of(f32 a, f32 b) { return __builtin_##builtin##f(a, b); } \
    };

OPERATION_2(Add, T(a + b))
OPERATION_2(Sub, T(a - b))
OPERATION_2(Mul, T(a * b))
OPERATION_2(Equal, a == b)
OPERATION_2(Unequal, a != b)
OPERATION_2(Less, a < b)
OPERATION_2(LessEqual, a <= b)
OPERATION_2(Greater, a > b)
OPERATION_2(GreaterEqual, a >= b)
OPERATION_2(And, a & b)
OPERATION_2(Or, a | b)
OPERATION_2(Xor, a ^ b)
OPERATION_1(Not, !a)
OPERATION_1(Neg, T(-a))
OPERATION_1(IsNan, a != a)
OPERATION_1(Same, a)
FUNCTION(Size, fabs)
FUNCTION(Sqrt, sqrt)
FUNCTION(Exp, exp)
FUNCTION(Log, log)
FUNCTION(Sin, sin)
FUNCTION(Cos, cos)
FUNCTION(Tan, tan)
FUNCTION(Arcsin, asin)
FUNCTION(Arccos, acos)
FUNCTION(Arctan, atan)
FUNCTION(Sinh, sinh)
FUNCTION(Cosh, cosh)
FUNCTION(Tanh, tanh)
FUNCTION(Arcsinh, asinh)
FUNCTION(Arccosh, acosh)
FUNCTION(Arctanh, atanh)
FUNCTION(Cbrt, cbrt)
FUNCTION(Gamma, tgamma)
FUNCTION(Floor, floor)
FUNCTION(Ceil, ceil)
FUNCTION(Trunc, trunc)
FUNCTION_2(Fmod, fmod)
FUNCTION_2(CopySign, copysign)
FUNCTION_2(LibraryPow, pow)
OPERATION_1(IsInf, Size::of(a) == T(__builtin_inf()))
OPERATION_1(IsFinite, Size::of(a) < T(__builtin_inf()))

struct Fma {
    static f64 of(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
    static f32 of(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
};

struct Select {
    template <class T>
    static T of(b8 condition, T a, T b) {
        return condition ? a : b;
    }
};

struct Minimum {
    template <class T>
    static T of(T a, T b) {
        const T beyond = a < b ? a : b;
        return a != a ? a : beyond;
    }
};

struct Maximum {
    template <class T>
    static T of(T a, T b) {
        const T beyond = a > b ? a : b;
        return a != a ? a : beyond;
    }
};

struct Abs {
    template <class T>
    static T of(T a) {
        if constexpr (is_float<T>) {
            return Size::of(a);
        } else {
            return T(a < 0 ? -a : a);
        }
    }
};

struct Div {
    template <class T>
    static T of(T a, T b) {
        if constexpr (is_float<T>) {
            return a / b;
        } else {
            if (b == 0) return 0;
            if (is_signed<T> && b == T(-1)) return T(-a);  // MIN / -1 does not fit and would trap
            return T(a / b);
        }
    }
};

struct Remainder {  // `fmod` of integers
    template <class T>
    static T of(T a, T b) {
        if constexpr (is_float<T>) {
            return Fmod::of(a, b);
        } else {
            if (b == 0 || (is_signed<T> && b == T(-1))) return 0;
            return T(a % b);
        }
    }
};

struct FloorDiv {
    template <class T>
    static T of(T a, T b) {
        if constexpr (is_float<T>) {
            if (b == T(0)) return a / b;
            const T r = Fmod::of(a, b);
            const bool down = r != T(0) && (r < T(0)) != (b < T(0));
            const T q = (a - r) / b - (down ? T(1) : T(0));
            if (q == T(0)) return CopySign::of(T(0), a / b);
            const T whole = Floor::of(q);
            return q - whole > T(0.5) ? whole + T(1) : whole;
        } else {
            if (b == 0) return 0;
            if (is_signed<T> && b == T(-1)) return T(-a);
            const T r = T(a % b);
            return T(a / b - (r != 0 && (r < 0) != (b < 0) ? 1 : 0));
        }
    }
};

struct Mod {
    template <class T>
    static T of(T a, T b) {
        if constexpr (is_float<T>) {
            const T r = Fmod::of(a, b);
            const bool down = r != T(0) && (r < T(0)) != (b < T(0));
            return down ? r + b : r != T(0) ? r : CopySign::of(T(0), b);
        } else {
            if (b == 0 || (is_signed<T> && b == T(-1))) return 0;
            const T r = T(a % b);
            return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
        }
    }
};

struct Pow {
    template <class T>
    static T of(T a, T b) {
        const T infinity = T(__builtin_inf());
        if (b == T(0.5)) return a == -infinity ? infinity : Sqrt::of(a) + T(0);
        return LibraryPow::of(a, b);
    }
};

struct WholePow {
    template <class T, class E>
    static T of(T a, E b) {
        if (is_signed<E> && b < 0) {
            return T(a == 1 ? 1 : is_signed<T> && a == T(-1) ? (b % 2 ? -1 : 1) : 0);
        }
        u64 product = 1, square = u64(a), rest = u64(b);
        for (; rest; rest >>= 1, square *= square) {
            if (rest & 1) product *= square;
        }
        return T(product);
    }
};

template <class R>
struct Cast {
    template <class A>
    static R of(A a) {
        if constexpr (!is_float<A> || is_float<R>) {
            return static_cast<R>(a);
        } else {  // out of the range of an integer saturates, NaN gives 0
            constexpr int bits = 8 * sizeof(R) - is_signed<R>;
            constexpr R most = R(u64(-1) >> (64 - bits)), least = is_signed<R> ? R(-most - 1) : R(0);
            constexpr A high = 2.0 * A(u64(1) << (bits - 1)), low = is_signed<R> ? -high : A(0);
            const R inside = a == a ? R(a) : R(0);
            return a < low ? least : a >= high ? most : inside;
        }
    }
};

struct Truth {
    template <class A>
    static b8 of(A a) {
        return a != 0;
    }
};

#define OWN(name)                                          \
    struct Own_##name {                                    \
        static f64 of(f64 a) { return name##_f64(a); }     \
        static f32 of(f32 a) { return name##_f32(a); }     \
    };
#define OWN_FUNCTIONS(X) \
    X(exp) X(log) X(sinh) X(cosh) X(tanh) X(arcsinh) X(arccosh) X(arctanh) X(arctan) X(arcsin) X(arccos) X(cbrt)
OWN_FUNCTIONS(OWN)
struct OwnPow {
    static f64 of(f64 a, f64 b) { return pow_f64(a, b); }
    static f32 of(f32 a, f32 b) { return pow_f32(a, b); }
};

// --- the table ----------------------------------------------------------------------------------

#define FLOATS(X) X(float32, f32) X(float64, f64)
#define INTEGERS(X)                                                                            \
    X(int8, s8) X(uint8, u8) X(int16, s16) X(uint16, u16) X(int32, s32) X(uint32, u32)         \
    X(int64, s64) X(uint64, u64)
#define NUMBERS(X) FLOATS(X) INTEGERS(X)
#define ALL(X) NUMBERS(X) X(bool, b8)

#define FOR_NUMBERS(dtype, T)                                                                      \
    {"add." #dtype, two<Add, T, T>}, {"sub." #dtype, two<Sub, T, T>},                              \
    {"mul." #dtype, two<Mul, T, T>}, {"div." #dtype, two<Div, T, T>},                              \
    {"floordiv." #dtype, two<FloorDiv, T, T>}, {"mod." #dtype, two<Mod, T, T>},                    \
    {"fmod." #dtype, two<Remainder, T, T>}, {"minimum." #dtype, two<Minimum, T, T>},               \
    {"maximum." #dtype, two<Maximum, T, T>}, {"neg." #dtype, one<Neg, T, T>},                      \
    {"abs." #dtype, one<Abs, T, T>},
#define FOR_ALL(dtype, T)                                                                          \
    {"eq." #dtype, two<Equal, b8, T>}, {"ne." #dtype, two<Unequal, b8, T>},                        \
    {"lt." #dtype, two<Less, b8, T>}, {"le." #dtype, two<LessEqual, b8, T>},                       \
    {"gt." #dtype, two<Greater, b8, T>}, {"ge." #dtype, two<GreaterEqual, b8, T>},                 \
    {"cast.bool." #dtype, one<Truth, b8, T>}, CASTS(dtype, T)
#define CASTS(dtype, T)                                                                            \
    {"cast.float32." #dtype, one<Cast<f32>, f32, T>}, {"cast.float64." #dtype, one<Cast<f64>, f64, T>}, \
    {"cast.int8." #dtype, one<Cast<s8>, s8, T>}, {"cast.uint8." #dtype, one<Cast<u8>, u8, T>},     \
    {"cast.int16." #dtype, one<Cast<s16>, s16, T>}, {"cast.uint16." #dtype, one<Cast<u16>, u16, T>}, \
    {"cast.int32." #dtype, one<Cast<s32>, s32, T>}, {"cast.uint32." #dtype, one<Cast<u32>, u32, T>}, \
    {"cast.int64." #dtype, one<Cast<s64>, s64, T>}, {"cast.uint64." #dtype, one<Cast<u64>, u64, T>},
#define FOR_INTEGERS(dtype, T)                                                                     \
    {"pow." #dtype ".int64", two<WholePow, T, T, s64>},                                            \
    {"pow." #dtype ".uint64", two<WholePow, T, T, u64>},
#define LIBRARY_OF(dtype, T)                                                                       \
    {"sqrt." #dtype, one<Sqrt, T, T>}, {"exp." #dtype, one<Exp, T, T>},                            \
    {"log." #dtype, one<Log, T, T>}, {"sin." #dtype, one<Sin, T, T>},                              \
    {"cos." #dtype, one<Cos, T, T>}, {"tan." #dtype, one<Tan, T, T>},                              \
    {"arcsin." #dtype, one<Arcsin, T, T>}, {"arccos." #dtype, one<Arccos, T, T>},                  \
    {"arctan." #dtype, one<Arctan, T, T>}, {"sinh." #dtype, one<Sinh, T, T>},                      \
    {"cosh." #dtype, one<Cosh, T, T>}, {"tanh." #dtype, one<Tanh, T, T>},                          \
    {"arcsinh." #dtype, one<Arcsinh, T, T>}, {"arccosh." #dtype, one<Arccosh, T, T>},              \
    {"arctanh." #dtype, one<Arctanh, T, T>}, {"cbrt." #dtype, one<Cbrt, T, T>},                    \
    {"gamma." #dtype, one<Gamma, T, T>}, {"floor." #dtype, one<Floor, T, T>},                      \
    {"ceil." #dtype, one<Ceil, T, T>}, {"trunc." #dtype, one<Trunc, T, T>},                        \
    {"isnan." #dtype, one<IsNan, b8, T>}, {"isinf." #dtype, one<IsInf, b8, T>},                    \
    {"isfinite." #dtype, one<IsFinite, b8, T>}, {"fma." #dtype, three<Fma, T, T>},                 \
    {"pow." #dtype, two<Pow, T, T>}, {"library_pow." #dtype, two<LibraryPow, T, T>},               \
    {"own_pow." #dtype, two<OwnPow, T, T>},
#define OWN_OF(name)                                                                               \
    {"own_" #name ".float32", one<Own_##name, f32, f32>},                                          \
    {"own_" #name ".float64", one<Own_##name, f64, f64>},

constexpr NamedKernel kernels[] = {
    NUMBERS(FOR_NUMBERS) ALL(FOR_ALL) INTEGERS(FOR_INTEGERS) FLOATS(LIBRARY_OF) OWN_FUNCTIONS(OWN_OF)
    {"and.bool", two<And, b8, b8>}, {"or.bool", two<Or, b8, b8>}, {"xor.bool", two<Xor, b8, b8>},
    {"not.bool", one<Not, b8, b8>},
    {"select.1", three<Select, u8, b8>}, {"select.2", three<Select, u16, b8>},
    {"select.4", three<Select, u32, b8>}, {"select.8", three<Select, u64, b8>},
    {"copy.1", one<Same, u8, u8>}, {"copy.2", one<Same, u16, u16>}, {"copy.4", one<Same, u32, u32>},
    {"copy.8", one<Same, u64, u64>},
};

}  // namespace

extern const ChainTable CLASS_CHAINS;
extern const KernelTable CLASS_TABLE;
const KernelTable CLASS_TABLE{CLASS_NAME, kernels, sizeof kernels / sizeof *kernels, &CLASS_CHAINS};

}  // namespace fieldforge::rows
