// The kernels that are functions of a dot product or a distance.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/simd/ops.hpp"

namespace widemargin {

enum class KernelKind { linear, polynomial, sigmoid, gaussian };

struct KernelFunction {
  KernelKind kind = KernelKind::gaussian;
  double gamma = 1;
  double coef0 = 0;
  int degree = 3;


  // Kernel values from dot products; the norms are used by the Gaussian only.
  template <class T>
  void from_dot(const T* dot, T* out, std::size_t n, T row_norm, const T* norms) const {
    const T g = static_cast<T>(gamma), c0 = static_cast<T>(coef0);
    switch (kind) {
      case KernelKind::linear:
        for (std::size_t c = 0; c < n; ++c) out[c] = dot[c];
        return;
      case KernelKind::polynomial:
        for (std::size_t c = 0; c < n; ++c) out[c] = power(g * dot[c] + c0);
        return;
      case KernelKind::sigmoid:
        for (std::size_t c = 0; c < n; ++c) out[c] = std::tanh(g * dot[c] + c0);
        return;
      case KernelKind::gaussian:
        simd::ops<T>().gaussian_from_dot(dot, out, n, g, row_norm, norms);
        return;
    }
  }

  double on_diagonal(double squared_norm) const {
    double value = 1;
    if (kind != KernelKind::gaussian) from_dot<double>(&squared_norm, &value, 1, 0.0, nullptr);
    return value;
  }

 private:
  template <class T>
  T power(T base) const {
    T result = 1;
    for (int left = degree; left > 0; left >>= 1, base *= base)
      if (left & 1) result *= base;
    return result;
  }
};

}  // namespace widemargin
