"""Generate code with DaCe: from loops to an SDFG, and to DaCe's C++."""
