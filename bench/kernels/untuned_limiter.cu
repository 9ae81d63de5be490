// The flux limiter of MPDATA: room in cells, western faces, southern faces. Face i lies below cell i.

GRID(cells, (-1, 1, -1, 1), IN q, IN before, IN density, IN fx, IN fy, NUMBER epsilon, OUT up, OUT down)
  const REAL high = more(more(more(q[at], before[at]), more(q[at + 1], before[at + 1])),
                         more(more(more(q[at - 1], before[at - 1]), more(q[at + row], before[at + row])),
                              more(q[at - row], before[at - row])));
  const REAL low = less(less(less(q[at], before[at]), less(q[at + 1], before[at + 1])),
                        less(less(less(q[at - 1], before[at - 1]), less(q[at + row], before[at + row])),
                             less(q[at - row], before[at - row])));
  const REAL inflow = more(fx[at], 0) - less(fx[at + 1], 0) + more(fy[at], 0) - less(fy[at + row], 0);
  const REAL outflow = more(fx[at + 1], 0) - less(fx[at], 0) + more(fy[at + row], 0) - less(fy[at], 0);
  up[at] = (high - q[at]) * density[at] / (inflow + epsilon);
  down[at] = (q[at] - low) * density[at] / (outflow + epsilon);
END

GRID(west, (0, 1, 0, 0), IN fx, IN up, IN down, OUT lx)
  lx[at] = less(1, less(down[at - 1], up[at])) * more(fx[at], 0) +
           less(1, less(up[at - 1], down[at])) * less(fx[at], 0);
END

GRID(south, (0, 0, 0, 1), IN fy, IN up, IN down, OUT ly)
  ly[at] = less(1, less(down[at - row], up[at])) * more(fy[at], 0) +
           less(1, less(up[at - row], down[at])) * less(fy[at], 0);
END
