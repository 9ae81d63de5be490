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

#include "operations.inc"

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
