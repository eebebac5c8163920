// Many threads on shared data, for ThreadSanitizer (.ci/sanitize): trees are grown, rows predicted
// and differences taken at once, and every answer must be that of one thread alone.
//
//   threads [ROUNDS]
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "cases.hpp"

namespace {

using jarf_tests::Dice;
using jarf_tests::ForestArrays;
using jarf_tests::TableArrays;

constexpr std::size_t kThreads = 8;

struct Answers {
  std::vector<jarf::GrownTree> trees{kThreads};
  std::vector<std::vector<double>> predictions{kThreads}, differences{kThreads};
  std::vector<std::vector<std::int64_t>> leaves{kThreads};
};

bool same(const jarf::GrownTree& a, const jarf::GrownTree& b) {
  const auto bytes = [](const std::vector<jarf::Node>& nodes) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(nodes.data());
    return std::vector<std::uint32_t>(words, words + 4 * nodes.size());
  };
  return bytes(a.nodes) == bytes(b.nodes) && a.values == b.values && a.loadings == b.loadings &&
         a.features == b.features && a.gains == b.gains;
}

// What the threads share: all of it is only read.
struct Shared {
  explicit Shared(Dice& dice)
      : table(jarf_tests::make_table(dice, 300)),
        axis(jarf_tests::make_forest(dice, false)),
        oblique(jarf_tests::make_forest(dice, true)) {
    table.weights.assign(table.n_rows, 1.0);
    jarf_tests::add_bins(table);
    for (std::size_t i = 0; i < 200 * oblique.n_features; ++i) rows.push_back(dice.number());
    for (std::size_t i = 0; i < 200 * axis.n_features; ++i) centre.push_back(dice.number());
    upper = lower = centre;
    for (float& value : upper) value += 0.5f;
    for (float& value : lower) value -= 0.5f;
    columns = table.columns();
  }

  void grow(std::size_t number, Answers& answers) const {
    Dice dice(number);
    jarf_tests::Proposals owner;
    const auto proposal = owner.make(dice, table, columns);
    std::vector<std::uint32_t> all(table.n_rows);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
    const jarf::Limits limits{1000, 0, 2, 1, 0.0, 0.0, 64, 64};
    using Target = jarf::ClassTarget<jarf::Gini>;
    Target target(table.labels.data(), table.weights.data(), table.n_rows, table.n_classes);
    answers.trees[number] = jarf::Grower<Target>::grow(columns, target, *proposal, all, number,
                                                       limits, [] { return false; });
  }

  void predict(std::size_t number, Answers& answers) const {
    const std::size_t d = oblique.n_features, n = rows.size() / d;
    auto& sums = answers.predictions[number];
    auto& leaves = answers.leaves[number];
    sums.assign(n * oblique.n_outputs, 0.0);
    leaves.assign(n * oblique.roots.size(), 0);
    jarf::add_predictions(oblique.oblique(), rows.data(), n, d, nullptr, 0, sums.data());
    jarf::find_leaves(oblique.oblique(), rows.data(), n, d, leaves.data());
  }

  void differentiate(std::size_t number, Answers& answers) const {
    const std::size_t d = axis.n_features, n = centre.size() / d;
    auto& sums = answers.differences[number];
    sums.assign(n * axis.n_outputs * d, 0.0);
    const jarf::PackedForest forest = axis.packed();
    const jarf::Probes probes{centre.data(), upper.data(), lower.data(), nullptr, n, d};
    jarf::TreeDifferences(forest, probes, sums.data()).accumulate();
  }

  void work(std::size_t number, Answers& answers) const {
    grow(number, answers);
    predict(number, answers);
    differentiate(number, answers);
  }

  TableArrays table;
  ForestArrays axis, oblique;
  std::vector<float> rows, centre, upper, lower;
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
          alone.differences[number] != together.differences[number] ||
          alone.leaves[number] != together.leaves[number]) {
        std::printf("round %d: thread %zu has another answer than alone\n", round, number);
        return 1;
      }
    }
  }
  std::printf("%d rounds of %zu threads: the same answers as alone\n", rounds, kThreads);
  return 0;
}
