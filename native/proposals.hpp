// Proposals of candidate directions. The grower asks a proposal for one candidate after another and
// knows nothing else about it. This file has plain axes, sparse random directions and sequences of
// several proposals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "packed_columns.hpp"
#include "rng.hpp"
#include "target.hpp"

namespace jarf {

// The data of a node that a proposal may use.
struct NodeView {
  NodeColumns values;         // values of its rows
  const std::uint32_t* rows;  // row indices in the training matrix
  std::size_t n_rows;
  std::int32_t memory;  // result of `memory()` at the parent; 0 at the root
  NodeLabels labels;
  Rng* rng;
};

// The proposal of one tree. It counts its own candidates: one that is constant in the node is
// reported back by `was_constant` and does not count.
class Proposal {
 public:
  virtual ~Proposal() = default;
  virtual void begin(const NodeView& node) = 0;
  virtual bool next(Direction& candidate) = 0;  // false: no more candidates in this node
  virtual void was_constant() {}
  virtual std::int32_t memory() const { return 0; }  // passed on to both children
  // The columns, ascending, that every node tries as axes; empty if nodes draw them at random.
  virtual std::vector<std::uint32_t> constant_axes() const { return {}; }
};

// A proposal as specified from Python. Every tree of a forest creates its own proposal from it.
class ProposalSpec {
 public:
  virtual ~ProposalSpec() = default;
  // Maximum nesting depth, limited because creating and freeing proposals recurses.
  static constexpr std::size_t kMaxNesting = 16;
  std::size_t nesting = 1;
  virtual std::unique_ptr<Proposal> make(const Columns& columns) const = 0;
};

// Features with chances, which can be drawn, removed and put back in logarithmic time: a binary tree
// in which every node stores the sum of its two children.
class ChanceTree {
 public:
  explicit ChanceTree(const std::vector<double>& chances) : chances_(chances) {
    while (n_leaves_ < chances.size()) n_leaves_ *= 2;
    sums_.assign(2 * n_leaves_, 0.0);
    std::copy(chances.begin(), chances.end(), sums_.begin() + n_leaves_);
    for (std::size_t at = n_leaves_ - 1; at > 0; --at) add_up(at);
  }

  // The feature at a share of the sum of all chances, or -1 if no feature with a chance is left.
  std::int32_t find(double share) const {
    if (!(sums_[1] > 0.0)) return -1;
    double mark = share * sums_[1];
    std::size_t at = 1;
    while (at < n_leaves_) {
      const double left = sums_[2 * at], right = sums_[2 * at + 1];
      const bool goes_right = !(mark < left) & (right > 0.0);
      mark -= goes_right ? left : 0.0;
      at = 2 * at + goes_right;
    }
    return static_cast<std::int32_t>(at - n_leaves_);
  }

  void remove(std::int32_t feature) { set(feature, 0.0); }
  void put_back(std::int32_t feature) { set(feature, chances_[feature]); }

 private:
  void set(std::int32_t feature, double chance) {
    std::size_t at = n_leaves_ + static_cast<std::size_t>(feature);
    sums_[at] = chance;
    while (at /= 2) add_up(at);
  }
  void add_up(std::size_t at) { sums_[at] = sums_[2 * at] + sums_[2 * at + 1]; }

  std::vector<double> chances_, sums_;  // the root is sums_[1], feature j is sums_[n_leaves_ + j]
  std::size_t n_leaves_ = 1;
};

// Draws features without replacement and remembers which are constant in the node. Its order is:
// constants, features drawn in this node, the rest. A node only reorders entries behind the
// constants it inherits, so a tree grown depth first needs to pass on only their number.
class FeaturePool {
 public:
  // With `chances`, features are drawn in proportion to them; features of chance 0 are never drawn.
  FeaturePool(std::size_t n_features, const std::vector<double>& chances)
      : order_(n_features), place_(n_features), chances_(chances), tree_(chances) {
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
  }

  // The constants inherited by a node are among the features drawn in the node before it.
  void begin(std::int32_t n_constant) {
    n_constant_ = static_cast<std::size_t>(n_constant);
    put_back();
    ++visit_;
  }
  // Puts drawn features back, except constant ones.
  void put_back() {
    if (!chances_.empty()) {
      for (std::size_t at = n_constant_; at < front_; ++at) tree_.put_back(order_[at]);
    }
    front_ = n_constant_;
  }
  std::size_t n_left() const { return order_.size() - front_; }
  std::int32_t n_constant() const { return static_cast<std::int32_t>(n_constant_); }

  // All features that can be drawn.
  std::vector<std::uint32_t> possible() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t feature = 0; feature < order_.size(); ++feature) {
      if (chances_.empty() || chances_[feature] > 0.0) found.push_back(feature);
    }
    return found;
  }

  // The next feature, or -1 if none is left.
  std::int32_t draw(Rng& rng) {
    if (front_ == order_.size()) return -1;
    std::size_t at;
    if (chances_.empty()) {
      at = front_ + rng.below(static_cast<std::uint32_t>(n_left()));
    } else {
      const std::int32_t feature = tree_.find(rng.uniform());
      if (feature < 0) return -1;
      tree_.remove(feature);
      at = place_[feature];
    }
    exchange(at, front_);
    return order_[front_++];
  }

  // The next feature that varies in the node, or -1. A feature found to vary is not checked again
  // in this node; `begin` resets this.
  std::int32_t draw_varying(const NodeView& node) {
    seen_.resize(order_.size(), 0);
    std::int32_t feature;
    while ((feature = draw(*node.rng)) >= 0) {
      if (seen_[feature] == visit_) break;
      const float* column = node.values.columns->column(feature);
      const std::uint32_t* rows = node.values.rows;
      std::size_t i = 1;
      while (i < node.n_rows && column[rows[i]] == column[rows[0]]) ++i;
      if (i < node.n_rows) {
        seen_[feature] = visit_;
        break;
      }
      last_was_constant();
    }
    return feature;
  }

  // Marks the last drawn feature as constant in this node and below.
  void last_was_constant() { exchange(n_constant_++, front_ - 1); }

 private:
  void exchange(std::size_t a, std::size_t b) {
    std::swap(order_[a], order_[b]);
    place_[order_[a]] = static_cast<std::uint32_t>(a);
    place_[order_[b]] = static_cast<std::uint32_t>(b);
  }

  std::vector<std::int32_t> order_;
  std::vector<std::uint32_t> place_;
  std::vector<double> chances_;
  ChanceTree tree_;
  std::size_t n_constant_ = 0, front_ = 0;
  std::vector<std::uint64_t> seen_;  // visit in which each feature was last found to vary
  std::uint64_t visit_ = 0;
};

// Plain axes, as in a random forest.
class Axes : public Proposal {
 public:
  Axes(std::size_t n_features, std::size_t n_candidates, const std::vector<double>& chances)
      : pool_(n_features, chances), n_candidates_(n_candidates) {}

  void begin(const NodeView& node) override {
    rng_ = node.rng;
    n_found_ = 0;
    pool_.begin(node.memory);
  }
  bool next(Direction& candidate) override {
    if (n_found_ == n_candidates_) return false;
    feature_ = pool_.draw(*rng_);
    if (feature_ < 0) return false;
    ++n_found_;
    candidate = {&feature_, &one_, 1};
    return true;
  }
  void was_constant() override {
    --n_found_;
    pool_.last_was_constant();
  }
  std::int32_t memory() const override { return pool_.n_constant(); }
  std::vector<std::uint32_t> constant_axes() const override {
    std::vector<std::uint32_t> all = pool_.possible();
    if (n_candidates_ < all.size()) all.clear();
    return all;
  }

 private:
  FeaturePool pool_;
  std::size_t n_candidates_, n_found_ = 0;
  std::int32_t feature_ = -1;
  float one_ = 1.0f;
  Rng* rng_ = nullptr;
};

// Sparse random directions (sparse projection oblique random forests, SPORF): a few features, each
// with a loading of plus or minus its scale. The number of features follows a zero-truncated
// Poisson distribution. Features that are constant in the node are skipped. A feature of scale 0 is
// only used as a plain axis, never in a sum. If all sums are constant, plain axes follow, so that a
// node that can be split never becomes a leaf. Draws are weighted by `chances`.
class SparseRandom : public Proposal {
 public:
  SparseRandom(std::size_t n_candidates, double mean_size,
               const std::vector<float>& scales, const std::vector<double>& chances)
      : pool_(scales.size(), chances),
        scales_(scales),
        n_candidates_(n_candidates) {
    const double most = mean_size + 10.0 * std::sqrt(mean_size) + 10.0;
    double sum = 0.0, log_factorial = 0.0;  // std::lgamma would write to a libm global
    for (std::size_t size = 1; size <= scales.size() && static_cast<double>(size) <= most; ++size) {
      const double k = static_cast<double>(size);
      log_factorial += std::log(k);
      sum += std::exp(k * std::log(mean_size) - mean_size - log_factorial);
      size_chances_.push_back(sum);
    }
  }

  void begin(const NodeView& node) override {
    node_ = node;
    n_found_ = n_tried_ = 0;
    pool_.begin(node.memory);
  }

  bool next(Direction& candidate) override {
    if (n_found_ == n_candidates_) return false;
    const std::size_t enough = 2 * n_candidates_ + 8;
    const bool desperate = n_tried_ >= enough;
    if (desperate && n_found_ > 0) return false;
    if (n_tried_ <= enough) pool_.put_back();
    const std::size_t size = desperate ? 1 : draw_size();
    features_.clear();
    loadings_.clear();
    while (features_.size() < size) {
      const std::int32_t feature = pool_.draw_varying(node_);
      if (feature < 0) break;
      if (scales_[feature] == 0.0f && !features_.empty()) continue;  // only as an axis
      features_.push_back(feature);
      if (scales_[feature] == 0.0f) break;
      loadings_.push_back((node_.rng->next() >> 63) ? scales_[feature] : -scales_[feature]);
    }
    if (features_.empty()) return false;
    if (features_.size() == 1) loadings_.assign(1, 1.0f);
    ++n_found_;
    ++n_tried_;
    candidate = {features_.data(), loadings_.data(), features_.size()};
    return true;
  }
  void was_constant() override { --n_found_; }
  std::int32_t memory() const override { return pool_.n_constant(); }

 private:
  std::size_t draw_size() {
    const double mark = node_.rng->uniform() * size_chances_.back();
    const auto found = std::upper_bound(size_chances_.begin(), size_chances_.end(), mark);
    return 1 + std::min<std::size_t>(found - size_chances_.begin(), size_chances_.size() - 1);
  }

  FeaturePool pool_;
  std::vector<float> scales_;
  std::size_t n_candidates_, n_found_ = 0, n_tried_ = 0;
  std::vector<double> size_chances_;
  std::vector<std::int32_t> features_;
  std::vector<float> loadings_;
  NodeView node_{};
};

// Several proposals in turn in every node. Only the first one's memory is kept.
class Sequence : public Proposal {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Proposal>> parts) : parts_(std::move(parts)) {}

  void begin(const NodeView& node) override {
    node_ = node;
    at_ = 0;
    parts_[0]->begin(node_);
  }
  bool next(Direction& candidate) override {
    while (!parts_[at_]->next(candidate)) {
      if (at_ + 1 == parts_.size()) return false;
      NodeView without_memory = node_;
      without_memory.memory = 0;
      parts_[++at_]->begin(without_memory);
    }
    return true;
  }
  void was_constant() override { parts_[at_]->was_constant(); }
  std::int32_t memory() const override { return parts_[0]->memory(); }
  std::vector<std::uint32_t> constant_axes() const override { return parts_[0]->constant_axes(); }

 private:
  std::vector<std::unique_ptr<Proposal>> parts_;
  NodeView node_{};
  std::size_t at_ = 0;
};

// A proposal for nodes with at least `min_rows` rows; smaller nodes skip it.
class LargeNodes : public Proposal {
 public:
  LargeNodes(std::size_t min_rows, std::unique_ptr<Proposal> inner)
      : min_rows_(min_rows), inner_(std::move(inner)) {}

  void begin(const NodeView& node) override {
    active_ = node.n_rows >= min_rows_;
    if (active_) inner_->begin(node);
  }
  bool next(Direction& candidate) override { return active_ && inner_->next(candidate); }
  void was_constant() override { inner_->was_constant(); }

 private:
  std::size_t min_rows_;
  std::unique_ptr<Proposal> inner_;
  bool active_ = false;
};

// --- as they cross the border ------------------------------------------------------------------

struct AxesSpec : ProposalSpec {
  std::size_t n_candidates;
  std::vector<double> chances;  // empty: uniform
  std::unique_ptr<Proposal> make(const Columns& columns) const override {
    if (!chances.empty() && chances.size() != columns.n_columns) {
      throw std::invalid_argument("chances must be empty or have one entry per column");
    }
    return std::make_unique<Axes>(columns.n_columns, n_candidates, chances);
  }
};

struct SparseRandomSpec : ProposalSpec {
  std::size_t n_candidates;
  double mean_size;
  std::vector<float> scales;
  std::vector<double> chances;  // empty: uniform
  std::unique_ptr<Proposal> make(const Columns& columns) const override {
    if (scales.size() != columns.n_columns) {
      throw std::invalid_argument("scales must have one entry per column");
    }
    if (!chances.empty() && chances.size() != columns.n_columns) {
      throw std::invalid_argument("chances must be empty or have one entry per column");
    }
    return std::make_unique<SparseRandom>(n_candidates, mean_size, scales, chances);
  }
};

struct LargeNodesSpec : ProposalSpec {
  std::size_t min_rows;
  std::shared_ptr<ProposalSpec> inner;
  std::unique_ptr<Proposal> make(const Columns& columns) const override {
    return std::make_unique<LargeNodes>(min_rows, inner->make(columns));
  }
};

struct SequenceSpec : ProposalSpec {
  std::vector<std::shared_ptr<ProposalSpec>> parts;
  std::unique_ptr<Proposal> make(const Columns& columns) const override {
    std::vector<std::unique_ptr<Proposal>> made;
    for (const auto& part : parts) made.push_back(part->make(columns));
    return std::make_unique<Sequence>(std::move(made));
  }
};

}  // namespace jarf
