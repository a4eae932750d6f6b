/// Pictures, as text that was checked by eye, and the structure of their SVG.

#include <megakernels/tylo/layout/draw.hpp>

#include "shapes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace tylo {
namespace {

namespace shapes = mk::test::shapes;

TEST(pictures, of_ownerships_name_threads_and_slots) {
  EXPECT_EQ(text_of(picture_of(local<axis::columns>(2, 4))), "      0     1\n"
                                                             "0  T0:0  T0:1\n"
                                                             "1  T1:0  T1:1\n"
                                                             "2  T2:0  T2:1\n"
                                                             "3  T3:0  T3:1\n");
  EXPECT_EQ(text_of(picture_of(striped<axis::columns>(2, 2, 3))),
            "      0     1     2     3     4     5     6     7     8     9    10    11\n"
            "0  T0:0  T0:1  T1:0  T1:1  T2:0  T2:1  T0:2  T0:3  T1:2  T1:3  T2:2  T2:3\n");
  auto const sums = text_of(picture_of(shapes::mma_c));
  EXPECT_NE(sums.find("\n 2   T8:0   T8:1   T9:0   T9:1  T10:0  T10:1  T11:0  T11:1\n"), std::string::npos) << sums;
  EXPECT_NE(sums.find("\n15  T28:2  T28:3  T29:2  T29:3  T30:2  T30:3  T31:2  T31:3\n"), std::string::npos) << sums;
}

TEST(pictures, of_ownerships_name_all_owners_or_none) {
  constexpr ownership pairs{{1, 3}, steps(2, {0, 0}).then(2, {0, 1}), steps(2, {0, 0})};
  EXPECT_EQ(text_of(picture_of(pairs)), "               0              1              2\n"
                                        "0  T0-1:0 T0-1:1  T2-3:0 T2-3:1\n");
}

TEST(pictures, of_ownerships_refuse_what_is_outside) {
  try {
    (void)picture_of(shapes::before_the_first);
    FAIL() << "nothing was thrown";
  } catch (std::invalid_argument const& e) {
    EXPECT_STREQ(e.what(), "tylo: slot 1 of thread 0 is at row 0, column -1 of a tile of 32 x 8");
  }
  EXPECT_THROW((void)picture_of(shapes::outside), std::invalid_argument);
}

TEST(pictures, of_layouts_have_offsets) {
  int const pitch = 10;
  EXPECT_EQ(text_of(picture_of(row_major(3, 4, pitch))), "    0   1   2   3\n"
                                                         "0   0   1   2   3\n"
                                                         "1  10  11  12  13\n"
                                                         "2  20  21  22  23\n");
  EXPECT_EQ(text_of(picture_of(swizzled<swizzle{2, 0, 2}>(row_major<4, 4>()))), "    0   1   2   3\n"
                                                                                "0   0   1   2   3\n"
                                                                                "1   5   4   7   6\n"
                                                                                "2  10  11   8   9\n"
                                                                                "3  15  14  13  12\n");
}

TEST(pictures, of_shared_memory_colour_banks) {
  auto const map = row_major<3, 64>(); // of bf16: two elements a bank
  auto const p = picture_of(map, 2);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 64; ++c) EXPECT_EQ(p.cells[static_cast<std::size_t>(r * 64 + c)].colour, c / 2);
  for (auto const& c : picture_of(map).cells) EXPECT_EQ(c.colour, -1);
  // With a swizzle, eight rows' chunks of a column begin in eight banks.
  auto const spread = picture_of(swizzled<hardware_swizzle(128, 2)>(row_major<8, 64>()), 2);
  std::set<int> banks;
  for (std::size_t r = 0; r < 8; ++r) banks.insert(spread.cells[r * 64].colour);
  EXPECT_EQ(banks, (std::set<int>{0, 4, 8, 12, 16, 20, 24, 28}));
}

// --- SVG

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Whether every element that begins ends, in order, and attributes are quoted and have different names.
::testing::AssertionResult is_well_formed(std::string const& svg) {
  std::vector<std::string> open;
  bool had_root = false;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] == '>') return ::testing::AssertionFailure() << "a bare > at " << at;
    if (svg[at] == '&') {
      auto const end = svg.find(';', at);
      auto const name = svg.substr(at, end - at + 1);
      if (name != "&lt;" && name != "&gt;" && name != "&amp;") return ::testing::AssertionFailure() << name;
      at = end + 1;
      continue;
    }
    if (svg[at] != '<') {
      if (open.empty() && svg[at] != '\n') return ::testing::AssertionFailure() << "text outside at " << at;
      ++at;
      continue;
    }
    auto const end = svg.find('>', at);
    if (end == std::string::npos) return ::testing::AssertionFailure() << "an open tag at " << at;
    auto tag = svg.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return ::testing::AssertionFailure() << "a wrong end: " << tag;
      open.pop_back();
      continue;
    }
    if (open.empty() && had_root) return ::testing::AssertionFailure() << "a second root: " << tag;
    had_root = true;
    bool const is_empty = tag.back() == '/';
    if (is_empty) tag.pop_back();
    auto const name = tag.substr(0, tag.find(' '));
    std::set<std::string> attributes;
    for (auto rest = tag.substr(name.size()); !rest.empty();) {
      auto const equals = rest.find("=\""), closing = equals == std::string::npos ? equals : rest.find('"', equals + 2);
      if (rest[0] != ' ' || closing == std::string::npos)
        return ::testing::AssertionFailure() << "attributes of <" << tag << ">";
      if (!attributes.insert(rest.substr(1, equals - 1)).second)
        return ::testing::AssertionFailure() << "twice: " << tag;
      rest = rest.substr(closing + 1);
    }
    if (!is_empty) open.push_back(name);
  }
  if (!open.empty() || !had_root) return ::testing::AssertionFailure() << "elements are left open";
  return ::testing::AssertionSuccess();
}

TEST(svg, has_a_cell_for_each_element) {
  auto const svg = svg_of(picture_of(shapes::mma_c));
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0u);
  EXPECT_EQ(count(svg, "<rect"), 16u * 8u);
  EXPECT_EQ(count(svg, "<text"), 16u * 8u + 16u + 8u) << "labels and headings";
  for (auto const* label : {">T0:0<", ">T17:3<", ">T31:2<"}) EXPECT_EQ(count(svg, label), 1u) << label;
  EXPECT_EQ(svg, svg_of(picture_of(shapes::mma_c))) << "one picture is one text";
  EXPECT_LT(svg.size(), 20000u);
}

TEST(svg, has_32_colours_and_white) {
  picture p{{1, 34}, {}};
  for (int i = -1; i < 33; ++i) p.cells.push_back({"", i});
  auto const svg = svg_of(p);
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(count(svg, "<text"), 35u) << "an empty label is none";
  std::vector<std::string> fills;
  for (auto at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1))
    fills.push_back(svg.substr(svg.find("fill=\"", at) + 6, 7));
  ASSERT_EQ(fills.size(), 34u);
  EXPECT_EQ(fills[0], "#ffffff");
  EXPECT_EQ(fills[33], fills[1]) << "32 is 0 again";
  EXPECT_EQ((std::set<std::string>(fills.begin(), fills.end()).size()), 33u);
}

TEST(svg, is_as_wide_as_its_longest_label) {
  picture p{{1, 2}, {{"short", 0}, {"a<b & c>d of 17 or so letters", 1}}};
  auto const svg = svg_of(p);
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(count(svg, ">a&lt;b &amp; c&gt;d of 17 or so letters<"), 1u);
  EXPECT_EQ(count(svg, " width=\"210\" height=\"22\""), 2u) << "7 pixels a letter, and one letter more";
  EXPECT_EQ(count(svg, " width=\"455\" height=\"45\""), 1u);
}

} // namespace
} // namespace tylo
