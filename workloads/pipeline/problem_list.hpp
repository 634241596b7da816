#pragma once
/// A list of problems that stays short however bad the input is; private to the code that checks orders.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::workloads {

template <class Problem>
class ProblemList {
 public:
  static constexpr std::int64_t most = 20;

  /// `make` is called only while there is room, so that a million mistakes cost no million texts.
  template <class Make>
  void add(Make make) {
    if (++count_ <= most) problems_.push_back(make());
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// The problems, and one that says how many more there are.
  [[nodiscard]] std::vector<Problem> take() {
    if (count_ > most) {
      Problem rest;
      rest.what = "and " + std::to_string(count_ - most) + " more problems";
      problems_.push_back(std::move(rest));
    }
    return std::move(problems_);
  }

 private:
  std::vector<Problem> problems_;
  std::int64_t count_ = 0;
};

}  // namespace lockstep::workloads
