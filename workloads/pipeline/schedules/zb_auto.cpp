// Automatic zero bubble (Qi et al., "Zero Bubble Pipeline Parallelism"): a greedy order under a memory limit, tried
// with every setting of three choices; the one whose longest rank span is shortest wins, the first of equals.
#include <algorithm>
#include <optional>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"
#include "workloads/pipeline/schedules/split_pipeline_private.hpp"

namespace lockstep::workloads {
namespace {

struct Choices {
  bool first_backward_on_time;  ///< the forwards that fill the wait for the first backward must end with it
  bool backward_first;          ///< leave out a forward that would keep the next backward waiting
  bool fill_every_wait;         ///< a weight gradient in every wait, even where other ranks wait longer in all
};

/// Stage s is on rank s, so one index serves for both.
class Search {
 public:
  Search(const ScheduleRequest& request, const Indexed<StageId, double>& limits, Choices choices)
      : request_(request),
        choices_(choices),
        stages_(request.ranks),
        pipeline_(request, empty_order(request, StagePlacement::linear, 1), limits) {}

  SplitPipeline run() {
    first_microbatch();
    for (std::int32_t m = 1; m < request_.microbatches; ++m) {
      run_forwards(forwards_due());
      run_backwards();
    }
    for (std::int32_t s = 0; s < stages_; ++s) pipeline_.settle_owed(s);
    return std::move(pipeline_);
  }

 private:
  using PerStage = Indexed<StageId, std::int32_t>;
  [[nodiscard]] const StageTimes& times(std::int32_t s) const { return request_.times.of(s); }
  [[nodiscard]] double latency() const { return request_.times.latency; }
  [[nodiscard]] const ComparedTimes& compare() const { return pipeline_.compare(); }
  [[nodiscard]] bool has_forwards(std::int32_t s) const { return pipeline_.forwards(s) < request_.microbatches; }

  void first_microbatch() {
    for (std::int32_t s = 0; s < stages_; ++s) pipeline_.forward(s);
    const auto more = forwards_before_first_backward();
    for (std::int32_t s = 0; s < stages_; ++s) {
      for (std::int32_t i = 0; i < more[s]; ++i) pipeline_.forward(s);
    }
    for (std::int32_t s = stages_; s-- > 0;) pipeline_.input_gradient(s);
  }

  /// Forwards that fill each rank's wait for its first backward, as far as memory goes.
  [[nodiscard]] PerStage forwards_before_first_backward() const {
    PerStage more(stages_, 0);
    const auto& activations = request_.activations;
    double backward_end = pipeline_.now(stages_ - 1) + times(stages_ - 1).input_gradient;
    for (std::int32_t s = stages_ - 1; s-- > 0;) {
      const double forward = times(s).forward, wanted = backward_end + latency();
      double now = pipeline_.now(s), held = pipeline_.held(s) + backward_reserve(activations);
      const auto still_waits = [&] {
        return choices_.first_backward_on_time ? compare().at_most(now + forward, wanted) : compare().less(now, wanted);
      };
      while (1 + more[s] < request_.microbatches && held + activations.forward <= pipeline_.limit(s) && still_waits()) {
        held += activations.forward;
        now += forward;
        ++more[s];
      }
      backward_end = std::max(now, wanted) + times(s).input_gradient;
    }
    // A rank's forwards come from the rank before, which runs one more lest the next ones come late.
    for (std::int32_t s = 1; s < stages_; ++s) {
      const auto before = more[s - 1];
      const bool all = 1 + more[s] == request_.microbatches && more[s] <= before;
      if (!all) more[s] = std::min(more[s], std::max(0, before - 1));
    }
    return more;
  }

  /// Which stages run a forward before their next backward. One that does not holds back those before it.
  [[nodiscard]] Indexed<StageId, bool> forwards_due() const {
    Indexed<StageId, bool> due(stages_);
    bool later = true;
    for (std::int32_t s = stages_; s-- > 0;) due[s] = later = later && has_forwards(s) && !better_wait(s);
    return due;
  }

  [[nodiscard]] bool better_wait(std::int32_t s) const {
    const bool ahead = s + 1 < stages_ && pipeline_.forwards(s) >= pipeline_.forwards(s + 1) + 2;
    if (!choices_.backward_first || !ahead) return false;
    const double backward = pipeline_.now(s + 1) + times(s + 1).forward + times(s + 1).input_gradient + latency();
    const double now = pipeline_.now(s);
    if (compare().at_most(backward, now)) return true;
    if (compare().at_most(now + forward_with_room(s), backward)) return false;
    return compare().at_most(backward - now, spare(s));
  }

  /// A forward together with the weight gradients that must run first to make room for it.
  [[nodiscard]] double forward_with_room(std::int32_t s) const {
    const auto& activations = request_.activations;
    double held = pipeline_.held(s) + activations.forward + backward_reserve(activations);
    double time = times(s).forward;
    for (auto left = pipeline_.owed(s).size(); left > 0 && held > pipeline_.limit(s); --left) {
      held += activations.weight_gradient;
      time += times(s).weight_gradient;
    }
    return time;
  }

  /// The time that a rank may wait without becoming the one that waits longest.
  [[nodiscard]] double spare(std::int32_t s) const { return pipeline_.longest_bubble() - pipeline_.bubble(s); }

  void fill_wait(std::int32_t s, double arrival) {
    const double wait = pipeline_.fill_wait(s, arrival);
    if (pipeline_.owed(s).empty() || compare().at_most(wait, 0)) return;
    if (choices_.fill_every_wait || compare().less(spare(s), wait)) pipeline_.weight_gradient(s);
  }

  void run_forwards(const Indexed<StageId, bool>& due) {
    for (std::int32_t s = 0; s < stages_; ++s) {
      if (!due[s]) continue;
      pipeline_.make_room_for_forward(s);
      fill_wait(s, pipeline_.forward_arrival(s));
      pipeline_.forward(s);
    }
  }

  void run_backwards() {
    for (std::int32_t s = stages_; s-- > 0;) {
      pipeline_.make_room_for_backward(s);
      fill_wait(s, pipeline_.input_gradient_arrival(s));
      // Nobody waits for the first stage's input gradients.
      if (s == 0 && !has_forwards(s)) pipeline_.settle_owed(s);
      pipeline_.input_gradient(s);
    }
  }

  const ScheduleRequest& request_;
  Choices choices_;
  std::int32_t stages_;
  SplitPipeline pipeline_;
};

// Without a limit P microbatches, as many as 1F1B holds (ZB-1p); one at a time always works.
PipelineOrder zb_auto_order(const ScheduleRequest& request) {
  const auto limits = limits_in_activations(request, 1, request.ranks, 1);
  std::optional<SplitPipeline> best;
  for (const bool on_time : {true, false}) {
    for (const bool backward_first : {true, false}) {
      for (const bool fill : {true, false}) {
        auto found = Search(request, limits, {on_time, backward_first, fill}).run();
        if (!best || found.compare().less(found.longest_span(), best->longest_span())) best.emplace(std::move(found));
      }
    }
  }
  return best->take_order();
}

std::optional<ClosedForm> form(const FormLetters& of) {
  const double limit = of.limit.value_or(of.P);
  if (at_most(2 * of.P, limit)) return nothing_in_span(of, 2 * of.P, "M >= 2P").holds_under_limit().finish(of, false);
  if (!same(limit, of.P)) return std::nullopt;
  return Form(ClosedForm::Of::step, "(P-1)(F+I-W)", (of.P - 1) * (of.F + of.I - of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("M >= P", of.M >= of.P)
      .holds_under_limit()
      .note("for a memory limit of P; zero-bubble papers write B for I")
      .finish(of, true);
}

}  // namespace

extern const Schedule zb_auto_schedule = {
    .name = "zb-auto",
    .summary = "automatic zero bubble under a memory limit",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .splits_backward = true,
    .chooses_by_time = true,
    .order = zb_auto_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
