#include <megakernels/ops/reference/rows.hpp>
#include <megakernels/ops/rope/rope.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mk {
namespace {

/// Cosines and sines for some positions. A thread keeps one from task to task: the layers of a model all turn by the
/// same angles.
template <class A> class angle_table {
public:
  struct row {
    bool filled = false;
    std::int32_t position = 0;
    std::vector<A> cosine, sine;
  };

  /// Forgets all rows where the frequencies are not those of the last call.
  void set_frequencies(rope::arguments const& a, tensor_view const& divisors) {
    if (!known_ || std::memcmp(&a, &arguments_, sizeof a) != 0) {
      known_ = true;
      arguments_ = a;
      plain_ = rope_frequencies(a);
      for (auto& r : rows_) r.filled = false;
      divided_ = plain_;
    }
    if (divisors.present()) {
      auto const pairs = reference::scratch<double, 1>(divisors.extent(0));
      reference::load_row<double>(divisors.type, divisors.data, divisors.stride(0), pairs);
      for (std::size_t i = 0; i < pairs.size(); ++i) replace(i, plain_[i] / pairs[i]);
    } else {
      for (std::size_t i = 0; i < plain_.size(); ++i) replace(i, plain_[i]);
    }
  }

  row const& at(std::int32_t position) {
    auto& r = rows_[static_cast<std::uint32_t>(position) % rows_.size()];
    if (r.filled && r.position == position) return r;
    r.cosine.resize(divided_.size());
    r.sine.resize(divided_.size());
    for (std::size_t i = 0; i < divided_.size(); ++i) {
      auto const angle = static_cast<double>(position) * divided_[i];
      r.cosine[i] = static_cast<A>(std::cos(angle));
      r.sine[i] = static_cast<A>(std::sin(angle));
    }
    r.position = position;
    r.filled = true;
    return r;
  }

private:
  void replace(std::size_t pair, double frequency) {
    if (std::memcmp(&divided_[pair], &frequency, sizeof frequency) == 0) return;
    divided_[pair] = frequency;
    for (auto& r : rows_) r.filled = false;
  }

  bool known_ = false;
  rope::arguments arguments_;
  std::vector<double> plain_;
  std::vector<double> divided_;
  std::array<row, 64> rows_;
};

template <class A> void turn(std::span<A> head, typename angle_table<A>::row const& angles, std::int32_t pairing) {
  auto const pairs = angles.cosine.size();
  std::size_t const step = pairing == rope::halves ? 1 : 2;
  std::size_t const apart = pairing == rope::halves ? pairs : 1;
  for (std::size_t i = 0; i < pairs; ++i) {
    auto& first = head[i * step];
    auto& second = head[i * step + apart];
    auto const a = first, b = second, c = angles.cosine[i], s = angles.sine[i];
    first = a * c - b * s;
    second = b * c + a * s;
  }
}

} // namespace

template <class Accumulate> void rope::reference(arguments const& a, std::span<tensor_view const> o, task const& t) {
  auto const heads = t.column_end - t.column_begin;
  if (heads <= 0 || t.row_begin >= t.row_end) return;
  thread_local angle_table<Accumulate> table;
  table.set_frequencies(a, o[divisors]);
  auto const begin = t.column_begin * a.head_dim;
  auto const row = reference::scratch<Accumulate>(heads * a.head_dim);
  for (auto r = t.row_begin; r < t.row_end; ++r) {
    std::int32_t where;
    std::memcpy(&where, o[position].at(r), sizeof where);
    auto const& angles = table.at(where);
    reference::load_row<Accumulate>(o[x].type, o[x].at(r, begin), o[x].stride(1), row);
    for (std::int64_t h = 0; h < heads; ++h)
      turn<Accumulate>(row.subspan(static_cast<std::size_t>(h * a.head_dim), static_cast<std::size_t>(a.head_dim)),
                       angles, a.pairing);
    reference::store_row<Accumulate>(o[y].type, o[y].at(r, begin), o[y].stride(1), row);
  }
}

template void rope::reference<float>(arguments const&, std::span<tensor_view const>, task const&);
template void rope::reference<double>(arguments const&, std::span<tensor_view const>, task const&);

} // namespace mk
