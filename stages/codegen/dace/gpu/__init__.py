"""Generate code for GPUs with DaCe: its text becomes kernels on our streams."""
