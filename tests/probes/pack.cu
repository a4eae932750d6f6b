#include "pack.hpp"

namespace mk::test {
namespace {

constexpr unsigned ctas = 64;

template <class To, class From, int Slots> __global__ void convert_kernel(conversion_arguments const g) {
  convert_array<To, From, Slots>(g);
}
template <class To, class From> __global__ void pack_kernel(conversion_arguments const g) { pack_array<To, From>(g); }
template <class To, class From> __global__ void unpack_kernel(conversion_arguments const g) {
  unpack_array<To, From>(g);
}
__global__ void quantize_kernel(quantize_arguments const g) { quantize(g); }

using kernel = void (*)(conversion_arguments);

cudaError_t start(kernel k, conversion_arguments const& g) {
  k<<<ctas, conversion_threads>>>(g);
  return cudaGetLastError();
}

constexpr std::size_t types = std::tuple_size_v<number_types>;
template <std::size_t I> using number_type = std::tuple_element_t<I, number_types>;

// Kernels by the numbers of their two types, `types` for each of the first.
template <std::size_t... I> kernel convert_kernel_at(std::size_t i, std::index_sequence<I...>) {
  static constexpr kernel all[] = {convert_kernel<number_type<I / types>, number_type<I % types>, 5>...};
  return all[i];
}
template <std::size_t... I> kernel pack_kernel_at(std::size_t i, std::index_sequence<I...>) {
  static constexpr kernel all[] = {pack_kernel<number_type<I / types>, number_type<I % types>>...};
  return all[i];
}
template <std::size_t... I> kernel unpack_kernel_at(std::size_t i, std::index_sequence<I...>) {
  static constexpr kernel all[] = {unpack_kernel<number_type<I % types>, number_type<I / types>>...};
  return all[i];
}
template <int... N> kernel short_kernel_at(unsigned slots, std::integer_sequence<int, N...>) {
  static constexpr kernel all[] = {convert_kernel<std::int8_t, std::int32_t, N + 1>...};
  return all[slots - 1];
}

} // namespace

cudaError_t start_convert_array(unsigned to, unsigned from, conversion_arguments const& g) {
  return start(convert_kernel_at(to * types + from, std::make_index_sequence<types * types>{}), g);
}

cudaError_t start_pack_array(unsigned to, unsigned from, conversion_arguments const& g) {
  return start(pack_kernel_at(to * types + from, std::make_index_sequence<packed_types * types>{}), g);
}

cudaError_t start_unpack_array(unsigned to, unsigned from, conversion_arguments const& g) {
  return start(unpack_kernel_at(from * types + to, std::make_index_sequence<packed_types * types>{}), g);
}

cudaError_t start_short_arrays(unsigned slots, conversion_arguments const& g) {
  return start(short_kernel_at(slots, std::make_integer_sequence<int, 5>{}), g);
}

cudaError_t start_quantize(quantize_arguments const& g) {
  quantize_kernel<<<1, tylo::warp_size>>>(g);
  return cudaGetLastError();
}

} // namespace mk::test
