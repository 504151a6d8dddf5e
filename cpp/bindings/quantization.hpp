// Vector quantisation, from and to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/one_at_a_time.hpp"
#include "bindings/problems.hpp"
#include "bindings/sources.hpp"
#include "bindings/stopping.hpp"
#include "core/quantization/lbg.hpp"

namespace widemargin::bindings {

// Codebooks level by level, and the samples they are of.
class HeldLbg {
 public:
  HeldLbg(const HeldSamples& samples, Vector<double> weights, double tolerance, std::int64_t max_rounds,
          bool double_precision)
      : held_(samples), lbg_(*samples.samples, checked(samples, weights), {tolerance, max_rounds, double_precision}) {}

  quantization::Codebook level(std::size_t number, std::size_t n_threads, double max_seconds,
                               const StopSignal* signal) {
    const OneAtATime::Turn alone = using_it_.taken();
    quantization::Codebook found;
    run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
      ThreadTeam team(n_threads);
      found = lbg_.level(number, team, deadline);
    });
    return found;
  }

 private:
  static std::vector<double> checked(const HeldSamples& samples, const Vector<double>& weights) {
    if (samples.samples->size() == 0 || samples.samples->dimension() == 0)
      throw std::invalid_argument("there are no samples to quantise");
    if (weights.shape(0) != samples.samples->size())
      throw std::invalid_argument("samples and weights differ in their number");
    for (std::size_t i = 0; i < weights.shape(0); ++i)
      if (!(weights.data()[i] > 0) || !std::isfinite(weights.data()[i]))
        throw std::invalid_argument("every weight must be a positive number");
    return {weights.data(), weights.data() + weights.shape(0)};
  }

  HeldSamples held_;
  quantization::Lbg lbg_;
  OneAtATime using_it_{"these codebooks"};
};

inline std::pair<nb::ndarray<nb::numpy, std::int32_t>, nb::ndarray<nb::numpy, double>> nearest_prototypes_of(
    const HeldSamples& samples, Matrix<double> prototypes, std::size_t n_threads, double max_seconds,
    const StopSignal* signal) {
  if (prototypes.shape(0) == 0 || prototypes.shape(1) != samples.samples->dimension())
    throw std::invalid_argument("samples and prototypes differ in their number of features");
  std::vector<std::int32_t> labels(samples.samples->size());
  std::vector<double> squared(labels.size());
  run_or_raise(max_seconds, signal, [&](Deadline& deadline) {
    ThreadTeam team(n_threads);
    quantization::nearest_prototypes(*samples.samples, {prototypes.data(), prototypes.shape(0) * prototypes.shape(1)},
                                     labels.data(), squared.data(), team, deadline);
  });
  return {numpy_array(std::move(labels)), numpy_array(std::move(squared))};
}

}  // namespace widemargin::bindings
