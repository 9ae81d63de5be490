"""Generate code for GPUs with DaCe: kernels on streams of calls."""
