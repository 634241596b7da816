#include "sim/studies/goodput/simulated_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <utility>

namespace lockstep::goodput {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Seconds as plain numbers: dates of one run.
class SimulatedRun {
 public:
  SimulatedRun(const RunModel& model, double length, std::uint64_t seed)
      : model_(model), length_(length), random_(seed) {
    shares_.causes.resize(model.causes.size());
    broken_.resize(model.causes.size(), 0);
    for (std::size_t i = 0; i < model.causes.size(); ++i) {
      const auto kind = kind_of(model.causes[i]);
      rates_[kind] += model.causes[i].rate;
      if (kind == Kind::loss) slowest_first_.push_back(i);
    }
    std::stable_sort(slowest_first_.begin(), slowest_first_.end(),
                     [&](std::size_t a, std::size_t b) { return model.causes[a].speed < model.causes[b].speed; });
    failure_at_ = wait_for(rates_[Kind::failure]);
    planned_at_ = wait_for(rates_[Kind::planned]);
    loss_at_ = wait_for(rates_[Kind::loss]);
    train();
  }

  TimeShares run() {
    while (now_ < length_) {
      pass(std::min({length_, until_, failure_at_, planned_at_, loss_at_, durable_at_,
                     repairs_.empty() ? never : repairs_.top(), parts_.empty() ? never : parts_.top().first}));
      if (now_ >= length_) break;
      if (!repairs_.empty() && now_ >= repairs_.top()) {
        repairs_.pop();
      } else if (!parts_.empty() && now_ >= parts_.top().first) {
        --broken_[parts_.top().second];
        parts_.pop();
      } else if (now_ >= durable_at_) {
        save();
      } else if (now_ >= failure_at_) {
        fail(draw(Kind::failure));
        failure_at_ += wait_for(rates_[Kind::failure]);
      } else if (now_ >= planned_at_) {
        stops_.push_back(draw(Kind::planned));
        planned_at_ += wait_for(rates_[Kind::planned]);
      } else if (now_ >= loss_at_) {
        lose(draw(Kind::loss));
        loss_at_ += wait_for(rates_[Kind::loss]);
      } else {
        next();
      }
    }
    shares_.useful += since_ + pending_;  // saved as the run ends
    return of_length();
  }

 private:
  enum class Doing { training, checkpoint, recovering, waiting, stopped };
  enum class Kind { failure, planned, loss };  ///< of causes; the run goes on after a loss

  static Kind kind_of(const Cause& cause) {
    return cause.planned ? Kind::planned : cause.stops ? Kind::failure : Kind::loss;
  }

  [[nodiscard]] double wait_for(double rate) {
    if (rate == 0) return never;
    return -std::log1p(-static_cast<double>(random_() >> 11) * 0x1p-53) / rate;
  }

  /// One of the causes of a kind, by their rates.
  std::size_t draw(Kind kind) {
    double left = static_cast<double>(random_() >> 11) * 0x1p-53 * rates_[kind];
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < model_.causes.size(); ++i) {
      if (kind_of(model_.causes[i]) != kind || model_.causes[i].rate == 0) continue;
      drawn = i;
      left -= model_.causes[i].rate;
      if (left < 0) break;
    }
    return drawn;
  }

  /// With the hosts that are missing.
  [[nodiscard]] double elastic_speed() const {
    return model_.speed_without(static_cast<std::int64_t>(repairs_.size()) - model_.spares);
  }
  /// The worst cause of which a part is broken; none: as many as there are causes.
  [[nodiscard]] std::size_t slowest() const {
    const auto worst = std::find_if(slowest_first_.begin(), slowest_first_.end(),
                                    [&](std::size_t cause) { return broken_[cause] > 0; });
    return worst == slowest_first_.end() ? broken_.size() : *worst;
  }

  void train_for(double time) {
    double work = elastic_speed() * time;
    shares_.fewer_chips += time - work;
    if (const auto worst = slowest(); worst < broken_.size()) {
      shares_.causes[worst].slower += (1 - model_.causes[worst].speed) * work;
      work *= model_.causes[worst].speed;
    }
    if (durable_at_ < never) {
      shares_.beside_writing += (1 - model_.speed_while_writing) * work;
      work *= model_.speed_while_writing;
    }
    since_ += work;
  }

  void pass(double date) {
    const double time = date - now_;
    now_ = date;
    switch (doing_) {
      case Doing::training: train_for(time); break;
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
    loss_at_ += time;
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

  void lose(std::size_t number) {
    shares_.causes[number].losses += 1;
    ++broken_[number];
    parts_.emplace(now_ + model_.causes[number].repair.value(), number);
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
    shares_.scale(scale);
    return shares_;
  }

  const RunModel& model_;
  double length_;
  std::mt19937_64 random_;
  IndexedArray<Kind, double, 3> rates_{};
  double now_ = 0, until_ = 0, failure_at_ = never, planned_at_ = never, loss_at_ = never, durable_at_ = never;
  Doing doing_ = Doing::training;
  std::size_t cause_ = 0;           ///< of the interruption that the run is in
  double recovery_ = 0;             ///< from it
  double since_ = 0;                ///< training since the last checkpoint
  double pending_ = 0;              ///< training in a checkpoint that is still being written
  std::vector<std::size_t> stops_;  ///< planned, to be made at the next checkpoint
  std::priority_queue<double, std::vector<double>, std::greater<>> repairs_;
  using Part = std::pair<double, std::size_t>;  ///< when it is back, of which cause
  std::priority_queue<Part, std::vector<Part>, std::greater<>> parts_;
  std::vector<std::int64_t> broken_;  ///< by cause, parts without which the run goes on
  std::vector<std::size_t> slowest_first_;
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
