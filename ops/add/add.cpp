#include <megakernels/ops/add/add.hpp>
#include <megakernels/ops/reference/elementwise.hpp>

namespace mk {

std::vector<output_shape> add::infer(arguments const& arg, shape_query const& q) {
  return elementwise::infer(arg.type, q, a, b);
}

work_shape add::work(arguments const&, std::span<tensor_desc const> o) { return elementwise::work(o[y]); }

void add::regions(arguments const&, std::span<tensor_desc const>, task const& t, region_list& r) {
  elementwise::regions(t, r, a, b, y);
}

cost add::cost_of(arguments const&, std::span<tensor_desc const> o, task const& t) {
  return elementwise::cost_of(o, t, 1);
}

template <class Accumulate> void add::reference(arguments const&, std::span<tensor_view const> o, task const& t) {
  elementwise::run<Accumulate>(o[a], o[b], o[y], t, [](Accumulate left, Accumulate right) { return left + right; });
}

template void add::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void add::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
