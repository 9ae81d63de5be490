// Two tracers: advection and coefficients at each point, then one sweep down and one up.

INLINE REAL upwind(const REAL* __restrict__ x, int at, int row, REAL u, REAL v, REAL ratio) {
  const REAL here = x[at];
  return here - ratio * (more(u, 0) * (here - x[at - 1]) + less(u, 0) * (x[at + 1] - here) +
                         more(v, 0) * (here - x[at - row]) + less(v, 0) * (x[at + row] - here));
}

GRID(points, (0, 0, 0, 0), IN vapour, IN smoke, IN u, IN v, IN theta, IN per_depth, NUMBER ratio,
     NUMBER length, NUMBER g, OUT through, OUT d, OUT e)
  d[at] = upwind(vapour, at, row, u[at], v[at], ratio);
  e[at] = upwind(smoke, at, row, u[at], v[at], ratio);
  const int above = k > k0 ? at - plane : at;
  const REAL du = u[at] - u[above], dv = v[at] - v[above], per = per_depth[at];
  const REAL shear = (du * du + dv * dv) * per * per;
  const REAL stable = g * (theta[above] - theta[at]) * per / theta[at];
  through[at] = k > k0 ? length * length * sqrt(more(shear - stable, 0)) * per : REAL(0);
END

COLUMNS(solve, IN through, IN d, IN e, IN per_depth, NUMBER dtime, OUT cp, OUT new_vapour, OUT new_smoke)
  CARRY(c0) CARRY(d0) CARRY(e0)
  DOWN
    const REAL below = k + 1 < k1 ? through[at + plane] : REAL(0);
    const REAL a = -dtime * through[at] * per_depth[at], c = -dtime * below * per_depth[at];
    const REAL inverse = 1 / (1 - a - c - a * STATE(c0));
    STATE(d0) = (d[at] - a * STATE(d0)) * inverse;
    STATE(e0) = (e[at] - a * STATE(e0)) * inverse;
    STATE(c0) = c * inverse;
    cp[at] = STATE(c0);
    new_vapour[at] = STATE(d0);
    new_smoke[at] = STATE(e0);
  NEXT
  CARRY(vapour) CARRY(smoke)
  UP
    STATE(vapour) = new_vapour[at] - cp[at] * STATE(vapour);
    STATE(smoke) = new_smoke[at] - cp[at] * STATE(smoke);
    new_vapour[at] = STATE(vapour);
    new_smoke[at] = STATE(smoke);
  NEXT
END
