// The kernels that are functions of a dot product or a distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/simd/ops.hpp"

namespace widemargin {

// A squared distance is no kernel, but what Gaussians of all widths are made of.
enum class KernelKind { linear, polynomial, sigmoid, gaussian, squared_distance };

struct KernelFunction {
  KernelKind kind = KernelKind::gaussian;
  double gamma = 1;
  double coef0 = 0;
  int degree = 3;

  bool of_distances() const { return kind == KernelKind::gaussian || kind == KernelKind::squared_distance; }

  // Kernel values from dot products; the norms are used by functions of distances only.
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
      case KernelKind::gaussian: simd::ops<T>().gaussian_from_dot(dot, out, n, g, row_norm, norms); return;
      case KernelKind::squared_distance:
        for (std::size_t c = 0; c < n; ++c) out[c] = std::max(row_norm + norms[c] - 2 * dot[c], T(0));
        return;
    }
  }

  // The same from what does not depend on the parameters: squared distances for functions of distances, else dot
  // products.
  template <class T>
  void from_base(const T* base, T* out, std::size_t n) const {
    if (kind == KernelKind::gaussian)
      simd::ops<T>().gaussian(base, out, n, static_cast<T>(gamma));
    else if (kind == KernelKind::squared_distance)
      std::copy_n(base, n, out);
    else
      from_dot<T>(base, out, n, T(0), nullptr);
  }

  double on_diagonal(double squared_norm) const {
    double value = kind == KernelKind::gaussian ? 1 : 0;
    if (!of_distances()) from_dot<double>(&squared_norm, &value, 1, 0.0, nullptr);
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
