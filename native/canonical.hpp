// Canonical correlation directions (canonical correlation forests, CCF): in every node, the
// directions within a few features that correlate best with the labels.
//
// With one indicator per class, the canonical correlations of features and labels are solutions of
// B a = rho^2 S a, where S is the node's scatter matrix and B the scatter between its class means.
// With one response, B has rank one; with several, it is the sum of such matrices. Both cases are
// solved in the basis of the correlation matrix's eigenvectors. Small eigenvalues are dropped, so
// that constant and collinear features do no harm.
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
    const std::size_t p = features_.size(), n = chosen_.size();
    gather(node);
    standardise();
    correlations_.assign(p * p, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const double* x = gathered_.data() + i * p;
      for (std::size_t a = 0; a < p; ++a) {
        double* sums = correlations_.data() + a * p;
        for (std::size_t b = 0; b < p; ++b) sums[b] += x[a] * x[b];
      }
    }
    degenerate_ = *std::max_element(deviations_.begin(), deviations_.end()) <= 0.0;
    if (node.labels.classes) {
      class_means(node);
    } else {
      response_sums(node);
    }
  }

  void gather(const NodeView& node) {
    const std::size_t p = features_.size(), n = chosen_.size();
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
  void standardise() {
    const std::size_t p = features_.size(), n = chosen_.size();
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
  void class_means(const NodeView& node) {
    const std::size_t p = features_.size(), n = chosen_.size(), k = node.labels.n_classes;
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
  void response_sums(const NodeView& node) {
    const std::size_t p = features_.size(), n = chosen_.size(), k = node.labels.n_responses;
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
    if (degenerate_ || !eigen(correlations_, static_cast<int>(p), spectrum_)) return;
    // Whitened basis: eigenvector / sqrt(eigenvalue), one per row. Small eigenvalues are dropped.
    basis_.clear();
    for (std::size_t r = 0; r < p; ++r) {
      if (!(spectrum_[r] > 1e-8 * spectrum_[p - 1])) continue;
      for (std::size_t j = 0; j < p; ++j) {
        basis_.push_back(correlations_[r * p + j] / std::sqrt(spectrum_[r]));
      }
    }
    const std::size_t rank = basis_.size() / p;
    if (rank == 0) return;  // a column changed while the tree grew; LAPACK forbids size 0
    whitened_.assign(n_links * rank, 0.0);
    for (std::size_t c = 0; c < n_links; ++c) {
      for (std::size_t r = 0; r < rank; ++r) {
        for (std::size_t j = 0; j < p; ++j) {
          whitened_[c * rank + r] += links_[c * p + j] * basis_[r * p + j];
        }
      }
    }
    if (n_components_ == 1) {  // links have rank one: any of them is the component
      keep(whitened_.data() + largest_row(whitened_, rank) * rank, rank);
      return;
    }
    between_.assign(rank * rank, 0.0);
    for (std::size_t a = 0; a < rank; ++a) {
      for (std::size_t b = 0; b < rank; ++b) {
        for (std::size_t c = 0; c < n_links; ++c) {
          between_[a * rank + b] += whitened_[c * rank + a] * whitened_[c * rank + b];
        }
      }
    }
    if (!eigen(between_, static_cast<int>(rank), spectrum_)) return;
    std::size_t n_kept = std::min(n_components_, rank);
    if (max_components_ > 0) n_kept = std::min(n_kept, max_components_);
    for (std::size_t r = 0; r < n_kept; ++r) {
      const std::size_t from = rank - 1 - r;
      if (r > 0 && !(spectrum_[from] > 1e-10 * spectrum_[rank - 1])) break;
      keep(between_.data() + from * rank, rank);
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
  void keep(const double* component, std::size_t rank) {
    const std::size_t p = features_.size();
    loadings_.assign(p, 0.0);
    double squares = 0.0;
    for (std::size_t j = 0; j < p; ++j) {
      for (std::size_t r = 0; r < rank; ++r) loadings_[j] += component[r] * basis_[r * p + j];
      squares += loadings_[j] * loadings_[j];
    }
    for (std::size_t j = 0; j < p; ++j) {
      const double scale = deviations_[j] * std::sqrt(squares);
      components_.push_back(scale > 0.0 ? static_cast<float>(loadings_[j] / scale) : 0.0f);
    }
  }

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
  std::vector<double> spectrum_, basis_, whitened_, between_, loadings_, work_;
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
