// Many threads on shared data, for ThreadSanitizer (.ci/sanitize). Threads grow trees of every
// target, predict and differentiate concurrently, and every result must equal that of a single
// thread.
//
//   threads [ROUNDS]
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "../predictor.hpp"
#include "../tree_differences.hpp"
#include "cases.hpp"
#include "grower_cases.hpp"

namespace {

using jarf_tests::Dice;
using jarf_tests::ForestArrays;
using jarf_tests::TableArrays;
using jarf_tests::TargetArrays;

constexpr std::size_t kThreads = 8;

struct Answers {
  std::vector<jarf::GrownTree> trees{kThreads};
  std::vector<std::vector<double>> predictions{kThreads}, above{kThreads}, below{kThreads};
  std::vector<std::vector<std::int64_t>> leaves{kThreads};
};

bool same(const jarf::GrownTree& a, const jarf::GrownTree& b) {
  const auto words = [](const std::vector<jarf::Node>& nodes) {
    const auto* first = reinterpret_cast<const std::uint32_t*>(nodes.data());
    return std::vector<std::uint32_t>(first, first + 4 * nodes.size());
  };
  return words(a.nodes) == words(b.nodes) && a.values == b.values && a.loadings == b.loadings &&
         a.features == b.features && a.gains == b.gains && a.leaves == b.leaves;
}

// Data shared by the threads; all of it is read-only.
struct Shared {
  explicit Shared(Dice& dice)
      : table(jarf_tests::make_table(dice, 300)), forest(jarf_tests::make_forest(dice)) {
    table.wild = false;
    table.weights.assign(table.n_rows, 1.0);
    jarf_tests::add_bins(table);
    columns = table.columns();
    draw_target(dice);
    for (int k = 0; k < 3; ++k) proposals.push_back(jarf_tests::make_proposal(dice, columns));
    for (std::size_t i = 0; i < 200 * forest.n_features; ++i) centre.push_back(dice.number());
    upper = lower = centre;
    for (float& value : upper) value += 0.5f;
    for (float& value : lower) value -= 0.5f;
  }

  // Draws targets until one is accepted: monotone constraints need a single output.
  void draw_target(Dice& dice) {
    for (;;) {
      target = jarf_tests::make_target(dice, table);
      try {
        spec = target.spec();
        spec->check(table.weights.data());
        return;
      } catch (const std::invalid_argument&) {
      }
    }
  }

  void grow(std::size_t number, Answers& answers) const {
    const std::size_t most_leaves = number % 3 == 0 ? 9 : 0;
    const jarf::Limits limits{SIZE_MAX, most_leaves, 2, 1, 0.0, 0.0, 64, 64};
    answers.trees[number] =
        spec->grow({columns, *proposals[number % proposals.size()], table.weights.data(), number,
                    limits, [] { return false; }, true, jarf::Team(2, 0)});
  }

  void predict(std::size_t number, Answers& answers) const {
    const std::size_t n = centre.size() / forest.n_features;
    auto& sums = answers.predictions[number];
    auto& leaves = answers.leaves[number];
    sums.assign(n * forest.n_outputs, 0.0);
    leaves.assign(n * forest.roots.size(), 0);
    jarf::add_predictions(forest.view(), centre.data(), n, nullptr, 0, sums.data());
    jarf::find_leaves(forest.view(), centre.data(), n, leaves.data());
  }

  void differentiate(std::size_t number, Answers& answers) const {
    const std::size_t n = centre.size() / forest.n_features;
    auto& above = answers.above[number];
    auto& below = answers.below[number];
    above.assign(centre.size() * forest.n_outputs, 0.0);
    below = above;
    const jarf::Forest view = forest.view();
    const jarf::Probes probes{centre.data(), upper.data(), lower.data(), nullptr, n};
    jarf::TreeDifferences(view, probes, above.data(), below.data()).accumulate();
  }

  void work(std::size_t number, Answers& answers) const {
    grow(number, answers);
    predict(number, answers);
    differentiate(number, answers);
  }

  TableArrays table;
  ForestArrays forest;
  TargetArrays target;
  std::unique_ptr<jarf::TargetSpec> spec;
  std::vector<std::shared_ptr<jarf::ProposalSpec>> proposals;
  std::vector<float> centre, upper, lower;
  jarf::Columns columns{};
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  for (int round = 0; round < rounds; ++round) {
    Dice dice(round);
    const Shared shared(dice);
    Answers alone, together;
    for (std::size_t number = 0; number < kThreads; ++number) shared.work(number, alone);
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] { shared.work(number, together); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t number = 0; number < kThreads; ++number) {
      if (!same(alone.trees[number], together.trees[number]) ||
          alone.predictions[number] != together.predictions[number] ||
          alone.above[number] != together.above[number] ||
          alone.below[number] != together.below[number] ||
          alone.leaves[number] != together.leaves[number]) {
        std::printf("round %d: thread %zu has another answer than alone\n", round, number);
        return 1;
      }
    }
  }
  std::printf("%d rounds of %zu threads: the same answers as alone\n", rounds, kThreads);
  return 0;
}
