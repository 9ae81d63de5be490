"""C++ of exported libraries: memory for temporaries, which each thread keeps."""

from __future__ import annotations

from typing import Final

WORKSPACE: Final = r"""
// --- memory for temporaries -----------------------------------------------------------------

// Kept by each thread for its next call.
struct Workspace {
  void* data = nullptr;
  int64_t size = 0;
  ~Workspace() { std::free(data); }

  bool has(int64_t wanted) {
    if (wanted <= size) return true;
    std::free(data);
    size = (wanted + 63) / 64 * 64;
    data = std::aligned_alloc(64, static_cast<size_t>(size));
    if (data == nullptr) size = 0;
    return data != nullptr;
  }
};
thread_local Workspace workspace;
"""
