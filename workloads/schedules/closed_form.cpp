#include "workloads/schedules/closed_form.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep {
namespace {

/// The letters of the forms. F, I, W, B are of one microbatch on one chunk.
struct Letters {
  double P, M, V, N, F, I, W, B, pair, c;
  bool uniform;                 ///< all stages take the same times
  std::optional<double> limit;  ///< of memory, if it is one for all ranks
  [[nodiscard]] double least() const { return std::min(F, I); }
};

Letters letters_of(const ScheduleRequest& request, std::int32_t chunks) {
  Letters of{};
  of.P = request.ranks;
  of.M = request.microbatches;
  of.V = chunks;
  of.N = group_of(request);
  of.c = request.times.latency;
  const auto& stages = request.times.stages;
  const auto count = static_cast<double>(stages.size());
  of.uniform = true;
  for (const auto& stage : stages) {
    of.F += stage.forward / count;
    of.I += stage.input_gradient / count;
    of.W += stage.weight_gradient / count;
    of.uniform &= stage.forward == stages[0].forward && stage.input_gradient == stages[0].input_gradient &&
                  stage.weight_gradient == stages[0].weight_gradient;
  }
  of.B = of.I + of.W;
  of.pair = request.times.pair.value_or(of.F + of.B);
  const auto& limits = request.memory_limit;
  if (!limits.empty() && std::all_of(limits.begin(), limits.end(), [&](double limit) { return limit == limits[0]; })) {
    of.limit = limits[0];
  }
  return of;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }
bool at_most(double a, double b) { return a <= b || same(a, b); }
bool divides(double a, double b) { return std::fmod(b, a) == 0; }

/// A form, built up fact by fact.
class Form {
 public:
  Form(ClosedForm::Of of, std::string expression, double value) {
    form_.of = of;
    form_.expression = std::move(expression);
    form_.value = value;
  }
  Form& needs(const std::string& condition, bool holds) {
    form_.conditions += (form_.conditions.empty() ? "" : ", ") + condition;
    if (!holds) form_.broken += (form_.broken.empty() ? "" : ", ") + condition;
    form_.applies = form_.broken.empty();
    return *this;
  }
  Form& latency(std::string expression, double value, std::string conditions = "", bool holds = true) {
    form_.latency_expression = std::move(expression);
    form_.latency_conditions = std::move(conditions);
    if (holds) form_.latency_value = value;
    return *this;
  }
  Form& holds(std::string expression, double activations) {
    form_.activations_expression = std::move(expression);
    form_.activations = activations;
    return *this;
  }
  /// What the user allows, counted as an ActivationModel counts, is no number of microbatches.
  Form& holds_under_limit() {
    form_.activations_expression = "memory limit";
    return *this;
  }
  Form& note(std::string note) {
    form_.note = std::move(note);
    return *this;
  }
  /// B is the letter on which the literature disagrees.
  ClosedForm finish(const Letters& of, bool per_rank) {
    form_.symbols = std::string("F forward, I input gradient, W weight gradient, B = I + W whole backward") +
                    (per_rank && of.V > 1 ? ", of one microbatch through all V chunks of a rank"
                                          : ", of one microbatch on one stage") +
                    "; P ranks, M microbatches" + (of.V > 1 ? ", V chunks of a rank" : "") + ", c latency";
    if (!of.uniform) needs("all stages alike", false);
    if (of.c > 0 && !form_.latency_value) {
      needs(form_.latency_expression.empty() ? "c = 0" : form_.latency_conditions + " or c = 0", false);
    }
    if (of.c == 0 && !form_.latency_expression.empty()) form_.latency_value = 0;
    return std::move(form_);
  }

 private:
  ClosedForm form_;
};

using enum ClosedForm::Of;

ClosedForm naive(const Letters& of) {
  return Form(step, "(P-1)M(F+B)", (of.P - 1) * of.M * (of.F + of.B))
      .latency("2(P-1)Mc", 2 * (of.P - 1) * of.M * of.c)
      .holds("1", 1)
      .finish(of, true);
}

ClosedForm gpipe(const Letters& of) {
  return Form(step, "(P-1)(F+B)", (of.P - 1) * (of.F + of.B))
      .latency("2(P-1)c", 2 * (of.P - 1) * of.c)
      .holds("M", of.M)
      .finish(of, true);
}

/// A microbatch's round trip between neighbours stands in the steady state of 1F1B, once for every P microbatches.
Form& steady_latency(Form& form, const Letters& of) {
  const double trips = of.P > 1 ? 2 * (of.P - 1) * of.M / of.P + 2 * (of.P - 2) : 0;
  return form.latency("(2(P-1)M/P + 2(P-2))c", trips * of.c, "P divides M", divides(of.P, of.M));
}

ClosedForm one_f_one_b(const Letters& of) {
  Form form(step, "(P-1)(F+B)", (of.P - 1) * (of.F + of.B));
  return steady_latency(form, of).holds("min(P-r, M) on rank r", std::min(of.P, of.M)).finish(of, true);
}

ClosedForm zb_h1(const Letters& of) {
  Form form(step, "(P-1)(F+I-W)", (of.P - 1) * (of.F + of.I - of.W));
  form.needs("W <= F", at_most(of.W, of.F)).needs("W <= I", at_most(of.W, of.I)).needs("M >= P", of.M >= of.P);
  return steady_latency(form, of)
      .holds("min(P, M) until the weight gradient, P-r until the input gradient", std::min(of.P, of.M))
      .note("DeepSeek writes it (P-1)(F+B-2W) and calls it ZB1P; zero-bubble papers write B for I")
      .finish(of, true);
}

Form interleaved_bubble(const Letters& of) {
  Form form(step, "(P-1)(F+B)/V", (of.P - 1) * (of.F + of.B));
  form.needs("N >= P", of.N >= of.P).needs("P or N divides M", divides(of.P, of.M) || divides(of.N, of.M)).needs("N <= M", of.N <= of.M);
  return form;
}

double interleaved_activations(const Letters& of, double more_chunks) {
  return std::min(of.M, ((of.V - 1) * of.N + 2 * (of.P - 1) + 1 + more_chunks) / of.V);
}

ClosedForm interleaved(const Letters& of) {
  auto form = interleaved_bubble(of);
  const double shorter = std::min(of.F, of.B);
  if (of.N == of.P || of.P == 1) {
    const double trips = of.P > 1 ? 2 * (of.P * of.V - 1) : 0;
    form.latency("2(PV-1)c", trips * of.c, "c <= F/V and c <= B/V", at_most(of.c, shorter));
  } else {
    form.latency("2(P-1)c", 2 * (of.P - 1) * of.c, "N >= 2P, N divides M, c <= F/V and c <= B/V",
                 of.N >= 2 * of.P && divides(of.N, of.M) && at_most(of.c, shorter));
  }
  return form.holds("min(M, ((V-1)N + 2(P-1-r) + 1)/V) on rank r", interleaved_activations(of, 0)).finish(of, true);
}

/// A pair lasts at least as long as its longer half, at most as long as both.
Form& overlapping(Form& form, const Letters& of) {
  return form.needs("F&B >= F, F&B >= B, F&B <= F + B",
                    at_most(std::max(of.F, of.B), of.pair) && at_most(of.pair, of.F + of.B));
}

ClosedForm overlap_1f1b(const Letters& of) {
  auto form = interleaved_bubble(of);
  return overlapping(form, of)
      .holds("min(M, ((V-1)N + 2(P-1-r) + 2)/V) on rank r", interleaved_activations(of, 1))
      .note("F&B is a pair; what latency adds grows with M")
      .finish(of, true);
}

ClosedForm breadth_first(const Letters& of) {
  Form form(step, "(P-1)(F+B)/V", (of.P - 1) * (of.F + of.B));
  form.needs("M >= P", of.M >= of.P);
  if (of.M == of.P && of.P > 1) {
    form.latency("2(PV-1)c", 2 * (of.P * of.V - 1) * of.c);
  } else {
    const double spare = (of.M / of.P - 1) * std::min(of.F, of.B);
    form.latency("2(P-1)c", 2 * (of.P - 1) * of.c, "c <= (M/P-1)F/V and c <= (M/P-1)B/V",
                 of.P == 1 || at_most(of.c, spare));
  }
  return form.holds("M", of.M).finish(of, true);
}

ClosedForm zb_1p(const Letters& of) {
  return Form(step, "(P-1)(F+I-W)", (of.P - 1) * (of.F + of.I - of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("M >= P", of.M >= of.P)
      .latency("4(P-1)c", 4 * (of.P - 1) * of.c, "M >= 2P, c <= W/2", of.M >= 2 * of.P && at_most(of.c, of.W / 2))
      .holds("min(P, M)", std::min(of.P, of.M))
      .note("zero-bubble papers write B for I")
      .finish(of, true);
}

ClosedForm interleaved_zb(const Letters& of) {
  const double trips = of.P > 1 ? of.P * of.V + 3 * of.P - 4 : 0;
  return Form(step, "(P-1)(F+I-W)/V", (of.P - 1) * (of.F + of.I - of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("P divides M", divides(of.P, of.M))
      .latency("(PV+3P-4)c", trips * of.c, "M >= 2P, c <= W/2V", of.M >= 2 * of.P && at_most(of.c, of.W / 2))
      .holds("P", of.P)
      .note("zero-bubble papers write B for I")
      .finish(of, true);
}

ClosedForm zb_h2(const Letters& of) {
  return Form(span, "(P-1)(F+I-2W)", (of.P - 1) * (of.F + of.I - 2 * of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("M >= 2P-1", of.M >= 2 * of.P - 1)
      .latency("2(P-1)c", 2 * (of.P - 1) * of.c, "c <= F, c <= I", at_most(of.c, of.least()))
      .holds("min(2P-1, M)", std::min(2 * of.P - 1, of.M))
      .note(
          "a bubble of the span; with an optimizer barrier the step keeps at least (P-1)F. Zero-bubble papers write B "
          "for I")
      .finish(of, true);
}

bool all_alike(const Letters& of) { return same(of.F, of.I) && same(of.I, of.W); }

/// F = I = W fills every gap inside the ranks' spans.
Form nothing_in_span(const Letters& of, double microbatches, const std::string& condition) {
  Form form(span, "0", 0);
  form.needs("F = I = W", all_alike(of)).needs(condition, of.M >= microbatches);
  form.note("a bubble of the span; with an optimizer barrier the step keeps (P-1)F of one chunk");
  return form;
}

ClosedForm zb_v(const Letters& of) {
  return nothing_in_span(of, 2 * of.P - 1, "M >= 2P-1").holds("min(P, M)", std::min(of.P, of.M)).finish(of, false);
}

ClosedForm zb_v_auto(const Letters& of) {
  const double limit = of.limit.value_or(of.P);
  return nothing_in_span(of, 2 * of.P, "M >= 2P")
      .needs("memory limit >= P", at_most(of.P, limit))
      .holds_under_limit()
      .finish(of, false);
}

std::optional<ClosedForm> zb_auto(const Letters& of) {
  const double limit = of.limit.value_or(of.P);
  if (at_most(2 * of.P, limit)) return nothing_in_span(of, 2 * of.P, "M >= 2P").holds_under_limit().finish(of, false);
  if (!same(limit, of.P)) return std::nullopt;
  return Form(step, "(P-1)(F+I-W)", (of.P - 1) * (of.F + of.I - of.W))
      .needs("W <= F", at_most(of.W, of.F))
      .needs("W <= I", at_most(of.W, of.I))
      .needs("M >= P", of.M >= of.P)
      .holds_under_limit()
      .note("for a memory limit of P; zero-bubble papers write B for I")
      .finish(of, true);
}

/// What the pattern of one microbatch leaves idle when every slot takes the same time.
ClosedForm v_half(const Letters& of) {
  const bool even = divides(2, of.P);
  return Form(step, even ? "(3P-7)F" : "(3P-4)F", (3 * of.P - (even ? 7 : 4)) * of.F)
      .needs("F = I = W", all_alike(of))
      .needs("P >= 3", of.P >= 3)
      .needs("M >= 2P", of.M >= 2 * of.P)
      .holds(even ? "(P+2)/2" : "(P+1)/2", (of.P + (even ? 2 : 1)) / 2)
      .note("P even: 3P-7, odd: 3P-4; longer where F, I, W differ")
      .finish(of, false);
}

ClosedForm v_min(const Letters& of) {
  const bool threes = divides(3, of.P);
  return Form(step, threes ? "(4P-7)F" : "(4P-5)F", (4 * of.P - (threes ? 7 : 5)) * of.F)
      .needs("F = I = W", all_alike(of))
      .needs("P >= 2", of.P >= 2)
      .needs("M >= 2P", of.M >= 2 * of.P)
      .holds("ceil((P-1)/3) + 1", std::ceil((of.P - 1) / 3) + 1)
      .note("3 divides P: 4P-7, otherwise 4P-5; grows with M where F, I, W differ")
      .finish(of, false);
}

/// `ranks` are those of one direction: P/2 of DualPipe, P of its half.
Form dual_bubble(const Letters& of, double ranks, const std::string& factor) {
  // Two ranks each way leave no room for the inner ranks' effects, so that F may differ from I.
  const bool two = ranks == 2 && !same(of.F, of.I);
  Form form = two ? Form(step, factor + "(F&B + F - 2W)", (ranks - 1) * (of.pair + of.F - 2 * of.W))
                  : Form(step, factor + "(F&B + B - 3W)", (ranks - 1) * (of.pair + of.B - 3 * of.W));
  if (!two) form.needs("F = I", same(of.F, of.I));
  form.needs("W <= F", at_most(of.W, of.F));
  if (two) form.needs("W <= I", at_most(of.W, of.I));
  overlapping(form, of).needs("M >= 2P", of.M >= 2 * of.P);
  form.note("F&B is an overlapped pair; what latency adds grows with M");
  return form;
}

ClosedForm dualpipe(const Letters& of) {
  return dual_bubble(of, of.P / 2, "(P/2-1)")
      .needs("P even", divides(2, of.P))
      .holds("P+1", of.P + 1)
      .finish(of, false);
}

ClosedForm dualpipe_v(const Letters& of) {
  return dual_bubble(of, of.P, "(P-1)").holds("P + 1/2", of.P + 0.5).finish(of, false);
}

struct Named {
  std::string_view name;
  std::optional<ClosedForm> (*form)(const Letters&);
};

template <ClosedForm (*form)(const Letters&)>
std::optional<ClosedForm> always(const Letters& of) {
  return form(of);
}

constexpr Named table[] = {
    {"naive", always<naive>},
    {"gpipe", always<gpipe>},
    {"1f1b", always<one_f_one_b>},
    {"interleaved", always<interleaved>},
    {"bfs", always<breadth_first>},
    {"zb-h1", always<zb_h1>},
    {"zb-h2", always<zb_h2>},
    {"zb-1p", always<zb_1p>},
    {"zb-auto", zb_auto},
    {"interleaved-zb", always<interleaved_zb>},
    {"zb-v", always<zb_v>},
    {"zb-v-auto", always<zb_v_auto>},
    {"v-half", always<v_half>},
    {"v-min", always<v_min>},
    {"dualpipe", always<dualpipe>},
    {"dualpipe-v", always<dualpipe_v>},
    {"overlap-1f1b", always<overlap_1f1b>},
};

}  // namespace

std::optional<ClosedForm> closed_form(const ScheduleRequest& request) {
  const auto* schedule = find_schedule(request.name);
  if (schedule == nullptr || request.times.stages.empty()) return std::nullopt;
  const auto letters = letters_of(request, request.chunks.value_or(schedule->usual_chunks));
  for (const auto& row : table) {
    if (row.name == request.name) return row.form(letters);
  }
  return std::nullopt;
}

}  // namespace lockstep
