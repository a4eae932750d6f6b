/// Random graphs on the host device, against the same graphs run node by node.

#include <megakernels/ops/all.hpp>
#include <megakernels/runtime/session.hpp>
#include <megakernels/scheduler/compile.hpp>

#include "../scheduler/node_by_node.hpp"

#include <algorithm>

namespace mk {
namespace {

constexpr std::uint64_t graphs = kit::sanitized ? 200 : 2000;

using outputs = std::map<std::string, std::vector<std::byte>>;

/// One random graph, compiled for a random number of workers, in a session of its own.
class trial {
public:
  explicit trial(std::uint64_t seed)
      : r_(seed), made_(seed), expected_(made_.get(), made_.leaves), session_(host_device{}, full_operations),
        program_(session_.load(compile(made_.get(), some_machine(), full_operations))) {
    for (auto const& v : made_.get().values()) {
      if (v.kind != value_kind::constant && v.kind != value_kind::state) continue;
      auto const& bytes = made_.leaves.at(v.labels.name);
      if (v.kind == value_kind::constant)
        session_.set_constant(v.labels.name, constant(v.desc, bytes));
      else
        std::ranges::copy(bytes, session_.state(v.labels.name).data);
    }
  }

  /// Lengths, values and inputs are new each time; the workspace holds what the time before left there.
  void submit_and_compare() {
    outputs results;
    auto const s = step_with(results);
    session_.submit(program_, s).wait();
    expected_.run(made_.leaves, made_.live);
    for (auto const& [name, bytes] : results) EXPECT_EQ(bytes, expected_.bytes(name)) << name;
    for (auto const& v : made_.get().values()) {
      if (v.kind != value_kind::state) continue;
      auto const& bytes = expected_.bytes(v.labels.name);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), session_.state(v.labels.name).data)) << v.labels.name;
    }
    made_.draw_again();
  }

private:
  machine some_machine() {
    return {.workers = r_.pick(std::vector<std::int64_t>{1, 2, 3, 7, 64}),
            .bytes_per_second = r_.chance(70) ? 1 : 1e9,
            .operations_per_second = 1e9,
            .task_seconds = 1e-9};
  }

  static std::shared_ptr<tensor const> constant(tensor_desc const& desc, std::vector<std::byte> const& bytes) {
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < static_cast<std::size_t>(desc.rank); ++i) extents.push_back(desc.extents[i].capacity);
    auto made = std::make_shared<tensor>(desc.type, extents);
    std::ranges::copy(bytes, made->data());
    return made;
  }

  /// Outputs start as bytes FF.
  step step_with(outputs& results) {
    step s;
    for (std::size_t i = 0; i < made_.live.size(); ++i) s.live(made_.get().live_axes()[i].name, made_.live[i]);
    for (auto const& v : made_.get().values()) {
      auto const view = [&](std::vector<std::byte>& bytes) { return view_of(v.desc, bytes.data(), made_.live.data()); };
      if (v.kind == value_kind::step) s.values(v.labels.name, view(made_.leaves.at(v.labels.name)));
      if (v.kind == value_kind::input) s.bind(v.labels.name, view(made_.leaves.at(v.labels.name)));
      if (v.output.empty()) continue;
      auto& bytes = results[v.output];
      bytes.assign(span_bytes(v.desc), std::byte{0xFF});
      s.bind(v.output, view(bytes));
    }
    return s;
  }

  kit::random r_;
  kit::random_graph made_;
  kit::node_by_node expected_;
  session session_;
  program_id program_;
};

TEST(random_graphs, equal_the_graph_run_node_by_node) {
  for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    trial t(seed);
    for (int submission = 0; submission < 2; ++submission) t.submit_and_compare();
  }
}

} // namespace
} // namespace mk
