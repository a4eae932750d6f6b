#pragma once

/// What a program means: a plain interpreter of it.

#include "program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace mk::test::random_lanes {

/// Goes through the steps one after another, for all threads at once. What orders means nothing.
class interpreter {
public:
  struct memory {
    std::vector<word> results, stored;
  };

  interpreter(program const& p, std::vector<word> const& input, std::vector<word> stored)
      : p_(p), input_(input), stored_(std::move(stored)), ctas_(p.of.ctas), grid_(2 * p.of.ctas * p.of.threads) {
    for (unsigned c = 0; c < p.of.ctas; ++c) {
      ctas_[c].shared.resize(p.of.shared_words());
      for (unsigned t = 0; t < p.of.threads; ++t) {
        auto& r = ctas_[c].r.emplace_back();
        for (unsigned i = 0; i < registers; ++i) r[i] = c * 1000 + t * 10 + i;
      }
    }
  }

  memory run() {
    for (auto const& s : p_.sections)
      for (unsigned i = 0; i < s.times; ++i)
        for (unsigned team = 0; team <= both; ++team)
          for (auto at = s.steps[team].first; at < s.steps[team].second; ++at)
            for (unsigned c = 0; c < p_.of.ctas; ++c) run(p_.steps[at].s, c, team);
    memory all{{}, stored_};
    for (auto const& c : ctas_) {
      for (unsigned i = 0; i < registers; ++i)
        for (auto const& r : c.r) all.results.push_back(r[i]);
      auto const blocks = c.shared.begin() + barrier_words;
      all.results.insert(all.results.end(), blocks, blocks + shared_blocks * p_.of.threads);
    }
    return all;
  }

private:
  struct cta {
    std::vector<std::array<word, registers>> r;
    std::vector<word> shared;
    std::vector<std::vector<word>> sent;
    std::size_t received = 0;
  };

  /// Of a team, or the whole CTA.
  word* block_at(unsigned block, unsigned c, unsigned begin) {
    if (block >= cta_block) return ctas_[c].shared.data() + p_.of.cta_block_at(block);
    if (block < shared_blocks) return ctas_[c].shared.data() + barrier_words + block * p_.of.threads + begin;
    return stored_.data() + (c * stored_blocks + block - shared_blocks) * p_.of.threads + begin;
  }

  void run(step const& s, unsigned c, unsigned team) {
    auto const begin = team == both ? 0 : p_.of.team_begin(team);
    auto const size = team == both ? p_.of.threads : p_.of.team_size(team);
    auto& own = ctas_[c];
    auto* const r = own.r.data() + begin;
    if (s.what <= act::product) {
      for (unsigned warp = 0; warp < size; warp += 32) of_registers(s, r + warp);
      return;
    }
    auto* const block = block_at(s.block, c, begin);
    auto const turned = [&](unsigned t) { return (t + s.k) % size; };
    switch (s.what) {
    case act::put:
      for (unsigned t = 0; t < size; ++t) block[turned(t)] = r[t][s.a];
      break;
    case act::get:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += block[turned(t)];
      break;
    case act::get_matrix:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += transposed(block + t / 32 * 32, t % 32, s.k);
      break;
    case act::load:
      std::copy_n(input_.begin() + 4 * s.k, size, block);
      break;
    case act::load_stored:
      std::copy_n(block_at(s.b, c, begin), size, block);
      break;
    case act::store:
      std::copy_n(block, size, block_at(s.b, c, begin));
      break;
    case act::copy_4:
      for (unsigned t = 0; t < size; ++t) block[turned(t)] = input_[4 * s.b + t];
      break;
    case act::copy_16:
      for (unsigned t = 0; t < size; ++t) block[(t + 4 * s.k) % size] = input_[4 * s.b + t];
      break;
    case act::send:
      own.sent.emplace_back(size);
      for (unsigned t = 0; t < size; ++t) own.sent.back()[turned(t)] = r[t][s.a];
      break;
    case act::send_load:
      own.sent.emplace_back(input_.begin() + 4 * s.k, input_.begin() + 4 * s.k + size);
      break;
    case act::receive:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += own.sent[own.received][(t + s.k) % p_.of.first_team];
      ++own.received;
      break;
    case act::put_to_grid:
      for (unsigned t = 0; t < size; ++t) in_grid(s.b, c)[turned(t)] = r[t][s.a];
      break;
    case act::get_from_grid:
      for (unsigned t = 0; t < size; ++t) r[t][s.a] += in_grid(s.b % 2, c + s.b / 2)[turned(t)];
      break;
    case act::put_to_peer:
      for (unsigned t = 0; t < size; ++t) block_at(s.block, c ^ 1, 0)[turned(t)] = r[t][s.a];
      break;
    case act::multicast:
      std::copy_n(input_.begin() + 4 * s.k, size, block_at(multicast_block, c, 0));
      break;
    default:;
    }
  }
  word* in_grid(unsigned buffer, unsigned c) {
    return grid_.data() + (buffer * p_.of.ctas + c % p_.of.ctas) * p_.of.threads;
  }

  /// Rows of 8 elements of 16 bits, of which the first is row k: lane i has columns i / 4 of rows 2 (i % 4) and the
  /// next.
  static word transposed(word const* part, unsigned lane, unsigned k) {
    auto const element = [&](unsigned row) { return part[(row + k) % 8 * 4 + lane / 8] >> lane / 4 % 2 * 16 & 0xFFFF; };
    return element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16;
  }

  static void of_registers(step const& s, std::array<word, registers>* r) {
    std::array<word, 32> from{}, to{};
    for (unsigned i = 0; i < 32; ++i) {
      from[i] = r[i][s.b];
      to[i] = r[i][s.a];
    }
    word sum = 0, votes = 0;
    bool some = false;
    for (unsigned i = 0; i < 32; ++i) {
      sum += from[i];
      votes |= (from[i] >> s.k % 32 & 1) << i;
      some = some || from[i] % 32 == s.k;
    }
    for (unsigned i = 0; i < 32; ++i) {
      auto& t = r[i][s.a];
      if (s.what == act::compute) t = to[i] * 5 + (from[i] ^ s.k);
      if (s.what == act::exchange) t += from[i ^ s.k];
      if (s.what == act::rotate) t ^= from[(i + s.k) % 32];
      if (s.what == act::join) t ^= sum;
      if (s.what == act::vote) t += votes;
      if (s.what == act::any) t += some ? 7u : 1u;
      if (s.what == act::product) t = t + product(to, from, i);
    }
  }

  static int small(word bits) { return static_cast<int>(bits & 7) - 3; }
  /// Where a lane has element (row, column) of A, and (row, column) of B, is told in tylo/lane/mma.hpp.
  static word product(std::array<word, 32> const& a, std::array<word, 32> const& b, unsigned lane) {
    auto const of_a = [&](unsigned row, unsigned column) {
      auto const byte = row / 8 + column / 8 * 2;
      return small(a[row % 8 * 4 + column % 8 / 2] >> (byte * 8 + column % 2 * 4));
    };
    auto const of_b = [&](unsigned row, unsigned column) {
      return small(b[column * 4 + row % 8 / 2] >> (row / 8 * 8 + row % 2 * 4));
    };
    word all = 0;
    for (unsigned i = 0; i < 4; ++i) {
      int sum = 0;
      for (unsigned k = 0; k < 16; ++k) sum += of_a(lane / 4 + i / 2 * 8, k) * of_b(k, lane % 4 * 2 + i % 2);
      all = all * 3 + static_cast<word>(sum);
    }
    return all;
  }

  program const& p_;
  std::vector<word> const& input_;
  std::vector<word> stored_;
  std::vector<cta> ctas_;
  std::vector<word> grid_;
};

} // namespace mk::test::random_lanes
