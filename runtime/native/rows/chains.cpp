// The source of all links: CMake compiles it once for each class of processors, as `kernels.cpp`.
#include "chains.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace fieldforge::rows {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
#ifdef __clang__
#define TAIL [[clang::musttail]]
#else
#define TAIL
#endif

using s32 = int32_t;
using s64 = int64_t;
using u8 = uint8_t;
using f32 = float;
using f64 = double;
using Register = f64 __attribute__((vector_size(vector_bytes)));
#define PARAMETERS                                                                                \
    const Link *link, char *const *pointers, const s64 *at, s64 row, Register r0, Register r1,    \
        Register r2, Register r3, Register r4, Register r5, Register r6, Register r7
#define LANES pointers, at, row
#define NEXT(l) \
    TAIL return reinterpret_cast<Run>((l)->run)(l, LANES, r0, r1, r2, r3, r4, r5, r6, r7)
using Run = void (*)(PARAMETERS);

#include "registers.inc"

#include "links.inc"

// --- operations ---------------------------------------------------------------------------------

#define OPERATION_1(name, value)                                      \
    struct name {                                                     \
        template <class P>                                            \
        static typename P::Vector of(typename P::Vector a) {          \
            return value;                                             \
        }                                                             \
    };
#define OPERATION_2(name, result, value)                                                   \
    struct name {                                                                          \
        template <class P>                                                                 \
        static typename P::result of(typename P::Vector a, typename P::Vector b) {         \
            return value;                                                                  \
        }                                                                                  \
    };
OPERATION_2(Add, Vector, a + b)
OPERATION_2(Sub, Vector, a - b)
OPERATION_2(SubFrom, Vector, b - a)
OPERATION_2(Mul, Vector, a* b)
OPERATION_2(Div, Vector, a / b)
OPERATION_2(DivOf, Vector, b / a)
OPERATION_2(Minimum, Vector, a != a ? a : (a < b ? a : b))
OPERATION_2(MinimumOf, Vector, b != b ? b : (b < a ? b : a))
OPERATION_2(Maximum, Vector, a != a ? a : (a > b ? a : b))
OPERATION_2(MaximumOf, Vector, b != b ? b : (b > a ? b : a))
OPERATION_2(Less, Mask, a < b)
OPERATION_2(LessEqual, Mask, a <= b)
OPERATION_2(Greater, Mask, a > b)
OPERATION_2(GreaterEqual, Mask, a >= b)
OPERATION_2(Equal, Mask, a == b)
OPERATION_2(Unequal, Mask, a != b)
OPERATION_1(Neg, -a)

struct Abs {
    template <class P>
    static typename P::Vector of(typename P::Vector a) {
        typename P::Mask bits = reinterpret_cast<typename P::Mask>(a);
        using Item = typename P::Whole;
        bits &= static_cast<Item>(~Item{0} ^ (Item{1} << (8 * sizeof(Item) - 1)));
        return reinterpret_cast<typename P::Vector>(bits);
    }
};
struct Sqrt {
    template <class P>
    static typename P::Vector of(typename P::Vector a) {
        for (int k = 0; k < P::each; ++k) a[k] = sizeof a[0] == 8 ? __builtin_sqrt(a[k]) : __builtin_sqrtf(a[k]);
        return a;
    }
};

// --- the table ----------------------------------------------------------------------------------

// Lanes of the whole registers, and of the part of them that comes next. Columns of 80 levels are one
// of each, with both sizes of numbers.
template <class T>
constexpr int whole = 8 * vector_bytes / sizeof(T);
template <class T>
constexpr int middle = whole<T> / (sizeof(T) == 4 ? 2 : 4);
#define ANY(...) reinterpret_cast<void (*)()>(&__VA_ARGS__)
#define LINK(op, T, ones, function, ...)                                                            \
    {op, sizeof(T), ones,                                                                           \
     {ANY(function<T, whole<T>, ones __VA_OPT__(, ) __VA_ARGS__>),                                  \
      ANY(function<T, middle<T>, ones __VA_OPT__(, ) __VA_ARGS__>),                                 \
      ANY(function<T, whole<T> / 8, ones __VA_OPT__(, ) __VA_ARGS__>),                              \
      ANY(function<T, 1, ones __VA_OPT__(, ) __VA_ARGS__>)}},
#define X(op, T, ...) LINK(op, T, 0, __VA_ARGS__) LINK(op, T, 1, __VA_ARGS__)
#define XY(op, T, ...) X(op, T, __VA_ARGS__) LINK(op, T, 2, __VA_ARGS__) LINK(op, T, 3, __VA_ARGS__)
#define XYZ(op, T, ...)                                                                              \
    XY(op, T, __VA_ARGS__) LINK(op, T, 4, __VA_ARGS__) LINK(op, T, 5, __VA_ARGS__)                   \
    LINK(op, T, 6, __VA_ARGS__) LINK(op, T, 7, __VA_ARGS__)
#define PAIRS(op, T, Op) XY(op "+add", T, pair, Op, Add) XY(op "+sub", T, pair, Op, Sub) XY(op "+mul", T, pair, Op, Mul)
#define FMAS(op, T, minus) XY(op "_factor", T, fma_factor, minus) XY(op "_summand", T, fma_summand, minus) XYZ(op, T, fma_fresh, minus)
#define COMPARISON(op, T, Op) X(op, T, compare, Op) XYZ("choose_" op, T, choose, Op)
#define FOR_TYPE(T)                                                                                  \
    X("load", T, load) LINK("when", T, 2, when) LINK("store", T, 0, store) LINK("ask", T, 0, ask)    \
    LINK("stream", T, 0, stream)                                                                     \
    LINK("neg", T, 0, one_operand, Neg) LINK("abs", T, 0, one_operand, Abs)                          \
    LINK("sqrt", T, 0, one_operand, Sqrt)                                                            \
    X("add", T, with, Add) X("sub", T, with, Sub) X("sub_from", T, with, SubFrom)                    \
    X("mul", T, with, Mul) X("div", T, with, Div) X("div_of", T, with, DivOf)                        \
    X("minimum", T, with, Minimum) X("minimum_of", T, with, MinimumOf)                               \
    X("maximum", T, with, Maximum) X("maximum_of", T, with, MaximumOf)                               \
    XY("fresh_add", T, fresh, Add) XY("fresh_sub", T, fresh, Sub) XY("fresh_mul", T, fresh, Mul)     \
    XY("fresh_div", T, fresh, Div) XY("fresh_minimum", T, fresh, Minimum)                            \
    XY("fresh_maximum", T, fresh, Maximum)                                                           \
    PAIRS("add", T, Add) PAIRS("sub", T, Sub) PAIRS("sub_from", T, SubFrom) PAIRS("mul", T, Mul)     \
    XY("minimum+minimum", T, pair, Minimum, Minimum)                                                 \
    XY("minimum_of+minimum", T, pair, MinimumOf, Minimum)                                            \
    XY("maximum+maximum", T, pair, Maximum, Maximum)                                                 \
    XY("maximum_of+maximum", T, pair, MaximumOf, Maximum)                                            \
    FMAS("fma", T, 0) FMAS("fnma", T, 1) FMAS("fms", T, 2) FMAS("fnms", T, 3)                        \
    LINK("dot", T, 0, dot, false) LINK("dot", T, 10, dot, false)                                     \
    LINK("add+dot", T, 0, dot, true) LINK("add+dot", T, 10, dot, true)                               \
    LINK("add_product_when", T, 12, add_product_when) LINK("add_product_when", T, 14, add_product_when) \
    XY("select_first", T, select, true) XY("select_second", T, select, false)                        \
    COMPARISON("lt", T, Less) COMPARISON("le", T, LessEqual) COMPARISON("gt", T, Greater)            \
    COMPARISON("ge", T, GreaterEqual) COMPARISON("eq", T, Equal) COMPARISON("ne", T, Unequal)

const NamedLink links[] = {
    FOR_TYPE(f32) FOR_TYPE(f64)
    {"end", 0, 0, {ANY(end), ANY(end), ANY(end), ANY(end)}},
};

void run(const Link* const* forms, const Lanes& lanes, int size, s64 count, bool repeats, const char* row) {
    const s64 most = 8 * vector_bytes / size, sizes[form_count] = {most, size == 4 ? middle<f32> : middle<f64>, most / 8, 1};
    s64 done = 0;
    const auto one_block = [&](int form, s64 first) {
        const Register none{};
        const s64 at[2] = {lanes.at[0] + first, lanes.at[1] + first};
        reinterpret_cast<Run>(forms[form]->run)(forms[form], lanes.pointers, at, lanes.row, none, none, none, none, none, none, none, none);
        done = first + sizes[form];
    };
    const s64 beside = reinterpret_cast<uintptr_t>(row) % vector_bytes;
    if (repeats && beside != 0 && beside % size == 0 && count >= 2 * most) {
        one_block(2, 0);
        done = (vector_bytes - beside) / size;
    }
    while (count - done >= most) one_block(0, done);
    if (repeats && count > most && count - done > most / 2) one_block(0, count - most);
    for (int form = 1; form < form_count; ++form) {
        const s64 each = sizes[form];
        while (count - done >= each) one_block(form, done);
        // one larger block once more is faster than several small ones
        if (repeats && form == 1 && count > each && count - done > each / 2) one_block(form, count - each);
        if (repeats && form == 2 && done < count && count >= each) one_block(form, count - each);
    }
}

}  // namespace

extern const ChainTable CLASS_CHAINS;
const ChainTable CLASS_CHAINS{links, sizeof links / sizeof *links, run};

}  // namespace fieldforge::rows
