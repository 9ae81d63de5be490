// Threads of the system: how many a call uses by default, and how one starts.
#pragma once

#include <pthread.h>

namespace fieldforge {

// Starts a thread that ends with the process and gets no signals. False if the system has no more.
bool start_thread(void* (*live)(void*), void* data) noexcept;

}  // namespace fieldforge
