// Canonical correlation directions (canonical correlation forests, CCF): in every node, the
// directions within a few features that correlate best with the labels.
//
// With one indicator per class, the canonical correlations of features and labels are solutions of
// B a = rho^2 S a, where S is the node's scatter matrix and B the scatter between its class means.
// With one response or two classes, B has rank one; otherwise it is the sum of such matrices. Both
// cases are solved in the basis of the correlation matrix's Cholesky factor, which leaves out
// constant features and features that depend linearly on those before them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "proposals.hpp"

namespace jarf {

// LAPACK's dsyev as exported by SciPy.
using Dsyev = void (*)(char* jobz, char* uplo, int* n, double* a, int* lda, double* w,
                       double* work, int* lwork, int* info);

struct CanonicalOptions {
  std::size_t n_features;
  bool resample;               // the projection bootstrap
  std::size_t max_rows;        // rows drawn at most; 0: as many as the node has
  std::size_t max_components;  // maximum number of components tried; 0: all
  Dsyev dsyev;
};

class CanonicalCorrelation : public Proposal {
 public:
  CanonicalCorrelation(const Columns& columns, const CanonicalOptions& options,
                       const std::vector<double>& chances)
      : pool_(columns.n_columns, chances),
        n_features_(std::min(options.n_features, columns.n_columns)),
        resample_(options.resample),
        max_rows_(options.max_rows),
        max_components_(options.max_components),
        dsyev_(options.dsyev) {}

  void begin(const NodeView& node) override {
    pool_.begin(node.memory);
    components_.clear();
    n_given_ = n_good_ = 0;
    draw_features(node);
    if (features_.empty()) return;
    choose_rows(node);
    scatter(node);
    if (resample_ && degenerate_) {
      all_rows(node);
      scatter(node);
    }
    solve();
  }

  // Yields the components, best first, or the features themselves if every component is constant.
  bool next(Direction& candidate) override {
    const std::size_t p = features_.size();
    if (p == 0) return false;
    const std::size_t n_components = components_.size() / p;
    if (n_given_ < n_components) {
      candidate = {features_.data(), components_.data() + n_given_ * p, p};
    } else if (n_good_ == 0 && n_given_ < n_components + p) {
      candidate = {features_.data() + (n_given_ - n_components), &one_, 1};
    } else {
      return false;
    }
    ++n_given_;
    ++n_good_;
    return true;
  }
  void was_constant() override { --n_good_; }
  std::int32_t memory() const override { return pool_.n_constant(); }

 private:
  void draw_features(const NodeView& node) {
    features_.clear();
    while (features_.size() < n_features_) {
      const std::int32_t feature = pool_.draw_varying(node);
      if (feature < 0) break;
      features_.push_back(feature);
    }
  }

  void all_rows(const NodeView& node) {
    chosen_.resize(node.n_rows);
    for (std::size_t i = 0; i < node.n_rows; ++i) chosen_[i] = static_cast<std::uint32_t>(i);
  }

  // Projection bootstrap: directions come from a resample, the split from all rows.
  void choose_rows(const NodeView& node) {
    all_rows(node);
    if (!resample_ || node.n_rows < 3) return;
    if (max_rows_ > 0 && node.n_rows > max_rows_) chosen_.resize(max_rows_);
    for (std::uint32_t& at : chosen_) at = node.rng->below(static_cast<std::uint32_t>(node.n_rows));
  }

  // Computes means, standard deviations, correlations and the scatter of standardised features with
  // the labels. `gathered_` stores the features of each chosen row together, so that sums over rows
  // vectorise.
  void scatter(const NodeView& node) {
    switch (features_.size()) {  // loops of known length are faster
      case 2: return scatter_of<2>(node);
      case 3: return scatter_of<3>(node);
      case 4: return scatter_of<4>(node);
      case 5: return scatter_of<5>(node);
      case 6: return scatter_of<6>(node);
      case 7: return scatter_of<7>(node);
      case 8: return scatter_of<8>(node);
      default: return scatter_of<0>(node);
    }
  }

  // For `kFeatures` features; 0: any number.
  template <std::size_t kFeatures>
  void scatter_of(const NodeView& node) {
    gather<kFeatures>(node);
    standardise<kFeatures>();
    correlate<kFeatures>();
    degenerate_ = *std::max_element(deviations_.begin(), deviations_.end()) <= 0.0;
    if (node.labels.classes) {
      class_means<kFeatures>(node);
    } else {
      response_sums<kFeatures>(node);
    }
  }

  template <std::size_t kFeatures>
  std::size_t n_drawn() const {
    return kFeatures > 0 ? kFeatures : features_.size();
  }

  // Fills the lower triangle; the solver reads nothing else.
  template <std::size_t kFeatures>
  void correlate() {
    const std::size_t p = n_drawn<kFeatures>(), n = chosen_.size();
    correlations_.assign(p * p, 0.0);
    double local[kFeatures > 0 ? kFeatures * kFeatures : 1] = {};  // may stay in registers
    double* sums = kFeatures > 0 ? local : correlations_.data();
    for (std::size_t i = 0; i < n; ++i) {
      const double* x = gathered_.data() + i * p;
      for (std::size_t a = 0; a < p; ++a) {
        for (std::size_t b = 0; b <= a; ++b) sums[a * p + b] += x[a] * x[b];
      }
    }
    if (kFeatures > 0) std::copy_n(local, kFeatures * kFeatures, correlations_.data());
  }

  template <std::size_t kFeatures>
  void gather(const NodeView& node) {
    const std::size_t p = n_drawn<kFeatures>(), n = chosen_.size();
    gathered_.resize(p * n);
    roots_.resize(n);
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      total += roots_[i] = node.labels.weights[node.labels.at(chosen_[i])];
    }
    // If all hessians are zero, rows are weighted equally.
    if (!(total > 0.0)) {
      std::fill(roots_.begin(), roots_.end(), 1.0);
      total = static_cast<double>(n);
    }
    for (double& root : roots_) root = std::sqrt(root / total);
    for (std::size_t j = 0; j < p; ++j) {
      const float* column = node.values.columns->column(features_[j]);
      double* x = gathered_.data() + j;
      for (std::size_t i = 0; i < n; ++i) x[i * p] = column[node.values.rows[chosen_[i]]];
    }
  }

  // Maps x to (x - mean) / deviation * sqrt(weight / total); zero if a feature is constant.
  template <std::size_t kFeatures>
  void standardise() {
    const std::size_t p = n_drawn<kFeatures>(), n = chosen_.size();
    means_.assign(p, 0.0);
    deviations_.assign(p, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const double* x = gathered_.data() + i * p;
      const double weight = roots_[i] * roots_[i];
      for (std::size_t j = 0; j < p; ++j) means_[j] += weight * x[j];
    }
    for (std::size_t i = 0; i < n; ++i) {
      double* x = gathered_.data() + i * p;
      for (std::size_t j = 0; j < p; ++j) {
        x[j] = roots_[i] * (x[j] - means_[j]);
        deviations_[j] += x[j] * x[j];
      }
    }
    scales_.assign(p, 0.0);
    for (std::size_t j = 0; j < p; ++j) {
      const double deviation = std::sqrt(deviations_[j]);
      const bool varies = deviation > 1e-12 * std::fabs(means_[j]);
      deviations_[j] = varies ? deviation : 0.0;
      scales_[j] = varies ? 1.0 / deviation : 0.0;
    }
    for (std::size_t i = 0; i < n; ++i) {
      double* x = gathered_.data() + i * p;
      for (std::size_t j = 0; j < p; ++j) x[j] *= scales_[j];
    }
  }

  // One row per class: its mean in standardised features, times the square root of its share.
  template <std::size_t kFeatures>
  void class_means(const NodeView& node) {
    const std::size_t p = n_drawn<kFeatures>(), n = chosen_.size(), k = node.labels.n_classes;
    links_.assign(k * p, 0.0);
    shares_.assign(k, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t c = node.labels.classes[chosen_[i]];
      const double* x = gathered_.data() + i * p;
      shares_[c] += roots_[i] * roots_[i];
      for (std::size_t j = 0; j < p; ++j) links_[c * p + j] += roots_[i] * x[j];
    }
    std::size_t n_seen = 0;
    for (std::size_t c = 0; c < k; ++c) {
      if (!(shares_[c] > 0.0)) continue;
      ++n_seen;
      for (std::size_t j = 0; j < p; ++j) links_[c * p + j] /= std::sqrt(shares_[c]);
    }
    degenerate_ = degenerate_ || n_seen < 2;
    n_components_ = std::min(p, n_seen > 0 ? n_seen - 1 : 0);
  }

  // One row per response: its scatter with the standardised features. Multiple responses are
  // divided by their standard deviations, so that their units do not matter.
  template <std::size_t kFeatures>
  void response_sums(const NodeView& node) {
    const std::size_t p = n_drawn<kFeatures>(), n = chosen_.size(), k = node.labels.n_responses;
    links_.assign(k * p, 0.0);
    std::size_t n_varying = 0;
    for (std::size_t c = 0; c < k; ++c) {
      const auto response = [&](std::size_t i) {
        return node.labels.responses[node.labels.at(chosen_[i]) * k + c];
      };
      double mean = 0.0, squares = 0.0;
      for (std::size_t i = 0; i < n; ++i) mean += roots_[i] * roots_[i] * response(i);
      double* links = links_.data() + c * p;
      for (std::size_t i = 0; i < n; ++i) {
        const double y = roots_[i] * (response(i) - mean);
        const double* x = gathered_.data() + i * p;
        squares += y * y;
        for (std::size_t j = 0; j < p; ++j) links[j] += y * x[j];
      }
      if (!(squares > 0.0 && std::isfinite(squares))) {
        std::fill_n(links, p, 0.0);
        continue;
      }
      ++n_varying;
      for (std::size_t j = 0; k > 1 && j < p; ++j) links[j] /= std::sqrt(squares);
    }
    degenerate_ = degenerate_ || n_varying == 0;
    n_components_ = std::min(p, std::max<std::size_t>(1, n_varying));
  }

  // Eigenvalues in ascending order; eigenvectors replace the matrix, one per row.
  bool eigen(std::vector<double>& matrix, int n, std::vector<double>& values) {
    values.resize(n);
    int size = std::max(1, 34 * n), info = 0;
    work_.resize(size);
    char vectors = 'V', upper = 'U';
    dsyev_(&vectors, &upper, &n, matrix.data(), &n, values.data(), work_.data(), &size, &info);
    return info == 0;
  }

  void solve() {
    const std::size_t p = features_.size(), n_links = links_.size() / p;
    if (degenerate_) return;
    factorise();
    const std::size_t rank = kept_.size();
    if (rank == 0) return;  // a column changed while the tree grew; LAPACK forbids size 0
    whitened_.resize(n_links * rank);
    for (std::size_t c = 0; c < n_links; ++c) {
      double* whitened = whitened_.data() + c * rank;
      for (std::size_t r = 0; r < rank; ++r) {
        double rest = links_[c * p + kept_[r]];
        for (std::size_t q = 0; q < r; ++q) rest -= factor_[r * p + q] * whitened[q];
        whitened[r] = rest / factor_[r * p + r];
      }
    }
    if (n_components_ == 1) {  // links have rank one: any of them is the component
      keep(whitened_.data() + largest_row(whitened_, rank) * rank);
      return;
    }
    between_.assign(rank * rank, 0.0);
    for (std::size_t c = 0; c < n_links; ++c) {
      const double* whitened = whitened_.data() + c * rank;
      for (std::size_t a = 0; a < rank; ++a) {
        for (std::size_t b = 0; b < rank; ++b) between_[a * rank + b] += whitened[a] * whitened[b];
      }
    }
    if (!eigen(between_, static_cast<int>(rank), spectrum_)) return;
    std::size_t n_kept = std::min(n_components_, rank);
    if (max_components_ > 0) n_kept = std::min(n_kept, max_components_);
    for (std::size_t r = 0; r < n_kept; ++r) {
      const std::size_t from = rank - 1 - r;
      if (r > 0 && !(spectrum_[from] > 1e-10 * spectrum_[rank - 1])) break;
      keep(between_.data() + from * rank);
    }
  }

  // Cholesky factor of the correlations of independent features: row r belongs to feature kept_[r].
  void factorise() {
    const std::size_t p = features_.size();
    factor_.resize(p * p);
    kept_.clear();
    for (std::size_t j = 0; j < p; ++j) {
      double* row = factor_.data() + kept_.size() * p;
      double pivot = correlations_[j * p + j];
      for (std::size_t r = 0; r < kept_.size(); ++r) {
        double rest = correlations_[j * p + kept_[r]];
        for (std::size_t q = 0; q < r; ++q) rest -= row[q] * factor_[r * p + q];
        row[r] = rest / factor_[r * p + r];
        pivot -= row[r] * row[r];
      }
      if (!(pivot > kLeastPivot)) continue;
      row[kept_.size()] = std::sqrt(pivot);
      kept_.push_back(j);
    }
  }

  static std::size_t largest_row(const std::vector<double>& rows, std::size_t width) {
    std::size_t best = 0;
    double most = -1.0;
    for (std::size_t at = 0; at * width < rows.size(); ++at) {
      double squares = 0.0;
      for (std::size_t j = 0; j < width; ++j) {
        squares += rows[at * width + j] * rows[at * width + j];
      }
      if (squares > most) {
        most = squares;
        best = at;
      }
    }
    return best;
  }

  // Maps a component back to the original columns; it has unit length in the standardised ones.
  void keep(const double* component) {
    const std::size_t p = features_.size();
    loadings_.assign(p, 0.0);
    double squares = 0.0;
    for (std::size_t r = kept_.size(); r-- > 0;) {
      double rest = component[r];
      for (std::size_t q = r + 1; q < kept_.size(); ++q) {
        rest -= factor_[q * p + r] * loadings_[kept_[q]];
      }
      loadings_[kept_[r]] = rest / factor_[r * p + r];
    }
    for (std::size_t j = 0; j < p; ++j) squares += loadings_[j] * loadings_[j];
    for (std::size_t j = 0; j < p; ++j) {
      const double scale = deviations_[j] * std::sqrt(squares);
      components_.push_back(scale > 0.0 ? static_cast<float>(loadings_[j] / scale) : 0.0f);
    }
  }

  // A feature is left out if those before it explain all but this share of its variance.
  static constexpr double kLeastPivot = 1e-8;

  FeaturePool pool_;
  std::size_t n_features_;
  bool resample_;
  std::size_t max_rows_, max_components_;
  Dsyev dsyev_;
  float one_ = 1.0f;
  std::size_t n_given_ = 0, n_good_ = 0, n_components_ = 0;
  bool degenerate_ = false;
  std::vector<std::int32_t> features_;
  std::vector<std::uint32_t> chosen_;
  std::vector<double> gathered_, roots_, means_, deviations_, scales_, correlations_, links_,
      shares_;
  std::vector<std::size_t> kept_;
  std::vector<double> spectrum_, factor_, whitened_, between_, loadings_, work_;
  std::vector<float> components_;
};

struct CanonicalSpec : ProposalSpec {
  CanonicalOptions options;
  std::vector<double> chances;  // empty: uniform
  std::unique_ptr<Proposal> make(const Columns& columns) const override {
    if (!chances.empty() && chances.size() != columns.n_columns) {
      throw std::invalid_argument("chances must be empty or have one entry per column");
    }
    return std::make_unique<CanonicalCorrelation>(columns, options, chances);
  }
};

}  // namespace jarf
