// SHA-256 (FIPS 180-4), by the instructions of x86-64 for it where the processor has them.
#include "sha256.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace fieldforge {
namespace {

constexpr size_t block = 64;  // bytes

alignas(16) constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

using State = uint32_t[8];  // a to h

uint32_t turned(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

uint32_t word_at(const uint8_t* bytes) {
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void compress_plainly(State& state, const uint8_t* data, size_t blocks) {
    uint32_t w[64];
    for (; blocks > 0; --blocks, data += block) {
        for (int i = 0; i < 16; ++i) w[i] = word_at(data + 4 * i);
        for (int i = 16; i < 64; ++i) {
            const uint32_t early = w[i - 15], late = w[i - 2];
            w[i] = w[i - 16] + (turned(early, 7) ^ turned(early, 18) ^ early >> 3) + w[i - 7] +
                   (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
        }
        auto [a, b, c, d, e, f, g, h] = state;
        for (int i = 0; i < 64; ++i) {
            const uint32_t chosen = (e & f) ^ (~e & g), most = (a & b) ^ (a & c) ^ (b & c);
            const uint32_t first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen +
                                   constants[i] + w[i];
            const uint32_t second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + most;
            h = g, g = f, f = e, e = d + first;
            d = c, c = b, b = a, a = first + second;
        }
        const State after = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; ++i) state[i] += after[i];
    }
}

#if defined(__x86_64__)

bool has_instructions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_extended = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
    const bool has_sha = has_extended && (b >> 29 & 1) != 0;
    return has_sha && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
}

// Four rounds take four words and constants; `abef` and `cdgh` are the halves of the state.
__attribute__((target("sha,sse4.1,ssse3"))) void compress_by_instructions(State& state,
                                                                          const uint8_t* data,
                                                                          size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
    __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
    low = _mm_shuffle_epi32(low, 0xb1);    // b a d c
    high = _mm_shuffle_epi32(high, 0x1b);  // h g f e
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks > 0; --blocks, data += block) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 16; ++i) {
            __m128i& now = w[i % 4];
            if (i < 4) {
                const auto* from = reinterpret_cast<const __m128i*>(data + 16 * i);
                now = _mm_shuffle_epi8(_mm_loadu_si128(from), swap);
            } else {
                const __m128i last = w[(i + 3) % 4];
                now = _mm_sha256msg1_epu32(now, w[(i + 1) % 4]);
                now = _mm_add_epi32(now, _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
                now = _mm_sha256msg2_epu32(now, last);
            }
            const auto* own = reinterpret_cast<const __m128i*>(constants + 4 * i);
            const __m128i sum = _mm_add_epi32(now, _mm_load_si128(own));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);   // f e b a, from the last
    high = _mm_shuffle_epi32(cdgh, 0xb1);  // d c h g
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(high, low, 8));
}

#else

bool has_instructions() { return false; }
constexpr auto compress_by_instructions = compress_plainly;

#endif

void digest(const uint8_t* data, size_t size, uint8_t* result, bool plainly) {
    static const bool is_quick = has_instructions();
    const auto compress = is_quick && !plainly ? compress_by_instructions : compress_plainly;
    State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    compress(state, data, size / block);
    uint8_t end[2 * block] = {};  // the rest, a one, zeros, and the number of bits
    const size_t rest = size % block;
    if (rest > 0) std::memcpy(end, data + size - rest, rest);
    end[rest] = 0x80;
    const size_t length = rest + 9 > block ? 2 * block : block;
    for (int i = 0; i < 8; ++i) end[length - 1 - i] = static_cast<uint8_t>(uint64_t{size} * 8 >> 8 * i);
    compress(state, end, length / block);
    for (int i = 0; i < 32; ++i) result[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
}

}  // namespace

PyObject* sha256(PyObject*, PyObject* args) {
    Py_buffer content;
    int plainly = 0;
    if (!PyArg_ParseTuple(args, "y*|p:sha256", &content, &plainly)) return nullptr;
    uint8_t result[32];
    digest(static_cast<const uint8_t*>(content.buf), static_cast<size_t>(content.len), result,
           plainly != 0);
    PyBuffer_Release(&content);
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(result), sizeof result);
}

}  // namespace fieldforge
