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
#define PARAMETERS                                                                              \
    const Link *link, const Lanes *lanes, Register r0, Register r1, Register r2, Register r3,   \
        Register r4, Register r5, Register r6, Register r7
#define NEXT(l) \
    TAIL return reinterpret_cast<Run>((l)->run)(l, lanes, r0, r1, r2, r3, r4, r5, r6, r7)
using Run = void (*)(PARAMETERS);

template <int size>
struct Bits;
template <>
struct Bits<4> {
    using type = s32;
};
template <>
struct Bits<8> {
    using type = s64;
};

// Numbers of `count` lanes in registers, or in part of one.
template <class T, int count>
struct Pack {
    static constexpr int bytes = count * sizeof(T) < vector_bytes ? count * sizeof(T) : vector_bytes;
    static constexpr int registers = count * sizeof(T) / bytes;
    static constexpr int each = bytes / sizeof(T);
    using Whole = typename Bits<sizeof(T)>::type;
    typedef T Vector __attribute__((vector_size(bytes)));
    typedef Whole Mask __attribute__((vector_size(bytes)));
    Vector part[registers];
};

#define EACH _Pragma("GCC unroll 8") for (int i = 0; i < P::registers; ++i)

template <class P>
inline __attribute__((always_inline)) typename P::Vector from(Register r) {
    typename P::Vector made;
    __builtin_memcpy(&made, &r, sizeof made);
    return made;
}

template <class P>
inline __attribute__((always_inline)) Register into(Register r, typename P::Vector part) {
    if constexpr (sizeof part == sizeof r) {
        return reinterpret_cast<Register>(part);
    } else {
        __builtin_memcpy(&r, &part, sizeof part);
        return r;
    }
}

#define UNPACK                                                                                      \
    P acc;                                                                                          \
    {                                                                                               \
        const Register all[8] = {r0, r1, r2, r3, r4, r5, r6, r7};                                   \
        EACH acc.part[i] = from<P>(all[i]);                                                         \
    }
#define REPACK                                                                                      \
    {                                                                                               \
        Register all[8] = {r0, r1, r2, r3, r4, r5, r6, r7};                                         \
        EACH all[i] = into<P>(all[i], acc.part[i]);                                                 \
        r0 = all[0], r1 = all[1], r2 = all[2], r3 = all[3];                                         \
        r4 = all[4], r5 = all[5], r6 = all[6], r7 = all[7];                                         \
    }

template <class T, Source source>
inline __attribute__((always_inline)) char* address(const Operand& operand, const Lanes* lanes) {
    char* const base = lanes->pointers[operand.slot];
    if constexpr (source == Source::row) return base + lanes->lane * s64(sizeof(T));
    if constexpr (source == Source::block) return base + lanes->inside * s64(sizeof(T));
    return base + lanes->row * operand.step;
}

template <class T, class P, Source source>
inline __attribute__((always_inline)) typename P::Vector part(const char* from, int i) {
    typename P::Vector made;
    if constexpr (source == Source::one) {
        T one;
        __builtin_memcpy(&one, from, sizeof one);
        for (int k = 0; k < P::each; ++k) made[k] = one;
    } else {
        __builtin_memcpy(&made, from + i * sizeof made, sizeof made);
    }
    return made;
}

// Conditions are bytes in memory and masks in registers. Compilers spell the conversion lane by lane.
template <class P>
inline __attribute__((always_inline)) typename P::Mask mask_of(const char* from) {
#if defined(__AVX512BW__)
    if constexpr (P::bytes == 64 && P::each == 8) {
        const auto wide = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
        return reinterpret_cast<typename P::Mask>(wide) != 0;
    } else if constexpr (P::bytes == 64) {
        const auto wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
        return reinterpret_cast<typename P::Mask>(wide) != 0;
    }
#elif defined(__AVX2__)
    if constexpr (P::bytes == 32 && P::each == 4) {
        const auto wide = _mm256_cvtepu8_epi64(_mm_loadu_si32(from));
        return reinterpret_cast<typename P::Mask>(wide) != 0;
    } else if constexpr (P::bytes == 32) {
        const auto wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
        return reinterpret_cast<typename P::Mask>(wide) != 0;
    }
#endif
    typename P::Mask made;
    for (int k = 0; k < P::each; ++k) made[k] = from[k] != 0 ? -1 : 0;
    return made;
}

template <class P>
inline __attribute__((always_inline)) void put_truths(char* to, typename P::Mask mask) {
#if defined(__AVX512BW__)
    if constexpr (P::bytes == 64 && P::each == 8) {
        const auto bits = _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_maskz_set1_epi8(bits, 1));
        return;
    } else if constexpr (P::bytes == 64) {
        const auto bits = _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_maskz_set1_epi8(bits, 1));
        return;
    }
#elif defined(__AVX2__)
    if constexpr (P::bytes == 32 && P::each == 4) {
        const uint32_t bits = _mm256_movemask_pd(reinterpret_cast<__m256d>(mask));
        const uint32_t truths = _pdep_u32(bits, 0x01010101);
        __builtin_memcpy(to, &truths, sizeof truths);
        return;
    } else if constexpr (P::bytes == 32) {
        const uint32_t bits = _mm256_movemask_ps(reinterpret_cast<__m256>(mask));
        const uint64_t truths = _pdep_u64(bits, 0x0101010101010101);
        __builtin_memcpy(to, &truths, sizeof truths);
        return;
    }
#endif
    for (int k = 0; k < P::each; ++k) to[k] = mask[k] != 0;
}

// --- links --------------------------------------------------------------------------------------

template <class T, int count, Source x>
void load(PARAMETERS) {
    using P = Pack<T, count>;
    const char* from = address<T, x>(link->x, lanes);
    P acc;
    EACH acc.part[i] = part<T, P, x>(from, i);
    REPACK
    NEXT(link + 1);
}

template <class T, int count, Source x>
void store(PARAMETERS) {
    using P = Pack<T, count>;
    UNPACK
    char* to = address<T, x>(link->x, lanes);
    EACH __builtin_memcpy(to + i * sizeof acc.part[i], &acc.part[i], sizeof acc.part[i]);
    NEXT(link + 1);
}

// Prefetches the lines of the block in a row of elements of `T`.
template <class T, int count>
void ask(PARAMETERS) {
    const char* from = address<T, Source::row>(link->x, lanes);
    for (int64_t at = 0; at < int64_t(count * sizeof(T)); at += 64) __builtin_prefetch(from + at, 0, 3);
    NEXT(link + 1);
}

void end(PARAMETERS) {
    (void)link, (void)lanes, (void)r0, (void)r1, (void)r2, (void)r3, (void)r4, (void)r5, (void)r6, (void)r7;
}

template <class T, int count, class Op>
void one(PARAMETERS) {
    using P = Pack<T, count>;
    UNPACK
    EACH acc.part[i] = Op::template of<P>(acc.part[i]);
    REPACK
    NEXT(link + 1);
}

template <class T, int count, class Op, int at, Source x>
void two(PARAMETERS) {
    using P = Pack<T, count>;
    UNPACK
    const char* from = address<T, x>(link->x, lanes);
    EACH {
        const auto other = part<T, P, x>(from, i);
        acc.part[i] = at == 0 ? Op::template of<P>(acc.part[i], other) : Op::template of<P>(other, acc.part[i]);
    }
    REPACK
    NEXT(link + 1);
}

// A product and a sum, rounded once; `at` 0 is a factor, 2 the summand.
template <class T, int count, int at, Source x, Source y>
void fma(PARAMETERS) {
    using P = Pack<T, count>;
    UNPACK
    const char* first = address<T, x>(link->x, lanes);
    const char* second = address<T, y>(link->y, lanes);
    EACH {
        const auto one = part<T, P, x>(first, i), other = part<T, P, y>(second, i);
        const auto a = at == 0 ? acc.part[i] : one, b = at == 0 ? one : other, c = at == 0 ? other : acc.part[i];
        auto& made = acc.part[i];
        for (int k = 0; k < P::each; ++k) {
            made[k] = sizeof(T) == 8 ? T(__builtin_fma(a[k], b[k], c[k])) : T(__builtin_fmaf(a[k], b[k], c[k]));
        }
    }
    REPACK
    NEXT(link + 1);
}

// Takes one of two numbers by a condition in bytes, `x`; the numbers in registers are the first
// (`at` 1) or the second (2).
template <class T, int count, int at, Source x, Source y>
void select(PARAMETERS) {
    using P = Pack<T, count>;
    const char* condition = address<u8, x>(link->x, lanes);
    const char* other = address<T, y>(link->y, lanes);
    if constexpr (x == Source::one) {
        if ((*condition != 0) != (at == 1)) {
            P acc;
            EACH acc.part[i] = part<T, P, y>(other, i);
            REPACK
        }
        NEXT(link + 1);
    } else {
        UNPACK
        EACH {
            const auto mask = mask_of<P>(condition + i * P::each);
            const auto with = part<T, P, y>(other, i);
            acc.part[i] = at == 1 ? (mask ? acc.part[i] : with) : (mask ? with : acc.part[i]);
        }
        REPACK
        NEXT(link + 1);
    }
}

// Compares and stores bytes to block `y`; the registers stay as they are.
template <class T, int count, class Op, int at, Source x>
void compare(PARAMETERS) {
    using P = Pack<T, count>;
    UNPACK
    const char* from = address<T, x>(link->x, lanes);
    char* to = address<u8, Source::block>(link->y, lanes);
    EACH {
        const auto other = part<T, P, x>(from, i);
        const typename P::Mask mask = at == 0 ? Op::template of<P>(acc.part[i], other)
                                              : Op::template of<P>(other, acc.part[i]);
        put_truths<P>(to + i * P::each, mask);
    }
    NEXT(link + 1);
}

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
OPERATION_2(Mul, Vector, a* b)
OPERATION_2(Div, Vector, a / b)
OPERATION_2(Minimum, Vector, a != a ? a : (a < b ? a : b))
OPERATION_2(Maximum, Vector, a != a ? a : (a > b ? a : b))
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

constexpr int whole = vector_bytes;
#define ANY(function) reinterpret_cast<void (*)()>(&function)
#define LINK_1(op, size, T, Op) \
    {{op, size, 0, Source::row, Source::row}, {ANY((one<T, whole, Op>)), ANY((one<T, whole / 4, Op>)), ANY((one<T, whole / 8, Op>)), ANY((one<T, 1, Op>))}},
#define LINK_X(op, size, name, T, x) \
    {{op, size, 0, x, Source::row}, {ANY((name<T, whole, x>)), ANY((name<T, whole / 4, x>)), ANY((name<T, whole / 8, x>)), ANY((name<T, 1, x>))}},
#define LINK_2(op, size, name, T, Op, at, x) \
    {{op, size, at, x, Source::row}, {ANY((name<T, whole, Op, at, x>)), ANY((name<T, whole / 4, Op, at, x>)), ANY((name<T, whole / 8, Op, at, x>)), ANY((name<T, 1, Op, at, x>))}},
#define LINK_3(op, size, name, T, at, x, y) \
    {{op, size, at, x, y}, {ANY((name<T, whole, at, x, y>)), ANY((name<T, whole / 4, at, x, y>)), ANY((name<T, whole / 8, at, x, y>)), ANY((name<T, 1, at, x, y>))}},
#define SOURCES(X, ...) X(__VA_ARGS__, Source::row) X(__VA_ARGS__, Source::block) X(__VA_ARGS__, Source::one)
#define BOTH(op, size, name, T, Op) SOURCES(LINK_2, op, size, name, T, Op, 0) SOURCES(LINK_2, op, size, name, T, Op, 1)
#define FOR_TYPE(size, T)                                                                          \
    SOURCES(LINK_X, "load", size, load, T)                                                         \
    LINK_X("store", size, store, T, Source::row) LINK_X("store", size, store, T, Source::block)    \
    {{"ask", size, 0, Source::row, Source::row}, {ANY((ask<T, whole>)), ANY((ask<T, whole / 4>)), ANY((ask<T, whole / 8>)), ANY((ask<T, 1>))}}, \
    LINK_1("neg", size, T, Neg) LINK_1("abs", size, T, Abs) LINK_1("sqrt", size, T, Sqrt)          \
    BOTH("add", size, two, T, Add) BOTH("sub", size, two, T, Sub) BOTH("mul", size, two, T, Mul)   \
    BOTH("div", size, two, T, Div) BOTH("minimum", size, two, T, Minimum)                          \
    BOTH("maximum", size, two, T, Maximum)                                                         \
    BOTH("lt", size, compare, T, Less) BOTH("le", size, compare, T, LessEqual)                     \
    BOTH("gt", size, compare, T, Greater) BOTH("ge", size, compare, T, GreaterEqual)               \
    BOTH("eq", size, compare, T, Equal) BOTH("ne", size, compare, T, Unequal)                      \
    SOURCES(LINK_3, "fma", size, fma, T, 0, Source::row)                                           \
    SOURCES(LINK_3, "fma", size, fma, T, 0, Source::block)                                         \
    SOURCES(LINK_3, "fma", size, fma, T, 0, Source::one)                                           \
    SOURCES(LINK_3, "fma", size, fma, T, 2, Source::row)                                           \
    SOURCES(LINK_3, "fma", size, fma, T, 2, Source::block)                                         \
    SOURCES(LINK_3, "fma", size, fma, T, 2, Source::one)                                           \
    SOURCES(LINK_3, "select", size, select, T, 1, Source::block)                                   \
    SOURCES(LINK_3, "select", size, select, T, 1, Source::one)                                     \
    SOURCES(LINK_3, "select", size, select, T, 2, Source::block)                                   \
    SOURCES(LINK_3, "select", size, select, T, 2, Source::one)

const NamedLink links[] = {
    FOR_TYPE(4, f32) FOR_TYPE(8, f64)
    {{"end", 0, 0, Source::row, Source::row}, {ANY(end), ANY(end), ANY(end), ANY(end)}},
};

void run(const Link* const* forms, Lanes* lanes, int64_t count) {
    constexpr int64_t sizes[form_count] = {whole, whole / 4, whole / 8, 1};
    const Register none{};
    for (int form = 0; count > 0; ++form) {
        const int64_t size = sizes[form];
        for (; count >= size; count -= size) {
            reinterpret_cast<Run>(forms[form]->run)(forms[form], lanes, none, none, none, none, none, none, none, none);
            lanes->inside += size, lanes->lane += size;
        }
    }
}

}  // namespace

extern const ChainTable CLASS_CHAINS;
const ChainTable CLASS_CHAINS{links, sizeof links / sizeof *links, {whole, whole / 4, whole / 8, 1}, run};

}  // namespace fieldforge::rows
