// The step of wind, density and temperature: cells, vertices, edges.

MESH(cells, Cell, 1, IN vn, IN vt, IN w, IN rho, IN theta, IN bilinear, IN geofac_div, IN weights,
     IN share, TABLE C2E, TABLE C2E2C, NUMBER dtime, OUT energy, OUT div, OUT new_rho, OUT new_theta)
  const int e0 = C2E[3 * p], e1 = C2E[3 * p + 1], e2 = C2E[3 * p + 2];
  const int c0 = C2E2C[3 * p], c1 = C2E2C[3 * p + 1], c2 = C2E2C[3 * p + 2];
  const REAL n0 = AT(vn, e0), n1 = AT(vn, e1), n2 = AT(vn, e2);
  const REAL t0 = AT(vt, e0), t1 = AT(vt, e1), t2 = AT(vt, e2);
  AT(energy, p) = REAL(0.5) * (bilinear[3 * p] * (n0 * n0 + t0 * t0) +
                               bilinear[3 * p + 1] * (n1 * n1 + t1 * t1) +
                               bilinear[3 * p + 2] * (n2 * n2 + t2 * t2));
  const REAL d = n0 * geofac_div[3 * p] + n1 * geofac_div[3 * p + 1] + n2 * geofac_div[3 * p + 2];
  AT(div, p) = d;
  const REAL r = AT(rho, p), th = AT(theta, p), wind = AT(w, p);
  AT(new_rho, p) = r - dtime * (r * d + wind * (r - rho[p * row + k - 1]));
  const REAL smooth = AT(theta, c0) * weights[3 * p] + AT(theta, c1) * weights[3 * p + 1] +
                      AT(theta, c2) * weights[3 * p + 2] - th;
  AT(new_theta, p) = th + share[p] * smooth - dtime * wind * (th - theta[p * row + k - 1]);
END

MESH(vertices, Vertex, 1, IN vn, IN theta, IN geofac_rot, IN to_vertex, IN coriolis_v, TABLE V2E,
     TABLE V2C, OUT zeta, OUT theta_v, OUT pv)
  REAL spin = 0, mean = 0;
  for (int n = 0; n < 6; ++n) {
    spin += AT(vn, V2E[6 * p + n]) * geofac_rot[6 * p + n];
    mean += AT(theta, V2C[6 * p + n]) * to_vertex[6 * p + n];
  }
  AT(zeta, p) = spin;
  AT(theta_v, p) = mean;
  AT(pv, p) = (spin + coriolis_v[p]) / mean;
END

MESH(edges, Edge, 1, IN vn, IN vt, IN w, IN theta, IN exner, IN energy, IN div, IN zeta, IN theta_v,
     IN linear, IN per_dual, IN per_length, IN orientation, IN coriolis, TABLE E2C, TABLE E2V,
     NUMBER dtime, NUMBER viscosity, OUT new_vn)
  const int c0 = E2C[2 * p], c1 = E2C[2 * p + 1], v0 = E2V[2 * p], v1 = E2V[2 * p + 1];
  const REAL a = linear[2 * p], b = linear[2 * p + 1], dual = per_dual[p];
  const REAL along = orientation[p] * per_length[p];
  const REAL w_e = AT(w, c0) * a + AT(w, c1) * b, theta_e = AT(theta, c0) * a + AT(theta, c1) * b;
  const REAL z0 = AT(zeta, v0), z1 = AT(zeta, v1), wind = AT(vn, p);
  const REAL spin = coriolis[p] + REAL(0.5) * (z0 + z1);
  const REAL spread = (AT(div, c1) - AT(div, c0)) * dual - (z1 - z0) * along;
  const REAL slope = (AT(theta_v, v1) - AT(theta_v, v0)) * along;
  AT(new_vn, p) = wind + dtime * (AT(vt, p) * spin - (AT(energy, c1) - AT(energy, c0)) * dual -
                                  theta_e * (AT(exner, c1) - AT(exner, c0)) * dual -
                                  w_e * (wind - vn[p * row + k - 1]) + viscosity * (spread + slope));
END
