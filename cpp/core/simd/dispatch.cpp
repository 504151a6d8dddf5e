// Chooses the widest implementation this processor runs, or the one that the environment names.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/simd/ops.hpp"

namespace widemargin::simd {
namespace {

struct Implementation {
  const char* name;
  bool (*runs_here)();
  const Ops<float>& (*floats)();
  const Ops<double>& (*doubles)();
  const Ops<Fraction>& (*fractions)();
  bool counts_bits_fast = false;
};

bool always() { return true; }

#ifdef WIDEMARGIN_X86
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
bool has_avx512_popcount() { return has_avx512() && __builtin_cpu_supports("avx512vpopcntdq"); }
#endif

// Narrowest first.
const Implementation implementations[] = {
    {"baseline", always, baseline::table<float>, baseline::table<double>, baseline::table<Fraction>},
#ifdef WIDEMARGIN_X86
    {"avx2", has_avx2, avx2::table<float>, avx2::table<double>, avx2::table<Fraction>},
    {"avx512", has_avx512, avx512::table<float>, avx512::table<double>, avx512::table<Fraction>},
    {"avx512-popcount", has_avx512_popcount, avx512_popcount::table<float>, avx512_popcount::table<double>,
     avx512_popcount::table<Fraction>, true},
#endif
};

const Implementation* find(const char* name) {
  for (const Implementation& candidate : implementations)
    if (std::strcmp(candidate.name, name) == 0 && candidate.runs_here()) return &candidate;
  return nullptr;
}

[[noreturn]] void refuse(const std::string& wanted) {
  std::string accepted;
  for (const Implementation& candidate : implementations)
    if (candidate.runs_here()) accepted += (accepted.empty() ? "" : ", ") + std::string(candidate.name);
  throw std::invalid_argument("the environment variable WIDEMARGIN_SIMD is '" + wanted +
                              "', which names no vector instructions of this processor; " + "it must be one of " +
                              accepted + ", or unset.");
}

const Implementation* choose() {
  const char* wanted = std::getenv("WIDEMARGIN_SIMD");
  if (wanted != nullptr && *wanted != '\0') {
    if (const Implementation* named = find(wanted)) return named;
    refuse(wanted);
  }
  const Implementation* widest = nullptr;
  for (const Implementation& candidate : implementations)
    if (candidate.runs_here()) widest = &candidate;
  return widest;
}

std::atomic<const Implementation*>& current() {
  static std::atomic<const Implementation*> chosen{choose()};
  return chosen;
}

}  // namespace

template <>
const Ops<float>& ops<float>() {
  return current().load(std::memory_order_relaxed)->floats();
}
template <>
const Ops<double>& ops<double>() {
  return current().load(std::memory_order_relaxed)->doubles();
}
template <>
const Ops<Fraction>& ops<Fraction>() {
  return current().load(std::memory_order_relaxed)->fractions();
}

bool counts_bits_fast() { return current().load()->counts_bits_fast; }
const char* ops_name() { return current().load()->name; }

bool use_ops(const char* name) {
  const Implementation* named = find(name);
  if (named != nullptr) current().store(named);
  return named != nullptr;
}

}  // namespace widemargin::simd
