#include <megakernels/tylo/layout/draw.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

namespace tylo {
namespace {

constexpr int cell_height = 22, letter_width = 7, margin = 34; // of SVG, in pixels

picture blank(coordinate extents) {
  if (extents.row < 0 || extents.column < 0) throw std::invalid_argument("tylo: a picture of less than no elements");
  picture p{extents, {}};
  p.cells.resize(static_cast<std::size_t>(extents.row) * static_cast<std::size_t>(extents.column));
  return p;
}

std::size_t index_of(coordinate extents, coordinate c) {
  return static_cast<std::size_t>(c.row) * static_cast<std::size_t>(extents.column) +
         static_cast<std::size_t>(c.column);
}

/// An owner, as a slot of a thread; in the order of what is drawn.
struct owner {
  int slot;
  int thread;
  auto operator<=>(owner const&) const = default;
};

/// Neighbouring threads with one slot are one entry.
std::string label_of(std::vector<owner> owners) {
  std::sort(owners.begin(), owners.end());
  std::string label;
  for (std::size_t first = 0, next = 0; first < owners.size(); first = next) {
    for (next = first + 1; next < owners.size(); ++next)
      if (owners[next].slot != owners[first].slot || owners[next].thread != owners[next - 1].thread + 1) break;
    if (!label.empty()) label += ' ';
    label += "T" + std::to_string(owners[first].thread);
    if (next - first > 1) label += "-" + std::to_string(owners[next - 1].thread);
    label += ":" + std::to_string(owners[first].slot);
  }
  return label;
}

int first_thread(std::vector<owner> const& owners) {
  int first = -1;
  for (auto const& o : owners) first = first < 0 ? o.thread : std::min(first, o.thread);
  return first;
}

std::size_t longest_label(picture const& p) {
  std::size_t longest = 1;
  for (auto const& c : p.cells) longest = std::max(longest, c.label.size());
  return longest;
}

std::string right_aligned(std::string const& label, std::size_t width) {
  return std::string(width - std::min(width, label.size()), ' ') + label;
}

std::string escaped(std::string const& label) {
  std::string result;
  for (char const c : label) result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

/// 16 hues in two shades, all light; neighbouring numbers have hues far apart.
std::string fill_of(int colour) {
  if (colour < 0) return "#ffffff";
  constexpr int hues = 16, high = 255;
  int const low = colour / hues % 2 == 0 ? 190 : 140;
  int const position = colour * 5 % hues * 6 * (high - low) / hues; // along six edges of the cube of colours
  int const edge = position / (high - low), along = position % (high - low);
  int const up = low + along, down = high - along;
  std::array<std::array<int, 3>, 6> const edges{
      {{high, up, low}, {down, high, low}, {low, high, up}, {low, down, high}, {up, low, high}, {high, low, down}}};
  auto const& [red, green, blue] = edges[static_cast<std::size_t>(edge)];
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(red) & 255u,
                static_cast<unsigned>(green) & 255u, static_cast<unsigned>(blue) & 255u);
  return text;
}

std::string attribute(char const* name, int value) {
  return " " + std::string(name) + "=\"" + std::to_string(value) + "\"";
}

std::string svg_text(int x, int y, char const* fill, std::string const& label) {
  return "<text" + attribute("x", x) + attribute("y", y) + " fill=\"" + fill + "\">" + escaped(label) + "</text>\n";
}

} // namespace

picture picture_of(ownership const& o) {
  auto p = blank(o.shape);
  std::vector<std::vector<owner>> owners(p.cells.size());
  for (int t = 0; t < o.threads(); ++t)
    for (int s = 0; s < o.slots(); ++s) {
      auto const at = o(static_cast<unsigned>(t), static_cast<unsigned>(s));
      if (at.row < 0 || at.row >= o.shape.row || at.column < 0 || at.column >= o.shape.column)
        throw std::invalid_argument("tylo: slot " + std::to_string(s) + " of thread " + std::to_string(t) +
                                    " is at row " + std::to_string(at.row) + ", column " + std::to_string(at.column) +
                                    " of a tile of " + std::to_string(o.shape.row) + " x " +
                                    std::to_string(o.shape.column));
      owners[index_of(o.shape, at)].push_back({s, t});
    }
  for (std::size_t i = 0; i < owners.size(); ++i) p.cells[i] = {label_of(owners[i]), first_thread(owners[i])};
  return p;
}

picture picture_of(coordinate extents, std::function<std::int64_t(coordinate)> const& offset, int element_bytes) {
  constexpr std::int64_t banks = 32, bank_bytes = 4;
  auto p = blank(extents);
  for (int row = 0; row < extents.row; ++row)
    for (int column = 0; column < extents.column; ++column) {
      auto const at = offset({row, column});
      auto const bank = static_cast<int>(at * element_bytes / bank_bytes % banks);
      p.cells[index_of(extents, {row, column})] = {std::to_string(at), element_bytes == 0 ? -1 : bank};
    }
  return p;
}

std::string text_of(picture const& p) {
  auto const width = std::max(longest_label(p), std::to_string(p.extents.column - 1).size());
  auto const heading = std::to_string(p.extents.row - 1).size();
  auto const line = [&](std::string text, auto label_of_column) {
    for (int column = 0; column < p.extents.column; ++column)
      text += "  " + right_aligned(label_of_column(column), width);
    return text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  auto result = line(std::string(heading, ' '), [](int column) { return std::to_string(column); });
  for (int row = 0; row < p.extents.row; ++row)
    result += line(right_aligned(std::to_string(row), heading),
                   [&](int column) { return p.cells[index_of(p.extents, {row, column})].label; });
  return result;
}

std::string svg_of(picture const& p) {
  int const cell_width = std::max(cell_height, static_cast<int>(longest_label(p) + 1) * letter_width);
  int const width = margin + p.extents.column * cell_width + 1, height = cell_height + p.extents.row * cell_height + 1;
  constexpr int baseline = cell_height / 2 + 4;
  auto result = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) + attribute("height", height) +
                " viewBox=\"0 0 " + std::to_string(width) + " " + std::to_string(height) +
                "\" font-family=\"monospace\" font-size=\"11\" text-anchor=\"middle\">\n";
  for (int column = 0; column < p.extents.column; ++column)
    result += svg_text(margin + column * cell_width + cell_width / 2, baseline, "#777777", std::to_string(column));
  for (int row = 0; row < p.extents.row; ++row) {
    int const top = cell_height + row * cell_height;
    result += svg_text(margin / 2, top + baseline, "#777777", std::to_string(row));
    for (int column = 0; column < p.extents.column; ++column) {
      auto const& c = p.cells[index_of(p.extents, {row, column})];
      int const left = margin + column * cell_width;
      result += "<rect" + attribute("x", left) + attribute("y", top) + attribute("width", cell_width) +
                attribute("height", cell_height) + " fill=\"" + fill_of(c.colour) + "\" stroke=\"#555555\"/>\n";
      if (!c.label.empty()) result += svg_text(left + cell_width / 2, top + baseline, "#000000", c.label);
    }
  }
  return result + "</svg>\n";
}

} // namespace tylo
