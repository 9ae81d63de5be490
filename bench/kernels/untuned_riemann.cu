// Shallow water on triangles without levels: a flux for each edge, then cells.

FLAT(edges, Edge, IN h, IN u, IN v, IN bottom, IN nx, IN ny, TABLE E2C, NUMBER g, OUT mass, OUT push_x,
     OUT push_y)
  const int a = E2C[2 * p], b = E2C[2 * p + 1];
  const REAL x = nx[p], y = ny[p], step = more(bottom[a], bottom[b]);
  const REAL h0 = more(0, h[a] + bottom[a] - step), h1 = more(0, h[b] + bottom[b] - step);
  const REAL across0 = u[a] * x + v[a] * y, across1 = u[b] * x + v[b] * y;
  const REAL along0 = v[a] * x - u[a] * y, along1 = v[b] * x - u[b] * y;
  const REAL c0 = sqrt(g * h0), c1 = sqrt(g * h1);
  const REAL slow = less(0, less(across0 - c0, across1 - c1));
  const REAL fast = more(0, more(across0 + c0, across1 + c1));
  const REAL per = 1 / (fast - slow + REAL(1.0e-12)), both = slow * fast;
  const REAL mass0 = h0 * across0, mass1 = h1 * across1;
  const REAL push0 = mass0 * across0 + REAL(0.5) * g * h0 * h0, push1 = mass1 * across1 + REAL(0.5) * g * h1 * h1;
  const REAL push = (fast * push0 - slow * push1 + both * (mass1 - mass0)) * per;
  const REAL drift = (fast * mass0 * along0 - slow * mass1 * along1 + both * (h1 * along1 - h0 * along0)) * per;
  mass[p] = (fast * mass0 - slow * mass1 + both * (h1 - h0)) * per;
  push_x[p] = push * x - drift * y;
  push_y[p] = push * y + drift * x;
END

FLAT(cells, Cell, IN h, IN u, IN v, IN mass, IN push_x, IN push_y, IN outward, TABLE C2E, NUMBER dt,
     NUMBER friction, OUT new_h, OUT new_u, OUT new_v)
  const int a = C2E[3 * p], b = C2E[3 * p + 1], c = C2E[3 * p + 2];
  const REAL o0 = outward[3 * p], o1 = outward[3 * p + 1], o2 = outward[3 * p + 2];
  const REAL depth = h[p] - dt * (mass[a] * o0 + mass[b] * o1 + mass[c] * o2);
  const REAL hu = h[p] * u[p] - dt * (push_x[a] * o0 + push_x[b] * o1 + push_x[c] * o2);
  const REAL hv = h[p] * v[p] - dt * (push_y[a] * o0 + push_y[b] * o1 + push_y[c] * o2);
  const REAL per = 1 / (depth * (1 + dt * friction * sqrt(u[p] * u[p] + v[p] * v[p])));
  new_h[p] = depth;
  new_u[p] = hu * per;
  new_v[p] = hv * per;
END
