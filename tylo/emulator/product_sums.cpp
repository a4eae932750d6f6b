/// The registers of warpgroup products: whose they are, the program's or the tensor cores'.

#include <megakernels/tylo/emulator/internal/matrix_arithmetic.hpp>
#include <megakernels/tylo/emulator/internal/products.hpp>

#include <algorithm>
#include <limits>

namespace tylo::emulator {
namespace {

/// Calls `each(element, register)` for all sums of a warp.
template <class F> void for_registers(pending_sums& sums, F each) {
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    for (unsigned i = 0; i < sums.columns / 2; ++i) {
      auto const row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      each(sums.values[row * sums.columns + column], sums.registers[lane][i]);
    }
}

/// Words of a stack, counted from its top: the first, and the one behind the last.
struct word_range {
  std::size_t first, end;
};

word_range words_of(thread const& t, void const* address, std::size_t bytes) {
  constexpr std::size_t word = sizeof(float);
  auto const to_top =
      static_cast<std::size_t>(t.context.bottom + t.context.bytes - static_cast<std::byte const*>(address));
  return {(to_top - bytes) / word, (to_top + word - 1) / word};
}

void note_written(thread& t, void const* address, std::size_t bytes, code_position where) {
  auto& written = t.sums->written;
  auto const words = words_of(t, address, bytes);
  if (written.size() < words.end) written.resize(words.end);
  std::fill(written.begin() + static_cast<std::ptrdiff_t>(words.first),
            written.begin() + static_cast<std::ptrdiff_t>(words.end), where);
}

/// Where one of these words was written since the last fence.
code_position written_since_fence(thread const& t, void const* address, std::size_t bytes) {
  auto const& written = t.sums->written;
  auto const words = words_of(t, address, bytes);
  for (auto i = words.first; i < std::min(words.end, written.size()); ++i)
    if (written[i] != code_position{}) return written[i];
  return {};
}

bool overlap(void const* a, std::size_t a_bytes, void const* b, std::size_t b_bytes) {
  auto const* const first = static_cast<std::byte const*>(a);
  auto const* const second = static_cast<std::byte const*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

std::string place_of_multiply(site at) { return "multiply at " + text_of(at) + ": "; }

/// Sums that no product under way writes: a fence came after all that the program did with them.
void check_fenced(thread const& t, warp_products const& of, float const* sums, std::size_t bytes, site at) {
  auto const refuse = [&](fault_kind kind, std::string const& why) {
    launch_now->raise(kind, place_of_multiply(at) + why);
  };
  if (!t.context.contains(sums) || !t.context.contains(reinterpret_cast<std::byte const*>(sums) + bytes - 1))
    refuse(fault_kind::misuse, "its sums, at " + name_of_address(sums) + ", are no variable of the thread");
  auto const where = of.fence.line != 0 ? written_since_fence(t, sums, bytes) : delivered;
  if (where == delivered)
    refuse(fault_kind::products, "no fence_products came before it since its sums were the program's");
  if (where != code_position{})
    refuse(fault_kind::products, "no fence_products came before it since its sums were written at " + describe(where) +
                                     ": the last one was that at " + text_of(of.fence));
}

} // namespace

void note_fence(warp const& w, warp_products& of, site at) {
  of.fence = at;
  for (auto* const t : w.lanes) {
    if (!t->sums) t->sums = std::make_shared<watched_stack>();
    t->sums->of = &of;
    t->sums->written.clear();
  }
}

std::shared_ptr<pending_sums> take_sums(warp const& w, warp_products& of,
                                        std::array<float*, warp_lanes> const& registers, unsigned columns, site at) {
  auto const bytes = columns / 2 * sizeof(float);
  for (auto const& s : of.sums) {
    if (s->registers == registers && s->columns == columns) {
      s->product = at;
      s->awaited = {"", 0};
      return s;
    }
    if (s->registers[0] == registers[0] && s->columns != columns)
      launch_now->raise(fault_kind::products, place_of_multiply(at) + std::to_string(columns) +
                                                  " columns of sums that a product of " + std::to_string(s->columns) +
                                                  " columns writes");
    for (unsigned i = 0; i < warp_lanes; ++i)
      if (overlap(s->registers[i], s->bytes(), registers[i], bytes))
        launch_now->raise(fault_kind::products, place_of_multiply(at) + "its sums overlap those of multiply at " +
                                                    text_of(s->product) + ", which is under way");
  }
  for (unsigned i = 0; i < warp_lanes; ++i) check_fenced(*w.lanes[i], of, registers[i], bytes, at);
  auto sums = std::make_shared<pending_sums>();
  sums->registers = registers;
  sums->columns = columns;
  sums->product = at;
  sums->values.resize(std::size_t(matrix_rows) * columns);
  for_registers(*sums, [](float& element, float& held) {
    element = held;
    held = std::numeric_limits<float>::quiet_NaN();
  });
  of.sums.push_back(sums);
  return sums;
}

void deliver(warp const& w, warp_products& of, std::shared_ptr<pending_sums> const& sums) {
  for_registers(*sums, [](float element, float& held) { held = element; });
  for (unsigned i = 0; i < warp_lanes; ++i) note_written(*w.lanes[i], sums->registers[i], sums->bytes(), delivered);
  std::erase(of.sums, sums);
}

bool were_delivered(thread const& t, float const* sums, unsigned columns) {
  auto const bytes = columns / 2 * sizeof(float);
  return t.sums && t.context.contains(sums) && written_since_fence(t, sums, bytes) == delivered;
}

void check_own_access(thread& t, std::byte const* address, std::size_t bytes, bool write, code_position position) {
  for (auto const& s : t.sums->of->sums) {
    if (!overlap(s->registers[t.lane()], s->bytes(), address, bytes)) continue;
    auto const use =
        "the sums of a warpgroup product, multiply at " + text_of(s->product) + ", are " + (write ? "written" : "read");
    if (s->unfinished == 0)
      launch_now->raise(fault_kind::products,
                        use + ", and no await_products has named them, at " + describe(position) +
                            ": those of other sums have waited for it, but give only theirs back");
    launch_now->raise(fault_kind::products,
                      use + " before await_products, at " + describe(position) +
                          (s->awaited.line == 0
                               ? ""
                               : ": that at " + text_of(s->awaited) + ", for all groups but the last " +
                                     std::to_string(s->awaited_but) + ", did not wait for it"));
  }
  if (write) note_written(t, address, bytes, position);
}

} // namespace tylo::emulator
