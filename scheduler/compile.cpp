#include <megakernels/scheduler/compile.hpp>
#include <megakernels/scheduler/order.hpp>
#include <megakernels/scheduler/program/verify.hpp>

namespace mk {

program compile(graph const& g, machine const& m, operation_table const& table) {
  schedule s;
  s.tiles = tile(g, m);
  s.depends = depend(g, s.tiles);
  s.memory = plan_memory(g, s.depends);
  s.places = place(s.tiles, s.depends, m);
  s.lists = order(s.places, m);
  auto p = encode(g, s, table);
  verify(p, table);
  return p;
}

} // namespace mk
