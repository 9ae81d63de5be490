// Hand-written horizontal diffusion with flux limiter: what generated code is measured against.
//
// lap = 4 u - (u_ip + u_im + u_jp + u_jm);  flx = lap(i+1) - lap, 0 where it points up the gradient;
// out = u - coeff * (flx - flx(i-1) + fly - fly(j-1)).
//
// Fields are (k, j, i) with i contiguous and a halo of 2 points in i and j:
// u[(k * (nj + 4) + j + 2) * (ni + 4) + i + 2]; coeff and out are laid out like u.
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include <stdint.h>
#include <stdlib.h>

namespace {

inline double lap(const double* p, int64_t row) {
  return 4.0 * p[0] - (p[1] + p[-1] + p[row] + p[-row]);
}

inline double limited(double flux, double gradient) { return flux * gradient > 0.0 ? 0.0 : flux; }

}  // namespace

// Variant "recompute": everything from u in one SIMD loop over i, threads over (k, j).
extern "C" void diffusion_recompute(const double* __restrict u, const double* __restrict coeff,
                                    double* __restrict out, int64_t ni, int64_t nj, int64_t nk) {
  const int64_t row = ni + 4, plane = row * (nj + 4);
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k) {
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + (j + 2) * row + 2;
      const double* __restrict p = u + at;
      const double* __restrict c = coeff + at;
      double* __restrict o = out + at;
#pragma omp simd
      for (int64_t i = 0; i < ni; ++i) {
        const double* q = p + i;
        const double l = lap(q, row), le = lap(q + 1, row), lw = lap(q - 1, row);
        const double ln = lap(q + row, row), ls = lap(q - row, row);
        const double fe = limited(le - l, q[1] - q[0]), fw = limited(l - lw, q[0] - q[-1]);
        const double fn = limited(ln - l, q[row] - q[0]), fs = limited(l - ls, q[0] - q[-row]);
        o[i] = q[0] - c[i] * (fe - fw + fn - fs);
      }
    }
  }
}

// Variant "rows": lap and fluxes of one plane in buffers of the thread, each computed once.
extern "C" void diffusion_rows(const double* __restrict u, const double* __restrict coeff,
                               double* __restrict out, int64_t ni, int64_t nj, int64_t nk) {
  const int64_t row = ni + 4, plane = row * (nj + 4), block = 16;
#pragma omp parallel
  {
    double* buffer = static_cast<double*>(malloc(sizeof(double) * row * 6));
    double *la = buffer, *lb = buffer + row, *lc = buffer + 2 * row, *fx = buffer + 3 * row;
    double *fs = buffer + 4 * row, *fn = buffer + 5 * row;
    const int64_t blocks = (nj + block - 1) / block;
#pragma omp for collapse(2) schedule(static)
    for (int64_t k = 0; k < nk; ++k) {
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t first = b * block, last = first + block < nj ? first + block : nj;
        const double* base = u + k * plane + 2 * row + 2;
        const auto fill = [&](double* __restrict to, int64_t j) {
          const double* __restrict p = base + j * row;
#pragma omp simd
          for (int64_t i = -1; i <= ni; ++i) to[i + 1] = lap(p + i, row);
        };
        const auto flux = [&](double* __restrict to, const double* __restrict low,
                              const double* __restrict high, int64_t j) {
          const double* __restrict p = base + j * row;
#pragma omp simd
          for (int64_t i = 0; i < ni; ++i)
            to[i] = limited(high[i + 1] - low[i + 1], p[i + row] - p[i]);
        };
        fill(la, first - 1);
        fill(lb, first);
        flux(fs, la, lb, first - 1);
        for (int64_t j = first; j < last; ++j) {
          fill(lc, j + 1);
          flux(fn, lb, lc, j);
          const double* __restrict p = base + j * row;
#pragma omp simd
          for (int64_t i = -1; i < ni; ++i) fx[i + 1] = limited(lb[i + 2] - lb[i + 1], p[i + 1] - p[i]);
          const double* __restrict c = coeff + k * plane + (j + 2) * row + 2;
          double* __restrict o = out + k * plane + (j + 2) * row + 2;
#pragma omp simd
          for (int64_t i = 0; i < ni; ++i) o[i] = p[i] - c[i] * (fx[i + 1] - fx[i] + fn[i] - fs[i]);
          double* old = la;
          la = lb, lb = lc, lc = old;
          double* south = fs;
          fs = fn, fn = south;
        }
      }
    }
    free(buffer);
  }
}

// Variant "arrays": the simple loops, with lap and both fluxes as whole arrays like u.
extern "C" void diffusion_arrays(const double* __restrict u, const double* __restrict coeff,
                                 double* __restrict out, double* __restrict laps,
                                 double* __restrict flx, double* __restrict fly, int64_t ni,
                                 int64_t nj, int64_t nk) {
  const int64_t row = ni + 4, plane = row * (nj + 4);
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = -1; j <= nj; ++j) {
      const int64_t at = k * plane + (j + 2) * row + 2;
#pragma omp simd
      for (int64_t i = -1; i <= ni; ++i) laps[at + i] = lap(u + at + i, row);
    }
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = -1; j < nj; ++j) {
      const int64_t at = k * plane + (j + 2) * row + 2;
#pragma omp simd
      for (int64_t i = -1; i < ni; ++i) {
        const int64_t x = at + i;
        flx[x] = limited(laps[x + 1] - laps[x], u[x + 1] - u[x]);
        fly[x] = limited(laps[x + row] - laps[x], u[x + row] - u[x]);
      }
    }
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + (j + 2) * row + 2;
#pragma omp simd
      for (int64_t i = 0; i < ni; ++i) {
        const int64_t x = at + i;
        out[x] = u[x] - coeff[x] * (flx[x] - flx[x - 1] + fly[x] - fly[x - row]);
      }
    }
}
