#include <megakernels/ops/error.hpp>
#include <megakernels/runtime/internal/copy.hpp>
#include <megakernels/runtime/step.hpp>

#include <cstring>
#include <utility>

namespace mk {
namespace {

template <class T> step::elements flat(std::span<T const> from, data_type type) {
  step::elements result{.bytes = std::vector<std::byte>(from.size_bytes()), .type = type, .rank = -1, .extents = {}};
  if (!from.empty()) std::memcpy(result.bytes.data(), from.data(), from.size_bytes());
  return result;
}

} // namespace

step& step::live(std::string_view name, std::int64_t length) {
  lives_.insert_or_assign(std::string(name), length);
  return *this;
}

step& step::values(std::string_view name, std::span<std::int32_t const> from) {
  values_.insert_or_assign(std::string(name), flat(from, data_type::int32));
  return *this;
}

step& step::values(std::string_view name, std::span<float const> from) {
  values_.insert_or_assign(std::string(name), flat(from, data_type::fp32));
  return *this;
}

step& step::values(std::string_view name, std::initializer_list<std::int32_t> from) {
  return values(name, std::span<std::int32_t const>(from.begin(), from.size()));
}

step& step::values(std::string_view name, std::initializer_list<float> from) {
  return values(name, std::span<float const>(from.begin(), from.size()));
}

step& step::values(std::string_view name, tensor_view const& from) {
  auto const count = detail::elements_of(from);
  if (!from.present() || (from.data == nullptr && count > 0))
    throw submit_error("step values '" + std::string(name) + "': a view without memory");
  elements result{.bytes = std::vector<std::byte>(static_cast<std::size_t>(count * tylo::bytes_of(from.type))),
                  .type = from.type,
                  .rank = from.rank,
                  .extents = from.extents};
  auto dense = from;
  dense.data = result.bytes.data();
  detail::set_dense_strides(dense);
  detail::copy_elements(from, dense);
  values_.insert_or_assign(std::string(name), std::move(result));
  return *this;
}

step& step::bind(std::string_view name, tensor_view const& memory) {
  bindings_.insert_or_assign(std::string(name), memory);
  return *this;
}

step& step::repeat(std::int64_t runs) {
  runs_ = runs;
  return *this;
}

step& step::carry(std::string_view from, std::string_view into) {
  changes_.insert_or_assign(std::string(into), change{.from = std::string(from)});
  return *this;
}

step& step::advance(std::string_view into, std::int32_t by) {
  changes_.insert_or_assign(std::string(into), change{.from = {}, .by = by});
  return *this;
}

step& step::keep(std::string_view into, tensor_view const& history) {
  histories_.insert_or_assign(std::string(into), history);
  return *this;
}

} // namespace mk
