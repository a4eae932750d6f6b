#include <megakernels/ops/reference/elementwise.hpp>
#include <megakernels/ops/reference/exponential.hpp>
#include <megakernels/ops/silu_mul/silu_mul.hpp>

namespace mk {

std::vector<output_shape> silu_mul::infer(arguments const& a, shape_query const& q) {
  return elementwise::infer(a.type, q, gate, up);
}

work_shape silu_mul::work(arguments const&, std::span<tensor_desc const> o) { return elementwise::work(o[y]); }

void silu_mul::regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
  elementwise::regions(t, r, gate, up, y);
}

cost silu_mul::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  return elementwise::cost_of(o, t, 5);
}

template <class Accumulate> void silu_mul::reference(arguments const&, std::span<tensor_view const> o, task const& t) {
  elementwise::run<Accumulate>(o[gate], o[up], o[y], t,
                               [](Accumulate g, Accumulate u) { return g / (1 + reference::exponential(-g)) * u; });
}

template void silu_mul::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void silu_mul::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
