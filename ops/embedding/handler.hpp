#pragma once

/// The device side of `embedding`: threads take neighbouring elements.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/walk.hpp>
#include <megakernels/ops/embedding/embedding.hpp>
#include <megakernels/ops/handler.hpp>

namespace mk {

template <> struct handler<embedding> {
  template <class Context> static TYLO_FN void compute(Context& context, embedding::arguments const&, task const& t) {
    auto const& table = context.operand(embedding::table);
    auto const& ids = context.operand(embedding::ids);
    auto const& y = context.operand(embedding::y);
    auto const vocabulary = table.extent(0);
    handlers::walk(handlers::as_thread(context), t.row_begin, t.row_end, t.column_begin,
                   std::min(t.column_end, y.extent(1)), [&](std::int64_t row, std::int64_t column) {
                     auto const id = handlers::load_index(ids.at(row));
                     bool const known = id >= 0 && id < vocabulary;
                     auto const value = known ? handlers::load(table.type, table.at(id, column)) : 0.0f;
                     handlers::store(y.type, y.at(row, column), value);
                   });
  }
};

} // namespace mk
