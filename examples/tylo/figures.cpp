/// The figures of docs/tylo, as the library draws them.
///
/// example-tylo_figures FOLDER           writes them into the folder
/// example-tylo_figures --check FOLDER   fails where the folder has others, more or fewer

#include <megakernels/tylo/layout/draw.hpp>
#include <megakernels/tylo/layout/reduction.hpp>
#include <megakernels/tylo/layout/tile.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tylo::axis;
using tylo::coordinate;
using tylo::steps;

constexpr tylo::ownership patches{{16, 8}, steps(8, {2, 0}).then(4, {0, 2}), steps(2, {1, 0}).then(2, {0, 1})};
constexpr tylo::ownership mma_c{{16, 8}, steps(4, {0, 2}).then(8, {1, 0}), steps(2, {0, 1}).then(2, {8, 0})};

/// An ownership by blocks of elements: which warp has them, and in which of its slots.
tylo::picture blocks_of(tylo::ownership const& o, coordinate block) {
  coordinate const extents{o.shape.row / block.row, o.shape.column / block.column};
  std::map<int, std::map<int, std::set<int>>> owners; // block, warp, slots
  for (int t = 0; t < o.threads(); ++t)
    for (int s = 0; s < o.slots(); ++s) {
      auto const c = o(static_cast<unsigned>(t), static_cast<unsigned>(s));
      owners[c.row / block.row * extents.column + c.column / block.column][t / 32].insert(s);
    }
  tylo::picture p{extents, {}};
  for (auto const& [place, warps] : owners) {
    auto& cell = p.cells.emplace_back();
    cell.colour = warps.begin()->first;
    for (auto const& [warp, slots] : warps)
      cell.label += "warp " + std::to_string(warp) + ": slots " + std::to_string(*slots.begin()) + "-" +
                    std::to_string(*slots.rbegin());
  }
  return p;
}

/// A layout, with the elements of each `block` of memory in one colour.
template <tylo::layout_form Form> tylo::picture by_blocks(tylo::layout<Form> const& map, int block) {
  auto p = tylo::picture_of(map);
  for (auto& cell : p.cells) cell.colour = std::stoi(cell.label) / block;
  return p;
}

/// A tile with the elements of a window of it in colour.
template <class Tile, class Window> tylo::picture with_window(Tile const& t, Window const& w, coordinate origin) {
  auto p = tylo::picture_of(t.map);
  for (int row = 0; row < w.extents.row; ++row)
    for (int column = 0; column < w.extents.column; ++column) {
      auto const at = origin + coordinate{row, column};
      p.cells[static_cast<std::size_t>(at.row * t.extents.column + at.column)].colour = 1;
    }
  return p;
}

std::map<std::string, std::string> figures() {
  std::map<std::string, std::string> all;
  auto const add = [&](std::string const& name, tylo::picture const& p) { all[name + ".svg"] = tylo::svg_of(p); };
  auto const add_ownership = [&](std::string const& name, tylo::ownership const& o) { add(name, picture_of(o)); };

  // Of 8 and 4 threads instead of 32, so that they stay small.
  add_ownership("local", tylo::local<axis::columns>(4, 8));
  add_ownership("striped", tylo::striped<axis::columns>(2, 2, 4));
  add_ownership("patches", patches);
  add_ownership("mma_sums", mma_c);
  add_ownership("row_sums", tylo::reduced<mma_c, axis::columns>);
  add("mma_tiled", blocks_of(tylo::tiled(mma_c, {1, 2}, {2, 2}), {8, 8}));

  auto const pitched = tylo::row_major<4, 6, 8>();
  add("pitch", picture_of(pitched));
  add("tiles", by_blocks(tylo::tiles_of(tylo::row_major<4, 4>(), tylo::column_major<2, 3>()), 16));
  // 64 columns of bf16 are 8 chunks of 16 bytes.
  add("no_swizzle", picture_of(tylo::row_major<8, 8>(), 16));
  add("swizzle", picture_of(tylo::swizzled<tylo::hardware_swizzle(128, 16)>(tylo::row_major<8, 8>()), 16));

  static float elements[8 * 12];
  auto const tile = tylo::tile_of(elements, tylo::row_major<6, 10, 12>());
  add("window", with_window(tile, tylo::window<3, 4>(tile, 2, tylo::constant<8>{}), {2, 8}));
  return all;
}

std::string contents_of(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(std::filesystem::path const& folder) {
  std::filesystem::create_directories(folder);
  for (auto const& [name, svg] : figures()) std::ofstream(folder / name, std::ios::binary) << svg;
}

int check(std::filesystem::path const& folder) {
  auto expected = figures();
  int wrong = 0;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    auto const name = entry.path().filename().string();
    auto const figure = expected.extract(name);
    if (figure && figure.mapped() == contents_of(entry.path())) continue;
    ++wrong;
    std::printf("%s: %s\n", entry.path().c_str(), figure ? "the library draws something else" : "is no figure");
  }
  for (auto const& [name, svg] : expected) std::printf("%s is missing\n", (folder / name).c_str());
  return wrong + static_cast<int>(expected.size());
}

} // namespace

int main(int count, char** arguments) try {
  std::vector<std::string_view> const given(arguments + 1, arguments + count);
  if (given.size() == 2 && given[0] == "--check") return check(given[1]) == 0 ? 0 : 1;
  if (given.size() != 1) throw std::invalid_argument("a folder is expected, after --check or alone");
  write(given[0]);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
