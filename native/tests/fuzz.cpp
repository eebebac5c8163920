// The fuzz target: generated cases for the tree differences, the predictor and the grower. Built
// with -fsanitize=address,undefined by .ci/sanitize. A case is either rejected by the checks, or
// its result is finite and meets the kernel's guarantees; anything else ends the run with its seed.
//
//   fuzz CASES [FIRST_SEED]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "../predictor.hpp"
#include "../tree_differences.hpp"
#include "cases.hpp"
#include "fuzz_grower.hpp"

namespace {

using jarf_tests::Dice;
using jarf_tests::ForestArrays;
using jarf_tests::promise;

std::vector<float> rows_of(Dice& dice, std::size_t n) {
  std::vector<float> rows(n);
  const bool hostile = dice.one_in(2);
  for (float& value : rows) value = hostile ? dice.any_number() : static_cast<float>(dice.normal());
  return rows;
}

// A forest that passed its check. Broken ones throw std::invalid_argument, as expected.
ForestArrays checked_forest(Dice& dice) {
  ForestArrays forest = jarf_tests::make_forest(dice);
  const bool broken = dice.one_in(4) && jarf_tests::break_for_sure(dice, forest);
  for (std::size_t stroke = dice.one_in(4) && !broken ? 2 : 0; stroke > 0; --stroke) {
    jarf_tests::damage(dice, forest);
  }
  forest.view().check();
  promise(!broken, "a broken forest passed its check");
  return forest;
}

// Moves thresholds to where rounding decides: onto a value that a probe takes at the node, or next
// to it.
void sharpen(Dice& dice, ForestArrays& forest, const std::vector<float>& centre,
             const std::vector<float>& moved) {
  const std::size_t d = forest.n_features, n = centre.size() / d;
  const jarf::Forest view = forest.view();
  for (jarf::Node& node : forest.nodes) {
    if (n == 0 || jarf::Forest::is_leaf(node) || dice.one_in(2)) continue;
    const std::size_t row = dice.index(n);
    std::int32_t j = dice.index(d);
    if (node.feature < -1) {
      const jarf::Direction direction = view.direction(node);
      j = direction.features[dice.index(direction.size)];
    }
    node.threshold = view.value_moved(node, centre.data() + row * d, j, moved[row * d + j]);
    if (dice.one_in(3)) node.threshold = std::nextafter(node.threshold, HUGE_VALF);
    if (dice.one_in(3)) node.threshold = std::nextafter(node.threshold, -HUGE_VALF);
  }
}

// The summed leaf values of a row whose feature j is moved, computed by walking down the trees.
double walked(const jarf::Forest& forest, const float* centre, std::size_t j, float moved,
              std::size_t output) {
  std::vector<float> row(centre, centre + forest.n_features);
  row[j] = moved;
  double sum = 0.0;
  for (std::size_t tree = 0; tree < forest.n_trees; ++tree) {
    std::int32_t leaf;
    jarf::Predictor(forest).leaves_of(forest.nodes, forest.roots[tree], row.data(), 1, &leaf);
    sum += forest.values[forest.nodes[leaf].child[0] * forest.n_outputs + output];
  }
  return sum;
}

void fuzz_differences(Dice& dice) {
  ForestArrays forest = checked_forest(dice);
  const std::size_t d = forest.n_features, n = dice.below(d > 20 ? 10 : 20);
  const std::vector<float> centre = rows_of(dice, n * d);
  std::vector<float> upper = rows_of(dice, n * d), lower = rows_of(dice, n * d);
  for (std::size_t at = 0; at < centre.size(); ++at) {  // small steps, and zero steps
    if (dice.one_in(3)) upper[at] = centre[at] + 1e-3f;
    if (dice.one_in(3)) lower[at] = dice.one_in(4) ? centre[at] : centre[at] - 1e-3f;
  }
  sharpen(dice, forest, centre, dice.one_in(2) ? upper : lower);
  const jarf::Forest view = forest.view();
  std::vector<std::int32_t> outputs;
  const bool observed = dice.one_in(2) && n > 0, apart = dice.one_in(2);
  for (std::size_t i = 0; observed && i < n; ++i) outputs.push_back(dice.index(forest.n_outputs));
  const std::size_t n_kept = observed ? 1 : forest.n_outputs;
  std::vector<double> above(n * n_kept * d, 0.0), below(apart ? above.size() : 0, 0.0);
  const jarf::Probes probes{centre.data(), upper.data(), lower.data(),
                            observed ? outputs.data() : nullptr, n};
  jarf::TreeDifferences(view, probes, above.data(), apart ? below.data() : nullptr).accumulate();
  for (std::size_t at = 0; at < above.size(); ++at) {
    const std::size_t i = at / (n_kept * d), j = at % d;
    const std::size_t c = observed ? outputs[i] : at / d % n_kept;
    const float* row = centre.data() + i * d;
    const double here = walked(view, row, j, row[j], c);
    const double up = walked(view, row, j, upper[i * d + j], c);
    const double down = walked(view, row, j, lower[i * d + j], c);
    const auto same = [](double a, double b) { return std::fabs(a - b) < 1e-9; };
    promise(same(above[at], apart ? up - here : up - down) &&
                (!apart || same(below[at], down - here)),
            "a difference is not that of two predictions");
  }
}

void predict(Dice& dice, const ForestArrays& forest, const std::vector<float>& rows) {
  const jarf::Forest view = forest.view();
  const std::size_t n = rows.size() / forest.n_features, n_trees = forest.roots.size();
  std::vector<double> sums(n * forest.n_outputs, 0.0), expected(sums);
  std::vector<std::int64_t> leaves(n * n_trees);
  std::vector<std::uint8_t> skip(n * n_trees);
  for (std::uint8_t& pair : skip) pair = dice.one_in(3);
  const bool skips = dice.one_in(2);
  jarf::add_predictions(view, rows.data(), n, skips ? skip.data() : nullptr, n, sums.data());
  jarf::find_leaves(view, rows.data(), n, leaves.data());
  for (std::size_t tree = 0; tree < n_trees; ++tree) {
    for (std::size_t row = 0; row < n; ++row) {
      const std::int64_t node = leaves[row * n_trees + tree] + forest.roots[tree];
      promise(forest.nodes.at(node).feature == -1, "a row did not end in a leaf");
      std::int32_t leaf;
      jarf::Predictor(view).leaves_of(view.nodes, forest.roots[tree],
                                      rows.data() + row * forest.n_features, 1, &leaf);
      promise(node == leaf, "a widened tree sends a row elsewhere");
      if (skips && skip[tree * n + row]) continue;
      for (std::size_t c = 0; c < forest.n_outputs; ++c) {
        expected[row * forest.n_outputs + c] +=
            forest.values[forest.nodes[leaf].child[0] * forest.n_outputs + c];
      }
    }
  }
  promise(jarf::all_finite(sums.data(), sums.size()), "a prediction is not finite");
  promise(sums == expected, "a prediction is not the sum of its leaves");
}

void fuzz_predictor(Dice& dice) {
  const ForestArrays forest = checked_forest(dice);
  predict(dice, forest, rows_of(dice, dice.below(20) * forest.n_features));
}

void fuzz_grower(Dice& dice) {
  const ForestArrays forest = jarf_tests::grow(dice, jarf_tests::Mode::plain);
  predict(dice, forest, rows_of(dice, dice.below(12) * forest.n_features));
}

// The matrix is written to between its check and the growth or during growth, or the processor
// flushes subnormal numbers to zero.
void fuzz_changed(Dice& dice) {
  using jarf_tests::Mode;
  const Mode modes[] = {Mode::changed, Mode::meddled, Mode::flushed};
  const ForestArrays forest = jarf_tests::grow(dice, modes[dice.below(3)]);
  predict(dice, forest, rows_of(dice, dice.below(12) * forest.n_features));
}

struct Kernel {
  const char* name;
  void (*fuzz)(Dice&);
  unsigned long long answered = 0, refused = 0, stopped = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t n_cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  Kernel kernels[] = {{"tree differences", fuzz_differences},
                      {"predictor", fuzz_predictor},
                      {"grower", fuzz_grower},
                      {"grower, X changed", fuzz_changed}};
  for (std::uint64_t seed = first; seed < first + n_cases; ++seed) {
    Kernel& kernel = kernels[seed % 4];
    Dice dice(seed);
    try {
      kernel.fuzz(dice);
      ++kernel.answered;
    } catch (const std::invalid_argument&) {
      ++kernel.refused;
    } catch (const jarf::NoRows&) {
      ++kernel.stopped;
    } catch (const std::exception& error) {
      std::printf("%s, seed %llu: %s\n", kernel.name, static_cast<unsigned long long>(seed),
                  error.what());
      return 1;
    }
  }
  for (const Kernel& kernel : kernels) {
    std::printf("%-17s %8llu answered, finite and as promised; %8llu rejected", kernel.name,
                kernel.answered, kernel.refused);
    if (kernel.stopped > 0) std::printf("; %8llu stopped: a side without rows", kernel.stopped);
    std::printf("\n");
  }
  return 0;
}
