#pragma once

/// Who takes part in a collective, as values. Every collective of fragments is given one: all threads of the group make
/// the same call.
///
/// A group has `threads`, the number of its threads; `rank()`, that of the calling one, from 0; and `sync()`: all have
/// arrived, and see each other's earlier writes. One of several CTAs also has `common()`: the address by which all its
/// threads reach what CTA 0 has at this one in shared memory.

#include <megakernels/tylo/lane/barrier.hpp>
#include <megakernels/tylo/lane/cluster.hpp>
#include <megakernels/tylo/lane/thread.hpp>
#include <megakernels/tylo/site.hpp>
#include <megakernels/tylo/target.hpp>

#include <concepts>

namespace tylo {

template <class G> concept group = requires(G const& g, site at) {
  { G::threads } -> std::convertible_to<unsigned>;
  { g.rank() } -> std::same_as<unsigned>;
  g.sync(at);
};

/// The calling warp.
struct this_warp {
  static constexpr unsigned threads = warp_size;
  TYLO_FN unsigned rank() const { return lane_rank(); }
  TYLO_FN void sync(site at = site::here()) const { sync_warp(at); }
};

/// `Count` neighbouring warps of the CTA. While the group is in use nobody else uses its named barrier.
template <unsigned Count> struct warps {
  static_assert(Count >= 1 && Count <= 32);
  static constexpr unsigned threads = Count * warp_size;

  unsigned first;   ///< rank of the first warp in the CTA
  unsigned barrier; ///< 1 to 15

  TYLO_FN unsigned rank() const { return rank_from(first * warp_size, threads); }
  TYLO_FN void sync(site at = site::here()) const {
    TYLO_EITHER((void)0, (void)rank()); // who is not of the group is found out here too
    sync_named(barrier, threads, at);
  }

  /// One of the equal parts into which the group divides, `Part` warps each: that of the calling thread. Parts of more
  /// than one warp have the barriers from `first_barrier` on, in their order.
  template <unsigned Part> TYLO_FN auto part(unsigned first_barrier) const {
    static_assert(Part >= 1 && Count % Part == 0, "tylo: the group does not divide into parts of so many warps");
    if constexpr (Part == 1) {
      return this_warp{};
    } else {
      auto const index = rank() / (Part * warp_size);
      return warps<Part>{first + index * Part, first_barrier + index};
    }
  }
};

/// Four warps whose first has a rank that is a multiple of four, as wgmma wants them.
using warpgroup = warps<4>;

/// All threads of a CTA.
template <unsigned Threads> struct whole_cta {
  static_assert(Threads % warp_size == 0 && Threads >= warp_size && Threads <= 1024);
  static constexpr unsigned threads = Threads;
  TYLO_FN unsigned rank() const {
    TYLO_EITHER((void)0, emulator::expect_shape(threads, 0, site::here()));
    return thread_rank();
  }
  TYLO_FN void sync(site at = site::here()) const {
    TYLO_EITHER((void)0, emulator::expect_shape(threads, 0, at));
    sync_cta(at);
  }
};

/// All threads of the two CTAs of a cluster, those of CTA 0 first. They have met (`sync`) before the first use of
/// common memory: a CTA that has not started has none.
template <unsigned Threads> struct cta_pair {
  static_assert(Threads % warp_size == 0 && Threads >= warp_size && Threads <= 1024);
  static constexpr unsigned threads = 2 * Threads;
  TYLO_FN unsigned rank() const {
    TYLO_EITHER((void)0, emulator::expect_shape(Threads, 2, site::here()));
    return cluster_rank() * Threads + thread_rank();
  }
  TYLO_FN void sync(site at = site::here()) const {
    TYLO_EITHER((void)0, emulator::expect_shape(Threads, 2, at));
    sync_cluster(at);
  }
  template <class T> TYLO_FN T* common(T* mine, site at = site::here()) const { return peer_address(mine, 0, at); }
};

} // namespace tylo
