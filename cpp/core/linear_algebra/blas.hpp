// Matrix products and Cholesky's factorisation from the BLAS and LAPACK that SciPy ships, reached through function
// pointers that the bindings fill in at import: the library links to nothing. Column-major, as in Fortran.
#pragma once

namespace widemargin::blas {

using Sgemm = void(char*, char*, int*, int*, int*, float*, float*, int*, float*, int*, float*, float*, int*);
using Dgemm = void(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);
using Dsyrk = void(char*, char*, int*, int*, double*, double*, int*, double*, double*, int*);
using Ddot = double(int*, double*, int*, double*, int*);
using Dpotrf = void(char*, int*, double*, int*, int*);
using Dpotrs = void(char*, int*, int*, double*, int*, double*, int*, int*);
using Dpocon = void(char*, int*, double*, int*, double*, double*, double*, int*, int*);
using Dpstrf = void(char*, int*, double*, int*, int*, int*, double*, double*, int*);

inline Sgemm* sgemm = nullptr;
inline Dgemm* dgemm = nullptr;
inline Dsyrk* dsyrk = nullptr;
inline Ddot* ddot = nullptr;
inline Dpotrf* dpotrf = nullptr;
inline Dpotrs* dpotrs = nullptr;
inline Dpocon* dpocon = nullptr;
inline Dpstrf* dpstrf = nullptr;

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

// C (n x n, its upper half by rows) += sign A'A for A (k x n)
inline void add_squares(int n, int k, double sign, const double* A, double* C) {
  char lower = 'L', transposed = 'T';
  double one = 1;
  if (k > 0) dsyrk(&lower, &transposed, &n, &k, &sign, const_cast<double*>(A), &k, &one, C, &n);
}

inline double dot(int n, const double* x, const double* y) {
  int one = 1;
  return ddot(&n, const_cast<double*>(x), &one, const_cast<double*>(y), &one);
}

}  // namespace widemargin::blas
