// How Python ends a computation of the core: Ctrl-C, a signal from another thread, a time limit.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <stdexcept>

#include "core/runtime/stopping.hpp"

namespace widemargin::bindings {

namespace nb = nanobind;

inline bool interruption_pending() {
  nb::gil_scoped_acquire hold;
  return PyErr_CheckSignals() != 0;
}

// Whether a computation is to end: because of a signal, if there is one, or of Ctrl-C.
inline std::function<bool()> end_wanted(const StopSignal* signal) {
  return [signal] { return (signal != nullptr && signal->requested.load()) || interruption_pending(); };
}

// What Python sees of a computation that its time or a signal ended before it had a result; Ctrl-C is an error of its
// own.
struct StoppedError : std::runtime_error {
  StoppedError() : std::runtime_error("The computation was stopped before it had a result.") {}
};

// Runs work(deadline) without the interpreter. Where it is stopped there is no result, but an error.
template <class Work>
void run_or_raise(double max_seconds, const StopSignal* signal, Work&& work) {
  bool stopped = false;
  {
    nb::gil_scoped_release release;
    Deadline deadline(max_seconds, end_wanted(signal));
    try {
      work(deadline);
    } catch (const Stopped&) {
    }
    stopped = deadline.stopped();
  }
  if (!stopped) return;
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  throw StoppedError();
}

}  // namespace widemargin::bindings
