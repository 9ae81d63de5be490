// Diffusion with Smagorinsky's coefficient: divergence, vorticity, edges, cells.

MESH(divergence, Cell, 0, IN vn, IN geofac_div, TABLE C2E, OUT div)
  AT(div, p) = AT(vn, C2E[3 * p]) * geofac_div[3 * p] + AT(vn, C2E[3 * p + 1]) * geofac_div[3 * p + 1] +
               AT(vn, C2E[3 * p + 2]) * geofac_div[3 * p + 2];
END

MESH(vorticity, Vertex, 0, IN vn, IN geofac_rot, TABLE V2E, OUT zeta)
  REAL spin = 0;
  for (int n = 0; n < 6; ++n) spin += AT(vn, V2E[6 * p + n]) * geofac_rot[6 * p + n];
  AT(zeta, p) = spin;
END

MESH(edges, Edge, 0, IN vn, IN theta, IN div, IN zeta, IN linear, IN per_dual, IN per_length, IN area,
     TABLE E2C, TABLE E2V, NUMBER factor, NUMBER least, NUMBER most, OUT new_vn, OUT kh, OUT flux)
  const int c0 = E2C[2 * p], c1 = E2C[2 * p + 1];
  const REAL d0 = AT(div, c0), d1 = AT(div, c1);
  const REAL z0 = AT(zeta, E2V[2 * p]), z1 = AT(zeta, E2V[2 * p + 1]);
  const REAL stretching = d0 * linear[2 * p] + d1 * linear[2 * p + 1], shearing = REAL(0.5) * (z0 + z1);
  const REAL deformation = sqrt(stretching * stretching + shearing * shearing);
  const REAL coefficient = more(least, less(most, factor * deformation - least));
  AT(kh, p) = coefficient;
  AT(new_vn, p) = AT(vn, p) + area[p] * coefficient * ((d1 - d0) * per_dual[p] - (z1 - z0) * per_length[p]);
  AT(flux, p) = coefficient * (AT(theta, c1) - AT(theta, c0)) * per_dual[p];
END

MESH(temperature, Cell, 0, IN theta, IN flux, IN geofac_div, IN area_c, TABLE C2E, TABLE C2E2C,
     OUT new_theta)
  const int e0 = C2E[3 * p], e1 = C2E[3 * p + 1], e2 = C2E[3 * p + 2];
  const REAL t = AT(theta, p), t0 = AT(theta, C2E2C[3 * p]), t1 = AT(theta, C2E2C[3 * p + 1]),
             t2 = AT(theta, C2E2C[3 * p + 2]);
  const REAL heated = t + area_c[p] * (AT(flux, e0) * geofac_div[3 * p] + AT(flux, e1) * geofac_div[3 * p + 1] +
                                       AT(flux, e2) * geofac_div[3 * p + 2]);
  const REAL low = less(less(t, t0), less(t1, t2)), high = more(more(t, t0), more(t1, t2));
  AT(new_theta, p) = more(low, less(high, heated));
END

MESH(vertical_wind, Cell, 1, IN w, IN kh, IN area_c, TABLE C2E, TABLE C2E2C, OUT new_w)
  const int e0 = C2E[3 * p], e1 = C2E[3 * p + 1], e2 = C2E[3 * p + 2];
  const REAL here = AT(kh, e0) + AT(kh, e1) + AT(kh, e2);
  const REAL above = kh[e0 * row + k - 1] + kh[e1 * row + k - 1] + kh[e2 * row + k - 1];
  const REAL mean =
      REAL(1.0 / 3.0) * (AT(w, C2E2C[3 * p]) + AT(w, C2E2C[3 * p + 1]) + AT(w, C2E2C[3 * p + 2]));
  AT(new_w, p) = AT(w, p) + area_c[p] * REAL(0.5 / 3.0) * (here + above) * (mean - AT(w, p));
END
