// Every piece of every round is done once, whoever comes late; what a piece throws comes back. Meant to be run under
// the thread sanitizer, too.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "core/runtime/thread_team.hpp"

namespace {

int every_piece_is_done_once() {
  int failures = 0;
  for (const std::size_t size : {1, 2, 3, 8}) {
    widemargin::ThreadTeam team(size);
    std::vector<long> done(64, 0), expected(64, 0);
    for (std::size_t round = 0; round < 20'000; ++round) {
      const std::size_t count = round % 50;
      team.share(count, [&](std::size_t piece, std::size_t member) { done[piece] += member < size ? 1 : 1'000'000; });
      for (std::size_t piece = 0; piece < count; ++piece) ++expected[piece];
    }
    if (done != expected) ++failures, std::printf("pieces were lost or done twice by %zu threads\n", size);
  }
  return failures;
}

// Whichever thread takes the piece that fails, the caller gets what it threw, once, and the next round is as any other.
int exceptions_come_back() {
  int failures = 0;
  for (const std::size_t size : {1, 2, 3, 8}) {
    widemargin::ThreadTeam team(size);
    for (std::size_t round = 0; round < 2'000; ++round) {
      const std::size_t count = 2 + round % 50, failing = round % count;
      bool caught = false;
      try {
        team.share(count, [&](std::size_t piece, std::size_t) {
          if (piece == failing) throw std::bad_alloc();
        });
      } catch (const std::bad_alloc&) {
        caught = true;
      }
      std::atomic<std::size_t> done{0};
      team.share(count, [&](std::size_t, std::size_t) { ++done; });
      if (!caught || done != count) ++failures;
    }
    // Others wait for the caller to be idle; it may have been quicker and done everything itself.
    std::atomic<bool> idle{false};
    bool idle_failed = false;
    try {
      team.share(
          size,
          [&](std::size_t, std::size_t member) {
            while (member != 0 && !idle) std::this_thread::yield();
          },
          [&] {
            idle = true;
            throw 1;
          });
    } catch (int) {
      idle_failed = true;
    }
    if (idle_failed != idle) ++failures;
    if (failures > 0) std::printf("exceptions were lost by %zu threads\n", size);
  }
  return failures;
}

}  // namespace

int main() { return every_piece_is_done_once() + exceptions_come_back() == 0 ? EXIT_SUCCESS : EXIT_FAILURE; }
