#define WIDEMARGIN_SIMD_NAMESPACE avx512_popcount
#define WIDEMARGIN_SIMD_BYTES 64
#include "core/simd/vector.inl"
