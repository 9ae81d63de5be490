"""The threads of a block on the host, as C++: barriers and shuffles by fibres.

A thread that never waits runs to its end, and the next one follows on the same stack: a plain
loop. A thread that waits keeps its stack, a *fibre*, and the loop goes on with the next thread on
another stack. When every thread of a block has come to the same barrier a phase ends, and each of
them is resumed in turn. So phases between uniform barriers are loops over the threads, and no
kernel has to be cut at its barriers. `host_shared` has the memory that the threads share.

What goes wrong is told by `fieldforge_report`, which the null driver sets when it loads a module,
and ends the grid: threads that wait at different barriers, or for a thread that has ended.

Lines are those of the generated source.
"""

from __future__ import annotations

from typing import Final

from .host_grid import PLACE

# Needs variables 'threadIdx', 'blockIdx', 'blockDim' and 'gridDim', each with x, y and z.
FIBRES: Final = (
    PLACE
    + """\
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
extern "C" {
__attribute__((visibility("default"))) void (*fieldforge_report)(const char*) = nullptr;
}
namespace ff_host {
enum Waits : int { ended, ready, at_barrier, at_warp, at_shuffle };
constexpr unsigned warp = 32, most_threads = 1024, stack_bytes = 65536;
constexpr unsigned long long canary = 0x5ca1ab1e0ddba11ull;
#if defined(__x86_64__)
typedef void* Context;
extern "C" __attribute__((visibility("hidden"))) void ff_switch(void** from, void* to);
__asm__(".text\\n.globl ff_switch\\n.hidden ff_switch\\n.type ff_switch, @function\\nff_switch:\\n"
        "pushq %rbp\\npushq %rbx\\npushq %r12\\npushq %r13\\npushq %r14\\npushq %r15\\n"
        "movq %rsp, (%rdi)\\nmovq %rsi, %rsp\\n"
        "popq %r15\\npopq %r14\\npopq %r13\\npopq %r12\\npopq %rbx\\npopq %rbp\\nret\\n"
        ".size ff_switch, .-ff_switch\\n");
static void change(Context& from, Context& to) { ff_switch(&from, to); }
static void prepare(Context& made, char* stack, void (*entry)()) {
  void** top = (void**)(((size_t)(stack + stack_bytes) & ~(size_t)15) - 64);
  memset(top, 0, 64);
  top[6] = (void*)entry;
  made = top;
}
#else
typedef ucontext_t Context;
static void change(Context& from, Context& to) { swapcontext(&from, &to); }
static void prepare(Context& made, char* stack, void (*entry)()) {
  getcontext(&made);
  made.uc_stack.ss_sp = stack;
  made.uc_stack.ss_size = stack_bytes;
  made.uc_link = nullptr;
  makecontext(&made, entry, 0);
}
#endif
struct Fibre { Context context; char* stack; };
struct Copy { char* to; const char* from; unsigned bytes, group; int line; };
struct Thread {
  Fibre* fibre;
  Waits waits;
  int line;
  unsigned parity, groups, copies, room;
  Copy* copy;
  unsigned long long given[2];
};
struct Cell {
  unsigned block, write_phase, write_warp_phase, read_phase, read_warp_phase;
  int writer, reader, write_line, read_line;
  bool pending;
};
struct Block {
  unsigned count, next, alive, me, serial, phase, fibres, unused, shared_bytes, warp_phase[warp];
  bool failed;
  void (*body)(const void*);
  const void* kernel;
  char* shared;
  Cell* cells;
  Context scheduler;
  Fibre* running;
  Fibre fibre[most_threads];
  Fibre* free[most_threads];
  Thread thread[most_threads];
};
static thread_local Block* here = nullptr;

// Tell the first mistake of a grid.
__attribute__((format(printf, 1, 2))) static void report(const char* format, ...) {
  if (here->failed) return;
  here->failed = true;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (fieldforge_report != nullptr) fieldforge_report(text);
  else fprintf(stderr, "%s\\n", text);
}
static void place(unsigned thread) {
  here->me = thread;
  threadIdx.x = thread % blockDim.x;
  threadIdx.y = thread / blockDim.x % blockDim.y;
  threadIdx.z = thread / blockDim.x / blockDim.y;
}
// What a fibre does: start threads until none is left.
static void start_threads() {
  for (;;) {
    Block& b = *here;
    while (b.next < b.count) {
      place(b.next++);
      b.body(b.kernel);
      b.thread[b.me].waits = ended;
      --b.alive;
    }
    b.free[b.unused++] = b.running;
    change(b.running->context, b.scheduler);
  }
}
static void resume(Fibre* fibre) {
  here->running = fibre;
  change(here->scheduler, fibre->context);
}
static Fibre* fibre_of(Block& b) {
  if (b.unused != 0) return b.free[--b.unused];
  Fibre* made = &b.fibre[b.fibres++];
  if (made->stack == nullptr) {
    made->stack = (char*)malloc(stack_bytes);
    *(unsigned long long*)made->stack = canary;
  }
  prepare(made->context, made->stack, start_threads);
  return made;
}
static void wait(Waits why, int line) {
  Block& b = *here;
  Thread& mine = b.thread[b.me];
  mine.waits = why;
  mine.line = line;
  mine.fibre = b.running;
  change(b.running->context, b.scheduler);
}
// Let the threads `first` to `last` go on if all of them that live wait at the same place.
static bool release(Block& b, unsigned first, unsigned last, bool whole) {
  int line = -1;
  Waits why = ended;
  for (unsigned i = first; i < last; ++i) {
    const Thread& each = b.thread[i];
    if (each.waits == ended) continue;
    if ((each.waits == at_barrier) != whole) return false;
    if (line >= 0 && (each.line != line || each.waits != why)) return false;
    line = each.line, why = each.waits;
  }
  if (line < 0) return false;
  for (unsigned i = first; i < last; ++i) {
    if (b.thread[i].waits != ended) { b.thread[i].waits = ready; continue; }
    report("Thread %u of block (%u, %u, %u) has ended before line %d, where others of its %s wait "
           "for it.", i, blockIdx.x, blockIdx.y, blockIdx.z, line, whole ? "block" : "warp");
    return false;
  }
  if (whole) ++b.phase;
  else if (why == at_warp) ++b.warp_phase[first / warp];
  return true;
}
static void tell_who_waits(Block& b) {
  unsigned first = 0, other = 0;
  while (b.thread[first].waits == ended) ++first;
  for (unsigned i = first; i < b.count; ++i) {
    if (b.thread[i].waits != ended && b.thread[i].line != b.thread[first].line) other = i;
  }
  report("Threads of block (%u, %u, %u) wait at different places: thread %u in line %d, thread "
         "%u in line %d.", blockIdx.x, blockIdx.y, blockIdx.z, first, b.thread[first].line, other,
         b.thread[other].line);
}
static void run_block(Block& b) {
  b.next = 0, b.alive = b.count, b.phase = 1;
  ++b.serial;
  for (unsigned& each : b.warp_phase) each = 1;
  for (unsigned i = 0; i < b.count; ++i) {
    Thread& each = b.thread[i];
    each.waits = ready, each.parity = each.groups = each.copies = 0;
  }
  if (b.shared_bytes != 0) memset(b.shared, 0xff, b.shared_bytes);
  while (b.next < b.count && !b.failed) resume(fibre_of(b));
  while (b.alive != 0 && !b.failed) {
    bool moved = release(b, 0, b.count, true);
    for (unsigned first = 0; first < b.count && !moved && !b.failed; first += warp) {
      const unsigned last = first + warp < b.count ? first + warp : b.count;
      while (release(b, first, last, false)) {
        moved = true;
        for (unsigned i = first; i < last; ++i) { place(i); resume(b.thread[i].fibre); }
      }
    }
    if (!moved) { if (!b.failed) tell_who_waits(b); return; }
    for (unsigned i = 0; i < b.count; ++i) {
      if (b.thread[i].waits == ready) { place(i); resume(b.thread[i].fibre); }
    }
  }
}
template <typename Kernel> static void call(const void* kernel) { (*(const Kernel*)kernel)(); }
template <typename Kernel>
static void each_thread(const unsigned* grid, const unsigned* block, unsigned shared,
                        const Kernel& kernel) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  Block* b = (Block*)calloc(1, sizeof(Block));
  Block* const before = here;
  here = b;
  b->count = block[0] * block[1] * block[2];
  b->body = &call<Kernel>, b->kernel = &kernel;
  b->shared_bytes = shared;
  if (shared != 0) {
    b->shared = (char*)aligned_alloc(128, (shared + 127) / 128 * 128);
    b->cells = (Cell*)calloc(shared, sizeof(Cell));
  }
  for (blockIdx.z = 0; blockIdx.z < grid[2] && !b->failed; ++blockIdx.z)
  for (blockIdx.y = 0; blockIdx.y < grid[1] && !b->failed; ++blockIdx.y)
  for (blockIdx.x = 0; blockIdx.x < grid[0] && !b->failed; ++blockIdx.x) run_block(*b);
  for (unsigned i = 0; i < b->fibres; ++i) {
    if (*(unsigned long long*)b->fibre[i].stack != canary) {
      report("A thread needs more than %u bytes of stack on the host.", stack_bytes);
    }
    free(b->fibre[i].stack);
  }
  for (Thread& each : b->thread) free(each.copy);
  free(b->shared), free(b->cells), free(b);
  here = before;
}
}  // namespace ff_host
namespace ff {
static inline void barrier(int line = __builtin_LINE()) {
  ff_host::wait(ff_host::at_barrier, line);
}
static inline void warp_barrier(int line = __builtin_LINE()) {
  ff_host::wait(ff_host::at_warp, line);
}
static inline int lane() { return int(ff_host::here->me % ff_host::warp); }
template <typename T> static T shuffle_from(T value, int source, int line) {
  ff_host::Block& b = *ff_host::here;
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  const unsigned me = b.me, parity = b.thread[me].parity ^= 1;
  memcpy(&b.thread[me].given[parity], &value, sizeof value);
  ff_host::wait(ff_host::at_shuffle, line);
  const unsigned from = me / ff_host::warp * ff_host::warp + unsigned(source);
  if (from >= b.count) {
    ff_host::report("Thread %u asks in line %d for the value of lane %d, which its warp has not.",
                    me, line, source);
    return value;
  }
  memcpy(&value, &b.thread[from].given[parity], sizeof value);
  return value;
}
template <typename T>
static T shuffle(T value, int source, int width = 32, int line = __builtin_LINE()) {
  return shuffle_from(value, lane() / width * width + source % width, line);
}
template <typename T>
static T shuffle_down(T value, int count, int width = 32, int line = __builtin_LINE()) {
  const int own = lane();
  return shuffle_from(value, own % width + count < width ? own + count : own, line);
}
template <typename T>
static T shuffle_up(T value, int count, int width = 32, int line = __builtin_LINE()) {
  const int own = lane();
  return shuffle_from(value, own % width >= count ? own - count : own, line);
}
template <typename T>
static T shuffle_xor(T value, int mask, int width = 32, int line = __builtin_LINE()) {
  const int own = lane(), other = own ^ mask;
  return shuffle_from(value, other / width == own / width ? other : own, line);
}
}  // namespace ff
"""
)
