// Warm rain: conversions and the fall of drops level by level, all in one sweep down a column.

COLUMNS(showers, IN t, IN qv, IN qc, IN qr, IN pressure, IN rho, IN per_depth, NUMBER dtime, OUT new_t,
        OUT new_qv, OUT new_qc, OUT new_qr, OUT flux)
  CARRY(from_above) CARRY(content)
  DOWN
    const REAL warmth = t[at] - 1;
    const REAL most = REAL(0.4) * (1 + warmth * (2 + warmth)) / pressure[at];
    const REAL excess = (qv[at] - most) / (1 + REAL(0.8) * most);
    const REAL condensed = excess > 0 ? excess : -less(-excess, qc[at]);
    const REAL cloud = qc[at] + condensed, drops = qr[at];
    const REAL drizzle = cloud > REAL(0.2) ? dtime * (cloud - REAL(0.2)) : REAL(0);
    const REAL swept = drops > 0 ? dtime * REAL(0.5) * cloud * sqrt(drops * sqrt(drops)) : REAL(0);
    const REAL rained = less(drizzle + swept, cloud);
    const REAL thirst = dtime * REAL(0.3) * more(most - qv[at], 0) * sqrt(more(drops, 0));
    const REAL dried = cloud - rained > 0 ? REAL(0) : less(thirst, drops);
    new_t[at] = t[at] + REAL(0.3) * (condensed - dried);
    new_qv[at] = qv[at] - condensed + dried;
    new_qc[at] = cloud - rained;
    const REAL mass = rho[at] * (drops + rained - dried), ratio = dtime * per_depth[at];
    const REAL speed = 5 * sqrt(sqrt(REAL(0.5) * (mass + STATE(content))));
    const REAL left = (mass + ratio * STATE(from_above)) / (1 + ratio * speed);
    STATE(content) = left;
    STATE(from_above) = speed * left;
    new_qr[at] = left / rho[at];
    flux[at] = speed * left;
  NEXT
END
