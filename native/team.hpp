// Independent pieces of work, shared among a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace jarf {

// Threads start for each call of `share` and end with it, so nothing has to be kept between calls.
// Results do not depend on the number of threads, provided that the pieces are independent.
class Team {
 public:
  // Less work than `least_work` (in values to be added) is done by the calling thread alone:
  // starting a thread takes longer.
  explicit Team(std::size_t n_threads = 1, std::size_t least_work = kLeastWork)
      : n_threads_(n_threads), least_work_(least_work) {}

  // Calls `piece(k)` once for every k below `n`; it must not throw. The calling thread also calls
  // `pause` after each of its pieces. If that throws, the remaining pieces are not started.
  template <class Piece, class Pause>
  void share(std::size_t n, std::size_t work, const Piece& piece, const Pause& pause) const {
    const std::size_t n_threads = work < least_work_ ? 1 : std::min(n_threads_, n);
    if (n_threads < 2) {
      for (std::size_t k = 0; k < n; ++k) piece(k), pause();
      return;
    }
    std::atomic<std::size_t> next{0};
    const auto take = [&] { return next.fetch_add(1, std::memory_order_relaxed); };
    Helpers helpers(next, n);
    helpers.start(n_threads - 1, [&] {
      for (std::size_t k = take(); k < n; k = take()) piece(k);
    });
    for (std::size_t k = take(); k < n; k = take()) piece(k), pause();
  }

 private:
  // Waits for its threads on destruction, also if an exception is thrown.
  class Helpers {
   public:
    Helpers(std::atomic<std::size_t>& next, std::size_t n) : next_(next), n_(n) {}
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    ~Helpers() {
      next_.store(n_, std::memory_order_relaxed);
      for (std::thread& thread : threads_) thread.join();
    }

    // Starts fewer threads if the system allows no more.
    template <class Work>
    void start(std::size_t n_threads, const Work& work) {
      threads_.reserve(n_threads);
      try {
        while (threads_.size() < n_threads) threads_.emplace_back(work);
      } catch (const std::system_error&) {
      }
    }

   private:
    std::atomic<std::size_t>& next_;
    std::size_t n_;
    std::vector<std::thread> threads_;
  };

  static constexpr std::size_t kLeastWork = std::size_t{1} << 18;

  std::size_t n_threads_, least_work_;
};

}  // namespace jarf
