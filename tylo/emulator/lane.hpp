#pragma once

/// What the functions of tylo/lane mean on a CPU. They alone call these; each belongs to the lane function of the same
/// name, and is called by a thread of a kernel that `launch` runs. Elsewhere it ends the program with a message.

#include <megakernels/tylo/site.hpp>

#include <cstddef>
#include <cstdint>

namespace tylo::emulator {

// tylo/lane/thread.hpp
unsigned thread_rank();
unsigned rank_from(unsigned first, unsigned count, site);
/// CTAs have so many threads, and clusters, where that is not 0, so many CTAs.
void expect_shape(unsigned threads, unsigned cluster, site);
unsigned cta_rank();
unsigned cta_count();
void sync_warp(site);
std::uint64_t shuffle(std::uint64_t bits, unsigned from, site);
std::uint64_t shuffle_xor(std::uint64_t bits, unsigned mask, site);
std::uint32_t ballot(bool, site);
/// Joins the lanes' values by `join(a, b)` (which writes into a) over lanes 16, 8, 4, 2, 1 apart, those of `distances`,
/// in one meeting.
void butterfly(void* value, std::size_t bytes, unsigned distances, void (*join)(void* into, void const* with), site);
bool is_batched();
void pause_ns(unsigned ns, site);
std::uint64_t clock_ns();
/// All threads of a warpgroup: registers of each from now on.
void set_registers(unsigned count, bool grow, site);

// tylo/lane/work.hpp
void begin_work(void const* what, site);
void end_work(site);

// tylo/lane/memory.hpp
enum class order : std::uint8_t { relaxed, acquire, release, acquire_release };
/// Words of 4 or 8 bytes. `of_host`: the host writes it too.
std::uint64_t load_word(void const* from, std::size_t bytes, order, bool of_host, site);
void store_word(void* to, std::size_t bytes, std::uint64_t value, order, bool of_host, site);
/// Returns what was there.
std::uint64_t add_word(void* to, std::size_t bytes, std::uint64_t value, order, site);
bool exchange_word_if(void* at, std::size_t bytes, std::uint64_t expected, std::uint64_t value, site);

// tylo/lane/barrier.hpp
void sync_cta(site);
void sync_named(unsigned barrier, unsigned threads, site);
void arrive_named(unsigned barrier, unsigned threads, site);
void init_mbarrier(void* word, unsigned arrivals, site);
void publish_mbarriers(site);
void arrive_mbarrier(void* word, site);
void arrive_expecting(void* word, unsigned bytes, site);
void arrive_remote(void* word, unsigned rank, site);
bool try_wait(void* word, unsigned parity, site);
void wait(void* word, unsigned parity, site);

// tylo/lane/cluster.hpp
unsigned cluster_rank();
unsigned cluster_size();
unsigned multiprocessor_rank();
void sync_cluster(site);
void* peer_address(void* mine, unsigned rank, site);

// tylo/lane/async_proxy.hpp
/// `global`: for global memory as well as for shared.
void fence_async_proxy(bool global, site);

// tylo/lane/copy.hpp
std::byte* shared_memory();
void bulk_load(void* to_shared, void const* from_global, unsigned bytes, void* done, site);
void bulk_load_multicast(void* to_shared, void const* from_global, unsigned bytes, void* done, std::uint16_t ctas,
                         site);
void bulk_store(void* to_global, void const* from_shared, unsigned bytes, site);
void commit_bulk_stores(site);
/// All groups but the last `pending` have been read, or, where `written`, are visible.
void await_bulk_stores(unsigned pending, bool written, site);
void copy_async(void* to_shared, void const* from_global, unsigned bytes, unsigned from_bytes, site);
void commit_copies(site);
void await_copies(unsigned pending, site);

// tylo/lane/tensor_copy.hpp
void acquire_tensor_map(void const* map, site);
void tensor_load(void* to_shared, void const* map, std::int32_t const* at, unsigned rank, void* done, site);

// tylo/lane/mma.hpp
struct mma_shape {
  unsigned rows, columns, depth;
};
/// Element types of the factors of a matrix product.
enum class factor_type : std::uint8_t { bf16, fp16 };
void mma(float* sums, std::uint32_t const* a, std::uint32_t const* b, factor_type, site);
/// `rows` x `columns` tiles of 16 x 8 times `depth` of 16, in one meeting: sums[row][column][4], a[row][depth][4],
/// b[column][depth][2].
void mma_tiles(float* sums, std::uint32_t const* a, std::uint32_t const* b, unsigned rows, unsigned columns,
               unsigned depth, factor_type, site);
void load_matrices(std::uint32_t* to, void const* row, unsigned count, bool transposed, site);
void store_matrices(void* row, std::uint32_t const* from, unsigned count, bool transposed, site);

// tylo/lane/wgmma.hpp
/// The shared address of a column of a tile of `factor_of`.
std::uint32_t factor_address(void const* tile, unsigned column, site);
void fence_products(site);
void multiply(float* sums, unsigned columns, std::uint64_t a, std::uint64_t b, bool accumulate, site);
void commit_products(site);
void await_products(unsigned pending, float* sums, unsigned columns, site);

} // namespace tylo::emulator
