#define WIDEMARGIN_SIMD_NAMESPACE avx2
#define WIDEMARGIN_SIMD_BYTES 32
#include "core/simd/vector.inl"
