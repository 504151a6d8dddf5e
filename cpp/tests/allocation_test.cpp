// Wherever memory runs out, on whichever thread, a solve ends with std::bad_alloc, and the next one is as good as if
// nothing had happened.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "core/geometric/kernel_store.hpp"
#include "core/linear_algebra/blas.hpp"
#include "core/rows/kernel_rows.hpp"
#include "core/runtime/scratch.hpp"
#include "core/solve.hpp"

namespace {

std::atomic<long> allocations_left{-1};  // below 0: as many as there may be

bool refused() { return allocations_left.load(std::memory_order_relaxed) >= 0 && allocations_left.fetch_sub(1) == 0; }

void* allocate(std::size_t bytes) {
  if (refused()) throw std::bad_alloc();
  if (void* found = std::malloc(bytes > 0 ? bytes : 1)) return found;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return refused() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return refused() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace widemargin;

void dgemm(char*, char*, int* m, int* n, int* k, double* alpha, double* A, int* lda, double* B, int* ldb, double* beta,
           double* C, int* ldc) {
  for (int c = 0; c < *n; ++c)
    for (int r = 0; r < *m; ++r) {
      double sum = 0;
      for (int t = 0; t < *k; ++t) sum += A[r + t * *lda] * B[t + c * *ldb];
      double& target = C[r + c * *ldc];
      target = *alpha * sum + (*beta == 0 ? 0 : *beta * target);
    }
}

struct Data {
  std::vector<double> X, linear, lower, upper;
  std::vector<Id> ids;

  Data(std::size_t n, std::size_t d) {
    std::mt19937 random(0);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < n * d; ++i) X.push_back(normal(random));
    for (std::size_t i = 0; i < n; ++i) {
      const double y = X[i * d] + 0.5 * normal(random) > 0 ? 1 : -1;
      linear.push_back(y), lower.push_back(std::min(0.0, y)), upper.push_back(std::max(0.0, y));
      ids.push_back(static_cast<Id>(i));
    }
  }
};

Solution solved(const Data& data, const RowSource& rows, Solver solver) {
  ThreadTeam team(3);
  SlabPool pool;
  Deadline deadline(1e10, nullptr);
  return solve({data.linear, data.lower, data.upper, {0, 0}, {}, {}}, rows, data.ids,
               {solver, Selection::automatic, 1, true, false, 1 << 20}, {1e-3, 1'000'000}, {}, pool, team, deadline,
               true);
}

// Refuses one piece of memory after the other, until none is left to refuse; how many were, or -1 if something else
// went wrong.
template <class Refuse, class Work, class Check>
long refuse_each(const Refuse& refuse, const Work& work, const Check& check) {
  for (long after = 0;; after += 1 + after / 6) {  // all of the first ones, then some
    bool failed = false;
    refuse(after);
    try {
      work();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    refuse(-1);
    if (!check()) return -1;
    if (!failed) return after;
  }
}

int solves_survive(const char* name, const Data& data, const RowSource& rows, Solver solver) {
  const double objective = solved(data, rows, solver).outcome.objective;
  const auto work = [&] { solved(data, rows, solver); };
  const auto check = [&] {
    return std::fabs(solved(data, rows, solver).outcome.objective - objective) <= 1e-9 * std::fabs(objective);
  };
  const long small = refuse_each([](long after) { allocations_left = after; }, work, check);
  const long large = refuse_each([](long after) { pieces_until_refusal = after; }, work,
                                 [&] {
                                   ThreadLocalMemory::clear_all();
                                   release_memory();
                                   return check();
                                 });
  std::printf("%s: a solve asks %ld times for memory, and for %ld buffers\n", name, small, large);
  return small > 20 && large > 3 ? 0 : 1;
}

int stores_survive(const Data& data, const RowSource& rows) {
  ThreadTeam team(2);
  geometric::KernelStore reference(rows, 1 << 20);
  const std::vector<float> expected(reference.row(7, team), reference.row(7, team) + rows.size());
  geometric::KernelStore store(rows, 8 * rows.size() * sizeof(float));
  const auto work = [&] {
    for (std::size_t i = 0; i < 20; ++i) store.row(i * 31 % data.ids.size(), team);
  };
  const auto check = [&] {
    const float* row = store.row(7, team);
    return std::equal(expected.begin(), expected.end(), row);
  };
  return refuse_each([](long after) { allocations_left = after; }, work, check) > 0 &&
                 refuse_each([](long after) { pieces_until_refusal = after; }, work, check) >= 0
             ? 0
             : 1;
}

}  // namespace

int main() {
  blas::dgemm = dgemm;
  const std::size_t d = 10;  // squared distances: no other BLAS is needed
  const Data data(400, d);
  const DenseSamples<double> samples(data.X.data(), data.ids.size(), d);
  const KernelRows rows(samples, {KernelKind::gaussian, 0.1, 0, 0});
  const int failures = solves_survive("smo", data, rows, Solver::smo) +
                       solves_survive("block", data, rows, Solver::block) + stores_survive(data, rows);
  if (failures > 0) std::printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
