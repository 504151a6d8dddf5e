// Matrix products from the BLAS that SciPy ships, reached through function pointers that the bindings fill in at import:
// the library links to nothing. Column-major, as in Fortran.
#pragma once

namespace widemargin::blas {

using Sgemm = void(char*, char*, int*, int*, int*, float*, float*, int*, float*, int*, float*, float*, int*);
using Dgemm = void(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);

inline Sgemm* sgemm = nullptr;
inline Dgemm* dgemm = nullptr;

// C (m x n) = A (m x k) B (k x n)
inline void gemm(int m, int n, int k, const float* A, int lda, const float* B, int ldb, float* C, int ldc) {
  char plain = 'N';
  float one = 1, zero = 0;
  sgemm(&plain, &plain, &m, &n, &k, &one, const_cast<float*>(A), &lda, const_cast<float*>(B), &ldb, &zero, C, &ldc);
}
inline void gemm(int m, int n, int k, const double* A, int lda, const double* B, int ldb, double* C, int ldc) {
  char plain = 'N';
  double one = 1, zero = 0;
  dgemm(&plain, &plain, &m, &n, &k, &one, const_cast<double*>(A), &lda, const_cast<double*>(B), &ldb, &zero, C, &ldc);
}

}  // namespace widemargin::blas
