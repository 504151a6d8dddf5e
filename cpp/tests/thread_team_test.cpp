// Every piece of every round is done once, whoever comes late. Meant to be run under the thread sanitizer, too.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/thread_team.hpp"

int main() {
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
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
