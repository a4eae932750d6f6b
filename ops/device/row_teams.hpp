#pragma once

/// Rows of a dense tensor, held in registers from the one read to the one write. A row is cut into pieces, one for each
/// warp of a team; teams take rows by turns. Narrow rows have teams of few warps, so that some wait for memory while
/// others compute. Where a task has many rows they are copied ahead, into pages that the loader lends: a round of them
/// has a slice for the piece of each warp.

#include <megakernels/ops/device/element.hpp>
#include <megakernels/ops/device/rolled.hpp>
#include <megakernels/ops/operation.hpp>
#include <megakernels/ops/tensor.hpp>
#include <megakernels/tylo/fragment/convert.hpp>
#include <megakernels/tylo/fragment/memory.hpp>
#include <megakernels/tylo/lane/async_proxy.hpp>
#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/cache_policy.hpp>
#include <megakernels/tylo/lane/copy.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/target.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace mk::handlers {

/// The elements of a piece that each lane of a warp has: `Vectors` times 8 neighbours.
template <int Vectors> inline constexpr tylo::ownership row_piece = tylo::striped<tylo::axis::columns>(Vectors, 8);
template <int Vectors> inline constexpr int piece_columns = row_piece<Vectors>.shape.column;

/// The team of the calling warp.
struct row_team {
  unsigned warps;   ///< of the team, a power of two
  unsigned warp;    ///< rank of the calling one in it
  unsigned team;    ///< rank of the team; as many as `teams` or more: the warp is in none
  unsigned teams;   ///< that share the rows of a task
  unsigned barrier; ///< named barrier of a team of several warps

  TYLO_FN void sync(tylo::site at = tylo::site::here()) const {
    if (warps == 1)
      tylo::sync_warp(at);
    else
      tylo::sync_named(barrier, warps * tylo::warp_size, at);
  }
};

/// Warps of a team for rows of so many columns: a piece for each.
template <int Vectors> TYLO_FN unsigned warps_for(std::int64_t columns) {
  unsigned warps = 1;
  while (warps * piece_columns<Vectors> < columns) warps *= 2;
  return warps;
}

/// Not for more columns than all warps have pieces for. All lanes take part.
template <int Vectors, class Context> TYLO_FN row_team team_for(Context const& context, std::int64_t columns) {
  auto const warps = warps_for<Vectors>(columns);
  auto const warp = tylo::shuffle(context.warp(), 0); // so that the compiler knows it to be one for all lanes
  auto const team = warp / warps;
  return {warps, warp % warps, team, Context::warps / warps, Context::free_barrier + team};
}

/// Whether rows of a tensor can be moved by vectors: of a common floating type, dense, each row at a multiple of 16
/// bytes, no vector partly used; and whether the warps of a task have pieces for all columns.
template <int Vectors> TYLO_FN bool fits_teams(tensor_view const& t, unsigned warps) {
  bool const common = t.type == data_type::bf16 || t.type == data_type::fp16 || t.type == data_type::fp32;
  bool const aligned =
      (reinterpret_cast<std::uintptr_t>(t.data) | static_cast<std::uintptr_t>(t.stride(0) * 2)) % 16 == 0;
  return common && aligned && t.stride(1) == 1 && t.extent(1) % 8 == 0 &&
         t.extent(1) <= std::int64_t(std::bit_floor(warps)) * piece_columns<Vectors>;
}

namespace detail {
/// Calls `f` with an element of the tensor's type, one of the common ones.
template <class F> TYLO_FN void with_common_type(data_type type, F f) {
  if (type == data_type::bf16)
    f(tylo::bf16{});
  else if (type == data_type::fp16)
    f(tylo::fp16{});
  else
    f(float{});
}

/// A warp's piece of a row in memory: so many columns, a multiple of 8.
template <class T> TYLO_FN auto piece_at(T* first, int columns) {
  return tylo::tile_of<16>(first, tylo::row_major(tylo::constant<1>{}, tylo::multiple_of<8>{columns}));
}

/// The same as fp32; what is past its end is `outside`.
template <int Vectors> TYLO_FN auto load_columns(data_type type, std::byte const* first, int columns, float outside) {
  tylo::fragment<float, row_piece<Vectors>> piece;
  with_common_type(type, [&]<class T>(T) {
    piece = tylo::convert<float>(tylo::load<row_piece<Vectors>>(tylo::this_warp{},
                                                                piece_at(reinterpret_cast<T const*>(first), columns),
                                                                tylo::convert_to<T>(outside), tylo::whole_vectors{}));
  });
  return piece;
}

/// The columns of the calling warp.
struct column_run {
  std::int64_t first;
  int count;
};
template <int Vectors> TYLO_FN column_run columns_of(tensor_view const& t, row_team const& team) {
  auto const first = std::min<std::int64_t>(std::int64_t(team.warp) * piece_columns<Vectors>, t.extent(1));
  return {first, static_cast<int>(std::min<std::int64_t>(t.extent(1) - first, piece_columns<Vectors>))};
}
} // namespace detail

/// The calling warp's piece of a row as fp32; what is past the row's end is `outside`.
template <int Vectors>
TYLO_FN auto load_piece(tensor_view const& t, std::int64_t row, row_team const& team, float outside) {
  auto const columns = detail::columns_of<Vectors>(t, team);
  return detail::load_columns<Vectors>(t.type, t.at(row, columns.first), columns.count, outside);
}

/// The rows of a task, a row for each team at a time. Loader and consumers decide alike, of a tensor that fits teams.
struct row_rounds {
  static constexpr unsigned ahead = 3; ///< rounds of which copies are under way

  unsigned count;       ///< of rounds
  unsigned slice_bytes; ///< of a round's pages, for each warp
  unsigned per_page;    ///< slices
  unsigned pages;       ///< of a round; 0: rows are not copied ahead
};

template <int Vectors, class Context>
TYLO_FN row_rounds rounds_of(Context const&, tensor_view const& t, task const& rows, unsigned warps) {
  auto const teams = warps / warps_for<Vectors>(t.extent(1));
  auto const count = (static_cast<unsigned>(rows.row_end - rows.row_begin) + teams - 1) / teams;
  auto const bytes = static_cast<unsigned>(std::min<std::int64_t>(t.extent(1), piece_columns<Vectors>)) * 2;
  bool const ahead = t.type != data_type::fp32 && count > 1 && bytes > 0;
  if (!ahead) return {count, 0, 1, 0};
  auto const per_page = Context::page_bytes / bytes, pages = (warps + per_page - 1) / per_page;
  return {count, bytes, per_page, pages * row_rounds::ahead <= Context::ring_pages ? pages : 0};
}

/// The loader's part.
template <int Vectors, class Context>
TYLO_FN void lend_pages_for_rows(Context& context, tensor_view const& t, task const& rows) {
  auto const rounds = rounds_of<Vectors>(context, t, rows, context.consumer_warps());
  context.lend_pages(rounds.count * rounds.pages);
}

namespace detail {
/// Starts the copy of a warp's piece of a row, `columns` elements of 16 bits.
TYLO_FN inline void copy_piece(std::byte* to, std::byte const* from, int columns) {
  MK_ROLLED for (int at = static_cast<int>(tylo::lane_rank()) * 8; at < columns; at += 8 * 32) {
    tylo::copy_async<16>(to + at * 2, from + at * 2);
  }
}
} // namespace detail

/// Calls `f(row, piece)` for the rows of the calling warp's team, with the warp's piece as fp32: what is past the row's
/// end is `outside`. All warps of a team get the same rows. With `lend_pages_for_rows` on the loader's side.
template <int Vectors, class Context, class F>
TYLO_FN void for_rows(Context& context, tensor_view const& t, task const& rows, row_team const& team, float outside,
                      F f) {
  constexpr unsigned ahead = row_rounds::ahead;
  auto const rounds = rounds_of<Vectors>(context, t, rows, Context::warps);
  auto const row_of = [&](unsigned round) { return rows.row_begin + round * team.teams + team.team; };
  auto const is_mine = [&](std::int64_t row) { return team.team < team.teams && row < rows.row_end; };
  auto const columns = detail::columns_of<Vectors>(t, team);

  auto const warp = team.team * team.warps + team.warp;
  auto const page = warp / rounds.per_page, place = warp % rounds.per_page * rounds.slice_bytes;
  MK_ROLLED for (unsigned copied = 0; copied < rounds.count + ahead; ++copied) {
    if (copied >= ahead) {
      tylo::await_copies<ahead - 1>(); // each lane reads what it copied itself
      auto const row = row_of(copied - ahead);
      std::byte const* const from = rounds.pages != 0 ? context.held_page(page) + place : t.at(row, columns.first);
      auto const release = [&] {
        if (rounds.pages == 0) return;
        // Threads wrote to the pages and read them; the loader's copies do not come by the same way. As long as all of
        // the ring comes back to this task there are none, and a fence would wait for what is under way. (Rounds have
        // 1, 2, 3 or 4 of its 12 pages: a page comes back whole rounds later.)
        bool const comes_back = (rounds.count + ahead - copied) * rounds.pages > Context::ring_pages;
        if (!comes_back) tylo::fence_async_proxy();
        context.release_lent(rounds.pages);
      };
      if (is_mine(row)) {
        auto const piece = detail::load_columns<Vectors>(t.type, from, columns.count, outside);
        release();
        f(row, piece);
      } else {
        release();
      }
    }
    if (rounds.pages != 0 && copied < rounds.count) {
      context.wait_lent(rounds.pages);
      auto const held = std::min(copied, ahead - 1) * rounds.pages; // of earlier rounds
      if (is_mine(row_of(copied)))
        detail::copy_piece(context.held_page(held + page) + place, t.at(row_of(copied), columns.first), columns.count);
    }
    tylo::commit_copies();
  }
}

/// Scratch by which the warps of a team tell each other of a row: an element for each. It has two halves, used by
/// turns: what is written for a row has been read before the barrier of the row before.
template <class T, class Context> class team_scratch {
public:
  TYLO_FN explicit team_scratch(Context& context) : context_(context), half_(context.template scratch<T>()) {}

  /// That of the next row.
  TYLO_FN T* next(row_team const& team) {
    half_ = half_ == context_.template scratch<T>() ? half_ + Context::warps : half_ - Context::warps;
    return half_ + team.team * team.warps;
  }

private:
  Context& context_;
  T* half_;
};

/// All warps of a team tell what their lane 0 has.
template <class T> TYLO_FN void tell_team(row_team const& team, T* of_team, T const& mine) {
  if (tylo::lane_rank() == 0) of_team[team.warp] = mine;
  team.sync();
}

/// Whether a tensor is so large that the L2 cache holds little of it when it is read again.
TYLO_FN inline bool outgrows_cache(tensor_view const& t) {
  constexpr std::int64_t most = std::int64_t(32) << 20;
  return t.extent(0) * t.extent(1) * element_bytes(t.type) > most;
}

/// The calling warp's piece of a row, rounded once.
template <int Vectors>
TYLO_FN void store_piece(tensor_view const& t, std::int64_t row, row_team const& team,
                         tylo::fragment<float, row_piece<Vectors>> const& piece, tylo::cache_policy const& cache) {
  auto const columns = detail::columns_of<Vectors>(t, team);
  detail::with_common_type(t.type, [&]<class T>(T) {
    tylo::store(tylo::this_warp{}, detail::piece_at(reinterpret_cast<T*>(t.at(row, columns.first)), columns.count),
                tylo::convert<T>(piece), tylo::whole_vectors{}, cache);
  });
}

} // namespace mk::handlers
