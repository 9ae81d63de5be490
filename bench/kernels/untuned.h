// Plain kernels by hand, written once: a thread a point on a GPU, loops with OpenMP on a CPU.
//
//   MESH(cells, Cell, 1, IN vn, TABLE C2E, NUMBER dtime, OUT div) ... END     at points p, levels k from 1
//   FLAT(edges, Edge, IN h, OUT flux) ... END                                at points p, without levels
//   GRID(faces, (0, 1, 0, 0), IN h, OUT west) ... END                        at (i, j, k), one more i
//   COLUMNS(solve, IN a, OUT x) CARRY(cp) DOWN ... NEXT UP ... NEXT END       at (i, j), STATE(cp) for all k
//
// `untuned_by_hand.py` reads these first lines: kernels run in their order, and names that the program does not
// know are arrays between them. Levels of meshes are contiguous, and i on grids.

#define IN const REAL* __restrict__
#define OUT REAL* __restrict__
#define TABLE const int* __restrict__
#define NUMBER REAL
#define AT(field, point) field[(point) * row + k]

#define MESH_WORDS int points, int first, int last, int row
#define GRID_WORDS int i0, int i1, int j0, int j1, int k0, int k1, int row, int plane

#ifdef __CUDACC__

#define INLINE __device__ inline
#define MESH(NAME, LOCATION, FIRST, ...)                                                           \
  extern "C" __global__ void NAME(__VA_ARGS__, MESH_WORDS) {                                       \
    const int p = blockIdx.x * blockDim.y + threadIdx.y, k = first + threadIdx.x;                  \
    if (p >= points || k >= last) return;
#define FLAT(NAME, LOCATION, ...)                                                                  \
  extern "C" __global__ void NAME(__VA_ARGS__, int points) {                                       \
    const int p = blockIdx.x * blockDim.x + threadIdx.x;                                           \
    if (p >= points) return;
#define GRID(NAME, MORE, ...)                                                                      \
  extern "C" __global__ void NAME(__VA_ARGS__, GRID_WORDS) {                                       \
    const int i = i0 + blockIdx.x * blockDim.x + threadIdx.x;                                      \
    const int j = j0 + blockIdx.y * blockDim.y + threadIdx.y, k = k0 + blockIdx.z;                 \
    if (i >= i1 || j >= j1) return;                                                                \
    const int at = i + j * row + k * plane;
#define COLUMNS(NAME, ...)                                                                         \
  extern "C" __global__ void NAME(__VA_ARGS__, GRID_WORDS) {                                       \
    const int i = i0 + blockIdx.x * blockDim.x + threadIdx.x;                                      \
    const int j = j0 + blockIdx.y * blockDim.y + threadIdx.y;                                      \
    if (i >= i1 || j >= j1) return;
#define END }
#define CARRY(NAME) REAL NAME = 0;
#define STATE(NAME) NAME
#define LEVEL const int at = i + j * row + k * plane;
#define DOWN for (int k = k0; k < k1; ++k) { LEVEL
#define UP for (int k = k1 - 1; k >= k0; --k) { LEVEL
#define NEXT }

#else

#include <cmath>
using std::sqrt;

#define INLINE static inline
#define PARALLEL _Pragma("omp parallel for")
#define SIMD _Pragma("omp simd")
#define MESH(NAME, LOCATION, FIRST, ...)                                                           \
  extern "C" void NAME(__VA_ARGS__, MESH_WORDS) {                                                  \
    PARALLEL for (int p = 0; p < points; ++p) SIMD for (int k = first; k < last; ++k) {
#define FLAT(NAME, LOCATION, ...)                                                                  \
  extern "C" void NAME(__VA_ARGS__, int points) {                                                  \
    _Pragma("omp parallel for simd") for (int p = 0; p < points; ++p) {
#define GRID(NAME, MORE, ...)                                                                      \
  extern "C" void NAME(__VA_ARGS__, GRID_WORDS) {                                                  \
    PARALLEL for (int k = k0; k < k1; ++k) for (int j = j0; j < j1; ++j)                           \
        SIMD for (int i = i0; i < i1; ++i) {                                                       \
      const int at = i + j * row + k * plane;
#define COLUMNS(NAME, ...)                                                                         \
  extern "C" void NAME(__VA_ARGS__, GRID_WORDS) {                                                  \
    PARALLEL for (int j = j0; j < j1; ++j) {
#define END }}
#define CARRY(NAME) REAL NAME[i1]; for (int i = i0; i < i1; ++i) NAME[i] = 0;
#define STATE(NAME) NAME[i]
#define LEVEL const int at = i + j * row + k * plane;
#define DOWN for (int k = k0; k < k1; ++k) SIMD for (int i = i0; i < i1; ++i) { LEVEL
#define UP for (int k = k1 - 1; k >= k0; --k) SIMD for (int i = i0; i < i1; ++i) { LEVEL
#define NEXT }

#endif

INLINE REAL less(REAL a, REAL b) { return a < b ? a : b; }
INLINE REAL more(REAL a, REAL b) { return a > b ? a : b; }
