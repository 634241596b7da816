#include "sim/studies/goodput/simulated_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <random>

namespace lockstep::goodput {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Seconds as plain numbers: dates of one run.
class SimulatedRun {
 public:
  SimulatedRun(const RunModel& model, double length, std::uint64_t seed)
      : model_(model), length_(length), random_(seed) {
    shares_.causes.resize(model.causes.size());
    for (const auto& cause : model.causes) planned_rate_ += cause.planned ? cause.rate : 0;
    failure_at_ = wait_for(model_.failure_rate());
    planned_at_ = wait_for(planned_rate_);
    train();
  }

  TimeShares run() {
    while (now_ < length_) {
      pass(std::min(
          {length_, until_, failure_at_, planned_at_, durable_at_, repairs_.empty() ? never : repairs_.top()}));
      if (now_ >= length_) break;
      if (!repairs_.empty() && now_ >= repairs_.top()) {
        repairs_.pop();
      } else if (now_ >= durable_at_) {
        save();
      } else if (now_ >= failure_at_) {
        fail(draw(false));
        failure_at_ += wait_for(model_.failure_rate());
      } else if (now_ >= planned_at_) {
        stops_.push_back(draw(true));
        planned_at_ += wait_for(planned_rate_);
      } else {
        next();
      }
    }
    shares_.useful += since_ + pending_;  // saved as the run ends
    return of_length();
  }

 private:
  enum class Doing { training, checkpoint, recovering, waiting, stopped };

  [[nodiscard]] double wait_for(double rate) {
    if (rate == 0) return never;
    return -std::log1p(-static_cast<double>(random_() >> 11) * 0x1p-53) / rate;
  }

  /// One of the planned or of the unplanned causes, by their rates.
  std::size_t draw(bool planned) {
    double left = static_cast<double>(random_() >> 11) * 0x1p-53 * (planned ? planned_rate_ : model_.failure_rate());
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < model_.causes.size(); ++i) {
      if (model_.causes[i].planned != planned || model_.causes[i].rate == 0) continue;
      drawn = i;
      left -= model_.causes[i].rate;
      if (left < 0) break;
    }
    return drawn;
  }

  [[nodiscard]] double speed() const {
    const auto broken = static_cast<std::int64_t>(repairs_.size());
    if (broken <= model_.spares) return 1;
    return std::max(0.0, 1 - model_.share_of_host * static_cast<double>(broken - model_.spares));
  }

  void pass(double date) {
    const double time = date - now_;
    now_ = date;
    switch (doing_) {
      case Doing::training:
        since_ += speed() * time;
        shares_.fewer_chips += (1 - speed()) * time;
        break;
      case Doing::checkpoint: shares_.checkpoints += time; break;
      case Doing::recovering:
      case Doing::stopped: shares_.causes[cause_].recovery += time; break;
      case Doing::waiting: shares_.causes[cause_].waiting += time; break;
    }
  }

  void begin(Doing doing, double time) {
    doing_ = doing;
    until_ = now_ + time;
    if (doing != Doing::waiting && doing != Doing::stopped) return;
    failure_at_ += time;  // nothing fails that does not run
    planned_at_ += time;
  }
  void train() { begin(Doing::training, model_.interval.value()); }

  void save() {
    shares_.useful += pending_;
    pending_ = 0;
    durable_at_ = never;
  }

  void fail(std::size_t number) {
    const auto& cause = model_.causes[number];
    auto& share = shares_.causes[number];
    share.interruptions += 1;
    share.lost_work += since_ + pending_;
    since_ = pending_ = 0;
    durable_at_ = never;
    cause_ = number;
    recovery_ = cause.recovery.value();
    if (cause.repair == Seconds(0)) return begin(Doing::recovering, recovery_);
    if (!cause.spared) return begin(Doing::waiting, cause.repair.value());
    repairs_.push(now_ + cause.repair.value());
    if (static_cast<std::int64_t>(repairs_.size()) <= model_.spares) return begin(Doing::recovering, recovery_);
    if (!model_.elastic) return begin(Doing::waiting, repairs_.top() - now_);
    recovery_ += model_.reshard.value();
    begin(Doing::recovering, recovery_);
  }

  void stop_or_train() {
    if (stops_.empty()) return train();
    cause_ = stops_.back();
    stops_.pop_back();
    shares_.causes[cause_].interruptions += 1;
    save();
    begin(Doing::stopped, (model_.causes[cause_].recovery + model_.until_durable).value());
  }

  /// Begins the state that follows the one that has just ended.
  void next() {
    switch (doing_) {
      case Doing::training: return begin(Doing::checkpoint, model_.stall.value());
      case Doing::checkpoint:
        pending_ = since_;
        since_ = 0;
        durable_at_ = now_ + model_.until_durable.value();
        return stop_or_train();
      case Doing::waiting: return begin(Doing::recovering, recovery_);
      case Doing::recovering: return train();
      case Doing::stopped: return stop_or_train();
    }
  }

  TimeShares of_length() {
    const double scale = 1 / length_;
    for (auto* share : {&shares_.useful, &shares_.checkpoints, &shares_.fewer_chips}) *share *= scale;
    for (auto& cause : shares_.causes) {
      for (auto* share : {&cause.lost_work, &cause.recovery, &cause.waiting, &cause.interruptions}) *share *= scale;
    }
    return shares_;
  }

  const RunModel& model_;
  double length_;
  std::mt19937_64 random_;
  double planned_rate_ = 0;
  double now_ = 0, until_ = 0, failure_at_ = never, planned_at_ = never, durable_at_ = never;
  Doing doing_ = Doing::training;
  std::size_t cause_ = 0;           ///< of the interruption that the run is in
  double recovery_ = 0;             ///< from it
  double since_ = 0;                ///< training since the last checkpoint
  double pending_ = 0;              ///< training in a checkpoint that is still being written
  std::vector<std::size_t> stops_;  ///< planned, to be made at the next checkpoint
  std::priority_queue<double, std::vector<double>, std::greater<>> repairs_;
  TimeShares shares_;
};

}  // namespace

TimeShares simulate_run(const RunModel& model, Seconds length, std::uint64_t seed) {
  return SimulatedRun(model, length.value(), seed).run();
}

double expected_events(const RunModel& model, Seconds length) {
  double rate = 3 / (model.interval + model.stall).value();
  for (const auto& cause : model.causes) rate += 3 * cause.rate;
  return rate * length.value();
}

}  // namespace lockstep::goodput
