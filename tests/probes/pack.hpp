#pragma once

/// The kernels of tests/emulator/pack_kernels.hpp on a GPU.

#include "../emulator/pack_data.hpp"

#include <cuda_runtime_api.h>

namespace mk::test {

/// `to` and `from` are numbers of number_types.
cudaError_t start_convert_array(unsigned to, unsigned from, conversion_arguments const&);
/// `to` is the number of a packed type.
cudaError_t start_pack_array(unsigned to, unsigned from, conversion_arguments const&);
/// `from` is the number of a packed type.
cudaError_t start_unpack_array(unsigned to, unsigned from, conversion_arguments const&);
/// int32 to int8 in fragments of `slots`, 1 to 5.
cudaError_t start_short_arrays(unsigned slots, conversion_arguments const&);
cudaError_t start_quantize(quantize_arguments const&);

} // namespace mk::test
