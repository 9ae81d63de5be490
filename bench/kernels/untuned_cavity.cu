// A cavity with a lid that moves: velocities with their walls, then a step of both.

INLINE REAL wall(int i, int j, int nx, int ny, REAL west, REAL east, REAL south, REAL north, REAL inside) {
  return i < 1 ? west : i > nx - 2 ? east : j < 1 ? south : j > ny - 2 ? north : inside;
}

GRID(walls, (-1, 1, -1, 1), IN u, IN v, NUMBER lid, NUMBER leak, OUT u_in, OUT v_in)
  u_in[at] = wall(i, j, i1 - 1, j1 - 1, 0, 0, 0, lid, u[at]);
  v_in[at] = wall(i, j, i1 - 1, j1 - 1, leak, -leak, 0, 0, v[at]);
END

GRID(step, (0, 0, 0, 0), IN u_in, IN v_in, IN p, NUMBER lid, NUMBER leak, NUMBER dt, NUMBER nu, OUT new_u,
     OUT new_v)
  const REAL u = u_in[at], v = v_in[at];
  const REAL ue = u_in[at + 1], uw = u_in[at - 1], un = u_in[at + row], us = u_in[at - row];
  const REAL ve = v_in[at + 1], vw = v_in[at - 1], vn = v_in[at + row], vs = v_in[at - row];
  const REAL du = nu * (ue + uw + un + us - 4 * u) - REAL(0.5) * (ue * ue - uw * uw + vn * un - vs * us) -
                  REAL(0.5) * (p[at + 1] - p[at - 1]);
  const REAL dv = nu * (ve + vw + vn + vs - 4 * v) - REAL(0.5) * (ue * ve - uw * vw + vn * vn - vs * vs) -
                  REAL(0.5) * (p[at + row] - p[at - row]);
  new_u[at] = wall(i, j, i1, j1, 0, 0, 0, lid, u + dt * du);
  new_v[at] = wall(i, j, i1, j1, leak, -leak, 0, 0, v + dt * dv);
END
