// The fuzz target: generated cases for the tree differences, the predictor and the grower. Built
// with -fsanitize=address,undefined by .ci/sanitize. A case is refused at the border, or its answer
// is finite and keeps what the kernel promises; anything else ends the run with the case's seed.
//
//   fuzz CASES [FIRST_SEED]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#include "cases.hpp"

namespace {

using jarf_tests::Dice;
using jarf_tests::ForestArrays;
using jarf_tests::TableArrays;

void promise(bool kept, const char* what) {
  if (!kept) throw std::logic_error(what);
}

std::vector<float> rows_of(Dice& dice, std::size_t n) {
  std::vector<float> rows(n);
  for (float& value : rows) value = dice.any_number();
  return rows;
}

// f(upper_j) - f(lower_j) by its definition: two walks for every row and column.
double difference(const jarf::PackedForest& forest, const float* centre, std::size_t j, float upper,
                  float lower, std::size_t output) {
  double sum = 0.0;
  for (std::size_t tree = 0; tree < forest.n_trees; ++tree) {
    for (const auto& [moved, sign] : {std::pair(upper, 1.0), std::pair(lower, -1.0)}) {
      const jarf::Node* node = forest.nodes + forest.roots[tree];
      while (!jarf::PackedForest::is_leaf(*node)) {
        const float x = static_cast<std::size_t>(node->feature) == j ? moved
                                                                     : centre[node->feature];
        node = forest.nodes + node->child[jarf::PackedForest::side(*node, x)];
      }
      sum += sign * forest.values[node->child[0] * forest.n_outputs + output];
    }
  }
  return sum;
}

void fuzz_differences(Dice& dice) {
  ForestArrays forest = jarf_tests::make_forest(dice, false);
  if (dice.one_in(2)) jarf_tests::damage(dice, forest);
  const jarf::PackedForest view = forest.packed();
  view.check(forest.n_features);
  jarf::require(jarf::all_finite(view.values, forest.values.size()), "values");
  const std::size_t n = dice.below(20), d = forest.n_features;
  const std::vector<float> centre = rows_of(dice, n * d), upper = rows_of(dice, n * d),
                           lower = rows_of(dice, n * d);
  std::vector<std::int32_t> outputs;
  const bool observed = dice.one_in(2) && n > 0;
  for (std::size_t i = 0; observed && i < n; ++i) outputs.push_back(dice.below(forest.n_outputs));
  const std::size_t n_kept = observed ? 1 : forest.n_outputs;
  std::vector<double> sums(n * n_kept * d, 0.0);
  const jarf::Probes probes{centre.data(), upper.data(), lower.data(),
                            observed ? outputs.data() : nullptr, n, d};
  jarf::TreeDifferences(view, probes, sums.data()).accumulate();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < n_kept; ++c) {
      for (std::size_t j = 0; j < d; ++j) {
        const double expected = difference(view, centre.data() + i * d, j, upper[i * d + j],
                                           lower[i * d + j], observed ? outputs[i] : c);
        promise(std::fabs(sums[(i * n_kept + c) * d + j] - expected) < 1e-9,
                "a difference is not that of two predictions");
      }
    }
  }
}

void predict(Dice& dice, const ForestArrays& forest, const std::vector<float>& rows) {
  const jarf::ObliqueForest view = forest.oblique();
  const std::size_t n = rows.size() / forest.n_features, n_trees = forest.roots.size();
  std::vector<double> sums(n * forest.n_outputs, 0.0);
  std::vector<std::int64_t> leaves(n * n_trees);
  std::vector<std::uint8_t> skip(n * n_trees);
  for (std::uint8_t& pair : skip) pair = dice.one_in(3);
  const bool skips = dice.one_in(2);
  jarf::add_predictions(view, rows.data(), n, forest.n_features, skips ? skip.data() : nullptr, n,
                        sums.data());
  jarf::find_leaves(view, rows.data(), n, forest.n_features, leaves.data());
  promise(jarf::all_finite(sums.data(), sums.size()), "a prediction is not finite");
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const std::int64_t node = leaves[k] + forest.roots[k % n_trees];
    promise(forest.nodes.at(node).feature == -1, "a row did not end in a leaf");
    std::int32_t expected;
    view.leaves_of(view.trees.nodes, forest.roots[k % n_trees],
                   rows.data() + k / n_trees * forest.n_features, 1, forest.n_features, &expected);
    promise(node == expected, "a widened tree sends a row elsewhere");
  }
}

void fuzz_predictor(Dice& dice) {
  ForestArrays forest = jarf_tests::make_forest(dice, true);
  if (dice.one_in(2)) jarf_tests::damage(dice, forest);
  forest.oblique().check(forest.n_features);
  predict(dice, forest, rows_of(dice, dice.below(20) * forest.n_features));
}

// A grown tree in the arrays of a forest, as the Python side moves it there.
ForestArrays packed(const jarf::GrownTree& tree, const TableArrays& table, std::size_t n_outputs,
                    bool classifies) {
  ForestArrays forest;
  forest.n_features = table.n_columns;
  forest.n_outputs = n_outputs;
  forest.n_pure = classifies ? n_outputs : 0;
  forest.values.assign(forest.n_pure * n_outputs, 0.0);
  for (std::size_t c = 0; c < forest.n_pure; ++c) forest.values[c * n_outputs + c] = 1.0;
  forest.values.insert(forest.values.end(), tree.values.begin(), tree.values.end());
  forest.nodes = tree.nodes;
  for (jarf::Node& node : forest.nodes) {
    if (node.feature != -1) continue;
    const std::int32_t value = node.child[0];
    node.child[0] = value < 0 ? -1 - value : value + static_cast<std::int32_t>(forest.n_pure);
  }
  forest.roots = {0};
  const bool rotated = table.rotated();
  for (jarf::Node& node : forest.nodes) {
    if (rotated && node.feature >= 0) node.feature = -2 - node.feature;
  }
  forest.starts = rotated ? table.projections.starts : tree.starts;
  forest.features = rotated ? table.projections.features : tree.features;
  forest.loadings = rotated ? table.projections.loadings : tree.loadings;
  return forest;
}

// Rows walked down the tree must bring each leaf the weight that it was grown with.
void check_weights_of(const jarf::GrownTree& tree, const ForestArrays& forest,
                      const TableArrays& table) {
  std::vector<float> rows(table.values.size());
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    for (std::size_t j = 0; j < table.n_columns; ++j) {
      rows[i * table.n_columns + j] = table.values[j * table.n_rows + i];
    }
  }
  std::vector<std::int64_t> leaves(table.n_rows);
  jarf::find_leaves(forest.oblique(), rows.data(), table.n_rows, table.n_columns, leaves.data());
  std::vector<double> weights(tree.nodes.size(), 0.0);
  for (std::size_t i = 0; i < table.n_rows; ++i) weights[leaves[i]] += table.weights[i];
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    if (tree.nodes[node].feature != -1) continue;
    promise(tree.weights[node] > 0.0, "a leaf has no training row");
    promise(std::fabs(weights[node] - tree.weights[node]) <= 1e-9 * tree.weights[node],
            "training rows do not reach the leaf they were grown into");
  }
}

void damage_table(Dice& dice, TableArrays& table) {
  switch (dice.below(6)) {
    case 0: table.values[dice.below(table.values.size())] = dice.any_number(); break;
    case 1: table.labels[dice.below(table.n_rows)] = dice.any_index(table.n_classes); break;
    case 2: table.responses[dice.below(table.n_rows)] = dice.one_in(2) ? HUGE_VAL : 1e300; break;
    case 3: table.weights[dice.below(table.n_rows)] = dice.one_in(2) ? -1.0 : HUGE_VAL; break;
    case 4: if (!table.codes.empty()) table.codes[dice.below(table.codes.size())] = 255; break;
    default: if (!table.n_bins.empty()) table.n_bins[0] = dice.any_index(300);
  }
}

void fuzz_grower(Dice& dice) {
  TableArrays table = jarf_tests::make_table(dice, dice.one_in(50) ? 400 : 24);
  if (dice.one_in(4)) {
    table.projections.n_features = table.n_columns;
    jarf_tests::add_projections(dice, table.projections, dice.between(1, 6));
  } else if (dice.one_in(2)) {
    jarf_tests::add_bins(table);
  }
  if (dice.one_in(4)) damage_table(dice, table);
  const std::size_t n = table.n_rows;
  const int criterion = static_cast<int>(dice.below(3));
  const bool classifies = criterion < 2;
  const jarf::Columns columns = table.columns();
  jarf::check_matrix(table.values.data(), table.n_columns, n);
  if (columns.codes) jarf::check_bins(columns);
  jarf::check_weights(table.weights.data(), n);
  if (classifies) {
    jarf::check_labels(table.labels.data(), n, table.n_classes);
  } else {
    jarf::check_responses(table.responses.data(), table.weights.data(), n);
  }
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < n; ++i) {
    if (table.weights[i] > 0.0) rows.push_back(static_cast<std::uint32_t>(i));
  }
  const jarf::Limits limits{dice.one_in(2) ? 1000 : dice.below(4),
                            dice.one_in(3) ? dice.between(2, 6) : 0,
                            dice.between(0, 4),
                            std::min(n, dice.one_in(2) ? 1 : dice.between(1, 30)),
                            dice.one_in(3) ? dice.uniform() : 0.0,
                            dice.one_in(3) ? dice.uniform() : 0.0,
                            dice.one_in(2) ? 1024 : dice.below(64),
                            dice.one_in(2) ? 1024 : dice.below(64)};
  jarf_tests::Proposals owner;
  const auto proposal = owner.make(dice, table, columns);
  jarf::GrownTree tree;
  const auto grow = [&](auto&& target) {
    using Target = std::decay_t<decltype(target)>;
    tree = jarf::Grower<Target>::grow(columns, target, *proposal, rows, dice.next(), limits,
                                      [] { return false; });
  };
  if (criterion == 0) {
    grow(jarf::ClassTarget<jarf::Gini>(table.labels.data(), table.weights.data(), n,
                                       table.n_classes));
  } else if (criterion == 1) {
    grow(jarf::ClassTarget<jarf::Entropy>(table.labels.data(), table.weights.data(), n,
                                          table.n_classes));
  } else {
    grow(jarf::SquaredError(table.responses.data(), table.weights.data(), n));
  }
  promise(tree.nodes.size() < 2 * n, "a tree has more leaves than rows");
  promise(jarf::all_finite(tree.gains.data(), tree.gains.size()), "a gain is not finite");
  const ForestArrays forest = packed(tree, table, classifies ? table.n_classes : 1, classifies);
  try {
    forest.oblique().check(forest.n_features);
  } catch (const std::invalid_argument& refused) {
    throw std::logic_error(std::string("a grown tree is refused: ") + refused.what());
  }
  check_weights_of(tree, forest, table);
  predict(dice, forest, rows_of(dice, dice.below(12) * forest.n_features));
}

struct Kernel {
  const char* name;
  void (*fuzz)(Dice&);
  std::uint64_t answered = 0, refused = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t n_cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  Kernel kernels[] = {{"tree differences", fuzz_differences},
                      {"predictor", fuzz_predictor},
                      {"grower", fuzz_grower}};
  for (std::uint64_t seed = first; seed < first + n_cases; ++seed) {
    Kernel& kernel = kernels[seed % 3];
    Dice dice(seed);
    try {
      kernel.fuzz(dice);
      ++kernel.answered;
    } catch (const std::invalid_argument&) {
      ++kernel.refused;
    } catch (const std::exception& error) {
      std::printf("%s, seed %llu: %s\n", kernel.name, static_cast<unsigned long long>(seed),
                  error.what());
      return 1;
    }
  }
  for (const Kernel& kernel : kernels) {
    std::printf("%-17s %8llu answered, finite and as promised; %8llu refused\n", kernel.name,
                static_cast<unsigned long long>(kernel.answered),
                static_cast<unsigned long long>(kernel.refused));
  }
  return 0;
}
