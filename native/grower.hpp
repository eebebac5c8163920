// Growth of one tree. The grower keeps the rows of every node contiguous, asks the proposal for
// candidate directions and keeps the best split. It does not know where candidates come from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "forest.hpp"
#include "node_bins.hpp"
#include "packed_columns.hpp"
#include "projection.hpp"
#include "proposals.hpp"
#include "split_search.hpp"
#include "team.hpp"

namespace jarf {

// A grown tree. Nodes and projections are numbered from its own root. A leaf stores the index of
// its row of values or, if it is pure, -1 - class.
struct GrownTree {
  std::vector<Node> nodes;
  std::vector<double> weights;  // per node: training weight that reached it
  std::vector<double> gains;    // per node: decrease of impurity times weight; 0 in leaves
  std::vector<std::int32_t> starts{0};  // offset of each projection in the two arrays below
  std::vector<std::int32_t> features;
  std::vector<float> loadings;
  std::vector<double> values;
  std::vector<std::int32_t> leaves;  // per training row: its leaf; -1: not in the tree
  std::vector<double> bounds;  // per node: lower and upper bound; empty if unconstrained
};

// Fields are named after the estimators' parameters.
struct Limits {
  std::size_t max_depth;
  std::size_t max_leaf_nodes;  // 0: no limit, and the tree grows depth first
  std::size_t min_samples_split;
  std::size_t min_samples_leaf;
  double min_weight_fraction_leaf;
  double min_impurity_decrease;
  std::size_t histogram_from;  // node size from which the columns' bins are searched
  std::size_t sample_from;     // node size from which candidates get their own bins
  bool symmetric = false;      // one cut divides all nodes of a level: see symmetric.hpp
};

// Thrown when the caller asked to stop growing.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("growth was stopped") {}
};

// Thrown when the chosen split leaves a side without rows: the matrix was written to during growth,
// or the processor flushes subnormal numbers to zero.
struct NoRows : std::runtime_error {
  NoRows()
      : std::runtime_error(
            "a split left one side without rows: the training matrix changed while the tree grew, "
            "or the processor flushes subnormal numbers to zero; pass a copy of X, or divide "
            "columns of tiny numbers by their standard deviation") {}
};

template <class Target>
class Grower {
 public:
  // `rows`: the training rows of the tree. `should_stop` is called every few milliseconds. With
  // `keep_leaves`, the tree also records the leaf of each training row. The team fills the
  // histograms of large nodes.
  static GrownTree grow(const Columns& columns, Target& target, Proposal& proposal,
                        std::vector<std::uint32_t> rows, std::uint64_t seed, const Limits& limits,
                        std::function<bool()> should_stop, bool keep_leaves = false,
                        const Team& team = Team()) {
    Grower grower(columns, target, proposal, std::move(rows), seed, limits, should_stop, team);
    if (keep_leaves) grower.tree_.leaves.assign(columns.n_rows, -1);
    if (limits.max_leaf_nodes == 0) {
      grower.depth_first();
    } else {
      grower.best_first();
    }
    return std::move(grower.tree_);
  }

 private:
  struct Task {
    std::size_t begin, end;
    std::int32_t depth, memory, node;
  };
  struct Found {
    Split split;
    std::vector<std::int32_t> features;
    std::vector<float> loadings;
    std::int32_t memory = 0;
    double gain = 0.0;
    Direction direction() const { return {features.data(), loadings.data(), features.size()}; }
  };
  struct Open {
    Task task;
    Found found;
    BinSums bins;
    bool operator<(const Open& other) const {
      if (found.gain != other.found.gain) return found.gain < other.found.gain;
      return task.node > other.task.node;
    }
  };

  Grower(const Columns& columns, Target& target, Proposal& proposal,
         std::vector<std::uint32_t> rows, std::uint64_t seed, const Limits& limits,
         std::function<bool()> should_stop, const Team& team)
      : columns_(columns),
        target_(target),
        proposal_(proposal),
        rows_(std::move(rows)),
        rng_(seed),
        limits_(limits),
        should_stop_(std::move(should_stop)),
        team_(team),
        search_(target, limits.min_samples_leaf),
        block_(columns, rows_.size()),
        packed_(columns, rows_.size(), !columns.rotation && limits.max_leaf_nodes == 0),
        goes_left_(rows_.size()),
        right_(rows_.size()) {
    target_.set_min_share(limits.min_weight_fraction_leaf);
    min_gain_ = limits.min_impurity_decrease * target_.whole();
  }

  Task root() { return {0, rows_.size(), 0, 0, add_node()}; }

  void depth_first() {
    std::vector<Task> tasks{root()};
    Found found;
    while (!tasks.empty()) {
      const Task task = tasks.back();
      tasks.pop_back();
      if (!examine(task, found)) {
        make_leaf(task);
        continue;
      }
      const auto [left, right] = split(task, found);
      tasks.push_back(right);
      tasks.push_back(left);
    }
  }

  // Splits the node with the largest gain next, until there are enough leaves. A proposal's memory
  // is valid only for depth-first growth, so none is passed on.
  void best_first() {
    NodeBins node_bins(columns_, axes_with_bins(), target_.bin_width());
    if (node_bins.bytes() * (limits_.max_leaf_nodes + 1) <= kMaxBinBytes) node_bins_ = &node_bins;
    std::vector<Open> open;
    const Task first = root();
    std::size_t n_leaves = 1;
    consider(first, bins_of(first), open);
    while (!open.empty() && n_leaves < limits_.max_leaf_nodes) {
      std::pop_heap(open.begin(), open.end());
      Open best = std::move(open.back());
      open.pop_back();
      float lowest, highest;
      project(best.found.direction(), best.task, best_values_, lowest, highest);
      const auto [left, right] = split(best.task, best.found);
      if (++n_leaves == limits_.max_leaf_nodes) {
        for (const Task& task : {left, right}) enter(task), make_leaf(task);
        break;
      }
      auto [of_left, of_right] = bins_of_children(left, right, std::move(best.bins));
      consider(left, std::move(of_left), open);
      consider(right, std::move(of_right), open);
    }
    node_bins_ = nullptr;
  }

  void consider(Task task, BinSums bins, std::vector<Open>& open) {
    task.memory = 0;
    Found found;
    bins_ = bins.empty() ? nullptr : &bins;
    const bool splits = examine(task, found);
    bins_ = nullptr;
    make_leaf(task);
    if (splits) {
      open.push_back({task, std::move(found), std::move(bins)});
      std::push_heap(open.begin(), open.end());
    } else if (node_bins_) {
      node_bins_->recycle(std::move(bins));
    }
  }

  // The columns whose histograms are kept for whole nodes: the axes that every node tries.
  std::vector<std::uint32_t> axes_with_bins() const {
    if (!Target::kBinsAdd || !columns_.codes || columns_.rotation) return {};
    return proposal_.constant_axes();
  }

  bool wants_bins(const Task& task) const {
    const std::size_t n_rows = task.end - task.begin;
    return node_bins_ && node_bins_->bytes() > 0 && n_rows >= limits_.histogram_from &&
           n_rows >= 2 * limits_.min_samples_leaf &&
           static_cast<std::size_t>(task.depth) < limits_.max_depth;
  }

  BinSums bins_of(const Task& task) {
    return wants_bins(task) ? filled_bins(task) : BinSums();
  }

  BinSums filled_bins(const Task& task) {
    enter(task);
    const std::size_t n_rows = task.end - task.begin;
    return node_bins_->fill(
        rows_.data() + task.begin, n_rows, team_,
        [&](double* bin, std::size_t i) { target_.add_to_bin(bin, i); }, [&] { pause(n_rows); });
  }

  // Fills the bins of the smaller child and subtracts them from the parent's for the larger one.
  std::pair<BinSums, BinSums> bins_of_children(const Task& left, const Task& right,
                                               BinSums parent) {
    const bool left_is_smaller = left.end - left.begin <= right.end - right.begin;
    const Task& small = left_is_smaller ? left : right;
    const Task& large = left_is_smaller ? right : left;
    BinSums of_small, of_large;
    if (parent.empty() || !wants_bins(large)) {
      of_small = bins_of(small);
      of_large = bins_of(large);
      if (node_bins_) node_bins_->recycle(std::move(parent));
    } else {
      of_small = filled_bins(small);
      node_bins_->subtract(parent, of_small);
      of_large = std::move(parent);
      if (!wants_bins(small)) node_bins_->recycle(std::exchange(of_small, BinSums()));
    }
    if (left_is_smaller) return {std::move(of_small), std::move(of_large)};
    return {std::move(of_large), std::move(of_small)};
  }

  void pause(std::size_t n_rows) {
    work_ += 64 + n_rows;
    if (work_ < (1U << 16)) return;
    work_ = 0;
    if (should_stop_()) throw Stopped();
  }

  void enter(const Task& task) {
    target_.enter(rows_.data() + task.begin, task.end - task.begin);
    tree_.weights[task.node] = target_.weight();
    if constexpr (kIsMonotone<Target>) target_.set_bounds(tree_.bounds.data() + 2 * task.node);
  }

  // Finds the best split among the proposal's candidates. Returns false if the node must be a leaf.
  bool examine(const Task& task, Found& found) {
    const std::size_t n_rows = task.end - task.begin;
    const std::uint32_t* rows = rows_.data() + task.begin;
    enter(task);
    if (n_rows < limits_.min_samples_split || n_rows < 2 * limits_.min_samples_leaf ||
        target_.is_pure() ||
        static_cast<std::size_t>(task.depth) >= limits_.max_depth) {
      return false;
    }
    if (columns_.rotation && !block_.holds(task.begin, task.end) && block_.can_hold(n_rows)) {
      block_.make(rows_.data(), task.begin, task.end, [&](std::size_t work) { pause(work); });
    }
    packed_.enter(rows_.data(), task.begin, task.end);
    found.split = Split();
    const NodeColumns values = packed_.find(rows_.data(), task.begin, task.end);
    proposal_.begin({values, rows, n_rows, task.memory, target_.labels(), &rng_});
    Direction candidate;
    while (proposal_.next(candidate)) {
      pause(n_rows);
      const Verdict verdict = try_candidate(candidate, task, found.split);
      if (verdict == Verdict::constant) proposal_.was_constant();
      if (verdict != Verdict::better) continue;
      found.features.assign(candidate.features, candidate.features + candidate.size);
      found.loadings.assign(candidate.loadings, candidate.loadings + candidate.size);
    }
    found.memory = proposal_.memory();
    found.gain = std::max(0.0, found.split.score - target_.score());
    if (Target::kMustGain && !(found.gain > 0.0)) return false;
    return found.split.found && found.gain >= min_gain_ * (1.0 - 1e-12);
  }

  enum class Verdict { constant, worse, better };

  Verdict try_candidate(const Direction& candidate, const Task& task, Split& best) {
    if constexpr (kIsMonotone<Target>) {
      if (!target_.allows(candidate)) return Verdict::constant;
      target_.face(candidate);
    }
    const std::size_t n_rows = task.end - task.begin;
    const std::size_t feature = candidate.features[0];
    const bool is_there = bins_ && candidate.is_axis() && node_bins_->has(feature);
    if (is_there || (candidate.is_axis() && bins_pay(feature, n_rows))) {
      const float* lowest = columns_.lowest + feature * kMaxBins;
      const float* highest = columns_.highest + feature * kMaxBins;
      const std::size_t n_bins = columns_.bins(feature);
      const bool better =
          is_there ? search_.filled(node_bins_->sums(*bins_, feature),
                                    node_bins_->counts(*bins_, feature), n_rows, n_bins, lowest,
                                    highest, best)
                   : search_.binned(columns_.code_column(feature), rows_.data() + task.begin,
                                    n_rows, n_bins, lowest, highest, best);
      if (better) return Verdict::better;
      if (search_.n_filled() > 1) return Verdict::worse;
      if (columns_.bins_are_values(feature)) return Verdict::constant;
    } else if (has_values(candidate) && !is_large(candidate, n_rows)) {
      const float* values = columns_.lowest + feature * kMaxBins;
      const bool better = search_.coded(columns_.code_column(feature), rows_.data() + task.begin,
                                        n_rows, values, best);
      if (better) return Verdict::better;
      return search_.n_filled() > 1 ? Verdict::worse : Verdict::constant;
    }
    float lowest, highest;
    project(candidate, task, values_, lowest, highest);
    if (!(lowest < highest) || !std::isfinite(highest - lowest)) return Verdict::constant;
    const bool large = is_large(candidate, n_rows);
    const bool better = large ? search_.directed(values_.data(), n_rows, lowest, highest, best)
                              : search_.exact(values_.data(), n_rows, lowest, highest, best);
    if (!better) return Verdict::worse;
    std::swap(values_, best_values_);
    return Verdict::better;
  }

  // Whether a candidate is searched by bins made for it. Columns with bins of their own are searched
  // exactly until those bins take over.
  bool is_large(const Direction& candidate, std::size_t n_rows) const {
    const bool has_bins = columns_.codes && candidate.is_axis();
    const std::size_t from =
        has_bins ? std::max(limits_.sample_from, limits_.histogram_from) : limits_.sample_from;
    return n_rows >= from && search_.bins_pay(n_rows);
  }

  // Whether a candidate is a column whose bins are single values.
  bool has_values(const Direction& candidate) const {
    return candidate.is_axis() && columns_.codes &&
           columns_.bins_are_values(candidate.features[0]);
  }

  // Bins of single values are exact, so they pay off whenever there are fewer bins than rows.
  bool bins_pay(std::size_t feature, std::size_t n_rows) const {
    if (!columns_.codes) return false;
    const std::size_t cells = columns_.bins(feature) * target_.bin_width();
    if (columns_.bins_are_values(feature)) return cells <= 2 * n_rows;
    return n_rows >= limits_.histogram_from && cells <= 4 * n_rows;
  }

  // The rows' values along a direction, and their range. An axis of a rotated tree is one of its
  // rotated columns. Plain axes of large nodes are searched by bins, so `values` grows as needed.
  void project(const Direction& direction, const Task& task, std::vector<float>& values,
               float& lowest, float& highest) const {
    const std::size_t n_rows = task.end - task.begin;
    if (values.size() < n_rows) values.resize(n_rows);
    float* out = values.data();
    if (columns_.rotation && block_.holds(task.begin, task.end)) {
      block_.read(direction.features[0], task.begin, task.end, out);
    } else {
      const Direction of_columns =
          columns_.rotation ? columns_.rotation->direction(direction.features[0]) : direction;
      const NodeColumns from = packed_.find(rows_.data(), task.begin, task.end);
      project_rows(*from.columns, of_columns, from.rows, n_rows, out);
    }
    range_of(out, n_rows, lowest, highest);
  }

  // Turns the node into an inner node and divides its rows between two children, in the same order.
  // Values along anything but a column of the matrix are in `best_values_`.
  std::pair<Task, Task> split(const Task& task, const Found& found) {
    const std::uint32_t* rows = rows_.data() + task.begin;
    const std::size_t n_rows = task.end - task.begin;
    const float threshold = found.split.threshold;
    const Direction direction = found.direction();
    const bool is_column = direction.is_axis() && !columns_.rotation;
    const float* axis = is_column ? columns_.column(direction.features[0]) : nullptr;
    for (std::size_t i = 0; i < n_rows; ++i) {
      goes_left_[i] = (axis ? axis[rows[i]] : best_values_[i]) <= threshold;
    }
    const std::size_t n_left = partition(rows_.data() + task.begin, n_rows);
    if (n_left == 0 || n_left == n_rows) throw NoRows();
    if (columns_.rotation) partition(block_.places() + task.begin, n_rows);
    if (std::uint32_t* places = packed_.places(task.begin, task.end)) partition(places, n_rows);
    tree_.gains[task.node] = found.gain;
    const std::int32_t feature = add_projection(direction);
    const std::size_t middle = task.begin + n_left;
    const Task left{task.begin, middle, task.depth + 1, found.memory, add_node()};
    const Task right{middle, task.end, task.depth + 1, found.memory, add_node()};
    tree_.nodes[task.node] = {feature, threshold, {left.node, right.node}};
    if constexpr (kIsMonotone<Target>) bound_children(task, direction, left, right);
    return {left, right};
  }

  // Children inherit the bounds of their parent. For a constrained column, the midpoint of the
  // children's values separates their bounds.
  void bound_children(const Task& parent, const Direction& direction, const Task& left,
                      const Task& right) {
    double* bounds = tree_.bounds.data();
    for (const Task& child : {left, right}) {
      std::copy_n(bounds + 2 * parent.node, 2, bounds + 2 * child.node);
    }
    const int sign = target_.sign_of(direction);
    if (sign == 0) return;
    enter(left);
    const double of_left = target_.value();
    enter(right);
    const double middle = 0.5 * (of_left + target_.value());
    bounds[2 * left.node + (sign > 0)] = middle;
    bounds[2 * right.node + (sign < 0)] = middle;
  }

  // Moves the entries of rows that go left to the front, in the same order; returns their number.
  std::size_t partition(std::uint32_t* entries, std::size_t n_rows) {
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::uint32_t entry = entries[i];
      entries[n_left] = entry;
      right_[n_right] = entry;
      n_left += goes_left_[i];
      n_right += !goes_left_[i];
    }
    std::copy(right_.begin(), right_.begin() + n_right, entries + n_left);
    return n_left;
  }

  std::int32_t add_projection(const Direction& direction) {
    if (direction.is_axis()) return direction.features[0];
    tree_.features.insert(tree_.features.end(), direction.features,
                          direction.features + direction.size);
    if (tree_.features.size() > INT32_MAX) {
      throw std::length_error("a tree has more than 2**31 loadings: limit its depth or leaves");
    }
    tree_.loadings.insert(tree_.loadings.end(), direction.loadings,
                          direction.loadings + direction.size);
    tree_.starts.push_back(static_cast<std::int32_t>(tree_.features.size()));
    return -static_cast<std::int32_t>(tree_.starts.size());
  }

  std::int32_t add_node() {
    tree_.nodes.push_back({-1, 0.0f, {0, 0}});
    tree_.weights.push_back(0.0);
    tree_.gains.push_back(0.0);
    if constexpr (kIsMonotone<Target>) {
      const double most = std::numeric_limits<double>::infinity();
      tree_.bounds.insert(tree_.bounds.end(), {-most, most});
    }
    return static_cast<std::int32_t>(tree_.nodes.size()) - 1;
  }

  // Requires that the target still holds the node's rows.
  void make_leaf(const Task& task) {
    const std::int32_t value = target_.leaf(tree_.values);
    tree_.nodes[task.node] = {-1, 0.0f, {value, value}};
    if (tree_.leaves.empty()) return;
    for (std::size_t i = task.begin; i < task.end; ++i) tree_.leaves[rows_[i]] = task.node;
  }

  const Columns& columns_;
  Target& target_;
  Proposal& proposal_;
  std::vector<std::uint32_t> rows_;
  Rng rng_;
  Limits limits_;
  std::function<bool()> should_stop_;
  Team team_;
  SplitSearch<Target> search_;
  RotatedBlock block_;
  PackedColumns packed_;
  std::vector<float> values_, best_values_;
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::uint32_t> right_;
  std::size_t work_ = 0;
  double min_gain_ = 0.0;
  static constexpr std::size_t kMaxBinBytes = std::size_t{1} << 28;
  NodeBins* node_bins_ = nullptr;  // null: histograms are filled for each candidate
  const BinSums* bins_ = nullptr;  // of the current node, or null
  GrownTree tree_;
};

}  // namespace jarf
