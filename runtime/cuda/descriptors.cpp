#include <megakernels/runtime/cuda/internal/descriptors.hpp>

#include <cuda.h>
#include <cudaTypedefs.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace mk::cuda {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(tylo::tensor_map) && alignof(CUtensorMap) <= alignof(tylo::tensor_map));

using encode_function = PFN_cuTensorMapEncodeTiled_v12000;

/// Of the driver that is there: linked, it would have to be there to start a program.
encode_function find_encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  expect(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
         "cudaGetDriverEntryPointByVersion");
  if (result != cudaDriverEntryPointSuccess || found == nullptr)
    throw device_error("cuda device: the driver has no cuTensorMapEncodeTiled, which came with CUDA 12");
  return reinterpret_cast<encode_function>(found);
}

CUtensorMapDataType type_of(data_type type) {
  switch (type) {
  case data_type::fp32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case data_type::bf16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case data_type::fp16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case data_type::int32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  default:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle swizzle_of(swizzle s) {
  switch (s) {
  case swizzle::bytes_32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case swizzle::bytes_64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case swizzle::bytes_128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  default:
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

} // namespace

tylo::tensor_map encode(descriptor const& d, std::byte* buffer) {
  static auto const encoder = find_encoder();
  constexpr auto most = static_cast<std::size_t>(max_descriptor_rank);
  auto const rank = static_cast<std::size_t>(d.rank);
  std::array<cuuint64_t, most> extents{}, strides{}; // the driver's axis 0 is the innermost; it has no stride of that
  std::array<cuuint32_t, most> box{}, steps{};
  for (std::size_t i = 0; i < rank; ++i) {
    auto const axis = rank - 1 - i;
    extents[i] = static_cast<cuuint64_t>(d.extents[axis]);
    box[i] = d.box[axis];
    steps[i] = 1;
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(d.strides[axis]);
  }
  CUtensorMap map;
  auto const result =
      encoder(&map, type_of(d.type), static_cast<cuuint32_t>(rank), buffer + d.offset, extents.data(), strides.data(),
              box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(d.swizzle),
              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw device_error("cuda device: cuTensorMapEncodeTiled refused a descriptor of buffer " +
                       std::to_string(d.buffer) + " (CUresult " + std::to_string(static_cast<int>(result)) + ")");
  tylo::tensor_map encoded;
  std::memcpy(&encoded, &map, sizeof encoded);
  return encoded;
}

descriptor_table::descriptor_table(program const& p, std::span<std::byte* const> addresses,
                                   std::shared_ptr<memory_pool> const& pool, copier& copies) {
  if (p.descriptors.empty()) return;
  std::vector<tylo::tensor_map> maps;
  for (auto const& d : p.descriptors) maps.push_back(encode(d, addresses[d.buffer]));
  auto const bytes = std::as_bytes(std::span(maps));
  memory_ = memory_pool::take(pool, bytes.size());
  copies.to_device(memory_.get(), bytes.data(), bytes.size());
}

} // namespace mk::cuda
