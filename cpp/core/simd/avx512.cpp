#define WIDEMARGIN_SIMD_NAMESPACE avx512
#define WIDEMARGIN_SIMD_BYTES 64
#include "core/simd/vector.inl"
