#include <megakernels/ops/rms_norm/rms_norm.hpp>

#include "kit.hpp"

namespace mk {
namespace {

TEST(rms_norm, width_zero_and_rows_zero) {
  kit::node<rms_norm> none({}, {{rms_norm::x, kit::blank(data_type::bf16, {0, 7168})}});
  none.run();
  kit::node<rms_norm> narrow({}, {{rms_norm::x, kit::blank(data_type::bf16, {3, 0})}});
  narrow.run();
  EXPECT_EQ(narrow[rms_norm::y].extent(0), 3);
}

} // namespace
} // namespace mk
