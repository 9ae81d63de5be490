// A step of shallow water in layers: fluxes, vorticity and energy, then depth and velocities.

GRID(faces, (-1, 1, -1, 1), IN h, IN u, IN v, IN f, IN bottom, NUMBER per_dx, NUMBER g, OUT west,
     OUT south, OUT spin, OUT head)
  const int flat = i + j * row;
  west[at] = REAL(0.5) * (h[at] + h[at - 1]) * u[at];
  south[at] = REAL(0.5) * (h[at] + h[at - row]) * v[at];
  spin[at] = (f[flat] + (v[at] - v[at - 1] - u[at] + u[at - row]) * per_dx) /
             (REAL(0.25) * (h[at] + h[at - 1] + h[at - row] + h[at - 1 - row]));
  head[at] = g * (h[at] + bottom[flat]) +
             REAL(0.25) * (u[at] * u[at] + u[at + 1] * u[at + 1] + v[at] * v[at] + v[at + row] * v[at + row]);
END

GRID(step, (0, 0, 0, 0), IN h, IN u, IN v, IN drag, IN west, IN south, IN spin, IN head, NUMBER per_dx,
     NUMBER dt, NUMBER nu, OUT new_h, OUT new_u, OUT new_v, OUT q)
  const REAL slow = drag[i + j * row];
  const REAL smooth_u = u[at + 1] + u[at - 1] + u[at + row] + u[at - row] - 4 * u[at];
  const REAL smooth_v = v[at + 1] + v[at - 1] + v[at + row] + v[at - row] - 4 * v[at];
  const REAL southward = REAL(0.25) * (spin[at] * (south[at] + south[at - 1]) +
                                       spin[at + row] * (south[at + row] + south[at + row - 1]));
  const REAL westward = REAL(0.25) * (spin[at] * (west[at] + west[at - row]) +
                                      spin[at + 1] * (west[at + 1] + west[at + 1 - row]));
  new_h[at] = h[at] + dt * (west[at] - west[at + 1] + south[at] - south[at + row]) * per_dx;
  new_u[at] = u[at] + dt * (southward - (head[at] - head[at - 1]) * per_dx - slow * u[at] + nu * smooth_u);
  new_v[at] = v[at] + dt * (-westward - (head[at] - head[at - row]) * per_dx - slow * v[at] + nu * smooth_v);
  q[at] = spin[at];
END
