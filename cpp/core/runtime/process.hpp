// Forked processes: they have one thread, and what all threads of their parent have left behind.
#pragma once

#include <mutex>

#ifdef __unix__
#include <pthread.h>
#include <unistd.h>
#endif

namespace widemargin {

#ifdef __unix__
using ProcessId = pid_t;
inline ProcessId process_id() { return getpid(); }
#else
using ProcessId = int;
inline ProcessId process_id() { return 0; }
#endif

// The one mutex of everything that belongs to the process rather than to a computation: the memory pool, what threads
// keep for themselves. Whoever forks holds it meanwhile, so that no child inherits it from a thread that it does not
// have. Never destroyed: threads may free memory when everything else has ended.
inline std::mutex& process_mutex() {
  static std::mutex* const mutex = [] {
    auto* made = new std::mutex;
#ifdef __unix__
    pthread_atfork([] { process_mutex().lock(); }, [] { process_mutex().unlock(); }, [] { process_mutex().unlock(); });
#endif
    return made;
  }();
  return *mutex;
}

}  // namespace widemargin
