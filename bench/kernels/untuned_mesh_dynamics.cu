// The operators of a dynamical core of `examples/mesh_dynamics.py`: cells, vertices, edges.

MESH(cells, Cell, 0, IN vn, IN vt, IN flux, IN rho, IN theta, IN bilinear, IN divergence, IN weights,
     IN share, TABLE C2E, TABLE C2E2C, NUMBER dtime, OUT energy, OUT new_rho, OUT new_theta)
  const int e0 = C2E[3 * p], e1 = C2E[3 * p + 1], e2 = C2E[3 * p + 2];
  const REAL n0 = AT(vn, e0), n1 = AT(vn, e1), n2 = AT(vn, e2);
  const REAL t0 = AT(vt, e0), t1 = AT(vt, e1), t2 = AT(vt, e2);
  AT(energy, p) = REAL(0.5) * (bilinear[3 * p] * (n0 * n0 + t0 * t0) +
                               bilinear[3 * p + 1] * (n1 * n1 + t1 * t1) +
                               bilinear[3 * p + 2] * (n2 * n2 + t2 * t2));
  AT(new_rho, p) = AT(rho, p) - dtime * (AT(flux, e0) * divergence[3 * p] + AT(flux, e1) * divergence[3 * p + 1] +
                                         AT(flux, e2) * divergence[3 * p + 2]);
  const REAL th = AT(theta, p);
  const REAL mean = AT(theta, C2E2C[3 * p]) * weights[3 * p] + AT(theta, C2E2C[3 * p + 1]) * weights[3 * p + 1] +
                    AT(theta, C2E2C[3 * p + 2]) * weights[3 * p + 2];
  AT(new_theta, p) = th + share[p] * (mean - th);
END

MESH(vertices, Vertex, 0, IN vn, IN theta, IN rot, IN to_vertex, TABLE V2E, TABLE V2C, OUT zeta,
     OUT theta_v)
  REAL spin = 0, mean = 0;
  for (int n = 0; n < 6; ++n) {
    spin += AT(vn, V2E[6 * p + n]) * rot[6 * p + n];
    mean += AT(theta, V2C[6 * p + n]) * to_vertex[6 * p + n];
  }
  AT(zeta, p) = spin;
  AT(theta_v, p) = mean;
END

MESH(edges, Edge, 0, IN vt, IN theta, IN exner, IN energy, IN zeta, IN theta_v, IN linear, IN coriolis,
     IN per_dual, IN per_length, TABLE E2C, TABLE E2V, OUT ddt_vn, OUT along)
  const int c0 = E2C[2 * p], c1 = E2C[2 * p + 1], v0 = E2V[2 * p], v1 = E2V[2 * p + 1];
  const REAL spin = coriolis[p] + REAL(0.5) * (AT(zeta, v0) + AT(zeta, v1));
  const REAL push = AT(theta, c0) * linear[2 * p] + AT(theta, c1) * linear[2 * p + 1];
  AT(ddt_vn, p) = -((AT(energy, c1) - AT(energy, c0)) * per_dual[p] + AT(vt, p) * spin +
                    push * (AT(exner, c1) - AT(exner, c0)) * per_dual[p]);
  AT(along, p) = (AT(theta_v, v1) - AT(theta_v, v0)) * per_length[p];
END
