/// Fragments from tiles in memory, and back.

#include "fragment_runner.hpp"
#include "memory_checks.hpp"

namespace mk::test {
namespace {

constexpr on_emulator runner;

TEST(emulator_fragment_memory, rows) { MK_CHECK_ALL(row_cases, check_memory, runner); }

TEST(emulator_fragment_memory, factors_and_sums_of_products) { MK_CHECK_ALL(product_cases, check_memory, runner); }

TEST(emulator_fragment_memory, elements_with_several_owners) { MK_CHECK_ALL(replica_cases, check_memory, runner); }

// --- vectors: the emulator's reports say how many bytes an access has

/// A tile of all elements, of which none can be read, or none written.
template <class Case> void check_accesses(on_emulator const&) {
  std::mt19937_64 random(9);
  auto const n = Case::place::template numbers<Case::owned>(Case::owned.shape.row, Case::owned.shape.column, 0);
  memory_data<Case> const data(n, random);
  using stored = typename Case::output;
  on_emulator::array<stored> const from(data.from), to(data.to), out(std::vector<stored>(Case::outputs));
  on_emulator::array<unsigned char> const readable(std::vector<unsigned char>(data.from.size()));
  typename Case::arguments const g{reinterpret_cast<typename Case::element const*>(from.data()),
                                   reinterpret_cast<typename Case::element*>(to.data()),
                                   readable.data(),
                                   n,
                                   {},
                                   out.data()};
  auto const bytes = std::to_string(sizeof(stored) * static_cast<std::size_t>(Case::vector)) + " bytes";
  tylo::emulator::grid const shape{
      .ctas = Case::ctas, .threads = Case::threads, .shared_bytes = Case::shared_bytes, .cluster = Case::cluster};
  auto const write = "a write of " + bytes, read = "a read of " + bytes;
  auto const from_bytes = from.size() * sizeof(stored);
  if constexpr (!Case::place::in_shared) { // where a copy of all writes the target
    emulator::mark_constant(to.data(), to.size() * sizeof(stored));
    expect_fault(fault_kind::constant, {write.c_str()}, shape, [g] { Case::run(g); });
    emulator::mark_unwritten(from.data(), from_bytes);
  }
  if constexpr (sizeof(stored) >= 4) // compilers of the host cut words of several elements out of memory
    expect_fault(fault_kind::unwritten, {read.c_str()}, shape, [g] { Case::run(g); });
}

TEST(emulator_fragment_memory, vectors_are_moved_at_once) {
  MK_CHECK_ALL(row_cases, check_accesses, runner);
  MK_CHECK_ALL(product_cases, check_accesses, runner);
}

// --- what is claimed and is not so

/// Any thread of a warp, in code of the host.
struct thread_of_host {
  static constexpr unsigned threads = 32;
  unsigned which;
  [[nodiscard]] unsigned rank() const { return which; }
  static void sync(site) {}
};

/// The sentence with which a load or store is refused.
template <class F> std::string refusal_of(F const& f) {
  try {
    f();
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(emulator_fragment_memory, vectors_that_are_not_whole_are_refused) {
  alignas(16) float memory[32 * 8] = {};
  auto tile = tylo::tile_of<16>(memory, tylo::row_major<32, 8>());
  auto const whole = [&](int columns) {
    tile.extents = {31, columns};
    auto const load = [&] { return tylo::load<shapes::local_rows>(thread_of_host{3}, tile, 0.0f, whole_vectors{}); };
    auto const f = filled<shapes::local_rows>(1.0f);
    auto const refusal = refusal_of(load);
    EXPECT_EQ(refusal_of([&] { store(thread_of_host{3}, tile, f, whole_vectors{}); }), refusal);
    return refusal;
  };
  for (int columns = 0; columns <= 8; ++columns) {
    if (columns % 4 == 0)
      EXPECT_EQ(whole(columns), "nothing was thrown");
    else
      EXPECT_EQ(whole(columns), "tylo: the extent of a tile of whole vectors is " + std::to_string(columns) +
                                    ", which is no multiple of 4");
  }
  tile.extents = {31, 7};
  EXPECT_EQ(refusal_of([&] { (void)tylo::load<shapes::local_rows>(thread_of_host{3}, tile, 0.0f); }),
            "nothing was thrown");
}

TEST(emulator_fragment_memory, any_extent_is_whole_without_vectors) {
  alignas(16) float memory[32 * 7] = {};
  auto const tile = tylo::tile_of(memory, tylo::row_major<32, 7>());
  EXPECT_EQ(refusal_of([&] { (void)tylo::load<shapes::local_rows>(thread_of_host{0}, tile, 0.0f, whole_vectors{}); }),
            "nothing was thrown");
}

TEST(emulator_fragment_memory, addresses_and_pitches_with_less_than_is_claimed_are_refused) {
  alignas(16) bf16 memory[64] = {};
  using place = rows_apart<8, 1, 8, 16>;
  auto const refusal = [](bf16 const* at, tile_numbers const& n) {
    return refusal_of([&] {
      (void)tylo::load<shapes::local_rows>(thread_of_host{0}, place::tile<shapes::local_rows>(at, n), bf16(0.0f));
    });
  };
  EXPECT_EQ(refusal(memory, {.rows = 1, .columns = 8, .pitch = 8}), "nothing was thrown");
  EXPECT_EQ(refusal(memory, {.rows = 1, .columns = 8, .pitch = 12}), "tylo: a number is 12, which is no multiple of 8");
  EXPECT_EQ(refusal(memory, {.rows = 1, .columns = 16, .pitch = 16, .column = 4}),
            "tylo: a number is 4, which is no multiple of 8");
  auto const* const between = memory + 4;
  EXPECT_EQ(refusal(between, {.rows = 1, .columns = 8, .pitch = 8}),
            "tylo: the address of a tile is " + std::to_string(reinterpret_cast<std::uintptr_t>(between)) +
                ", which is no multiple of 16");
}

} // namespace
} // namespace mk::test
