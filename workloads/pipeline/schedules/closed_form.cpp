#include "workloads/pipeline/schedules/closed_form_private.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::workloads {
namespace {

using enum ClosedForm::Of;

FormLetters letters_of(const ScheduleRequest& request, std::int32_t chunks) {
  FormLetters of{};
  of.P = request.ranks;
  of.M = request.microbatches;
  of.V = chunks;
  of.N = group_of(request);
  of.n = request.slices;
  of.c = request.times.latency;
  double all_slices = 0;
  of.slices_alike = true;
  for (SliceId slice = 0; slice < request.slices; ++slice) {
    all_slices += request.times.share_of(slice);
    of.slices_alike &= same(request.times.share_of(slice), request.times.share_of(0));
  }
  const auto& stages = request.times.stages;
  const auto count = static_cast<double>(stages.size());
  of.uniform = true;
  for (const auto& stage : stages) {
    of.F += stage.forward * all_slices / count;
    of.I += stage.input_gradient * all_slices / count;
    of.W += stage.weight_gradient * all_slices / count;
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

}  // namespace

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }
bool at_most(double a, double b) { return a <= b || same(a, b); }
bool divides(double a, double b) { return std::fmod(b, a) == 0; }

Form& steady_latency(Form& form, const FormLetters& of) {
  const double trips = of.P > 1 ? 2 * (of.P - 1) * of.M / of.P + 2 * (of.P - 2) : 0;
  return form.latency("(2(P-1)M/P + 2(P-2))c", trips * of.c, "P divides M", divides(of.P, of.M));
}

Form interleaved_bubble(const FormLetters& of) {
  Form form(step, "(P-1)(F+B)/V", (of.P - 1) * (of.F + of.B));
  form.needs("N >= P", of.N >= of.P)
      .needs("P or N divides M", divides(of.P, of.M) || divides(of.N, of.M))
      .needs("N <= M", of.N <= of.M);
  return form;
}

double interleaved_activations(const FormLetters& of, double more_chunks) {
  return std::min(of.M, ((of.V - 1) * of.N + 2 * (of.P - 1) + 1 + more_chunks) / of.V);
}

Form& overlapping(Form& form, const FormLetters& of) {
  return form.needs("F&B >= F, F&B >= B, F&B <= F + B",
                    at_most(std::max(of.F, of.B), of.pair) && at_most(of.pair, of.F + of.B));
}

bool all_alike(const FormLetters& of) { return same(of.F, of.I) && same(of.I, of.W); }

Form nothing_in_span(const FormLetters& of, double microbatches, const std::string& condition) {
  Form form(span, "0", 0);
  form.needs("F = I = W", all_alike(of)).needs(condition, of.M >= microbatches);
  form.note("a bubble of the span; with an optimizer barrier the step keeps (P-1)F of one chunk");
  return form;
}

Form dual_bubble(const FormLetters& of, double ranks, const std::string& factor) {
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

std::optional<ClosedForm> sliced_form(const FormLetters& of) {
  Form form(step, "(P-1)(F+B)/n", (of.P - 1) * (of.F + of.B) / of.n);
  form.needs("slices alike", of.slices_alike);
  const double trips = of.P > 1 ? 2 * (of.P - 1) * of.M * of.n / of.P + 2 * std::max(of.P - 1 - of.n, 0.0) : 0;
  form.latency("(2(P-1)Mn/P + 2 max(P-1-n, 0))c", trips * of.c, "P divides Mn, n <= P",
               divides(of.P, of.M * of.n) && of.n <= of.P);
  return form.holds("min(M, (P-r+n-1)/n) on rank r", std::min(of.M, (of.P + of.n - 1) / of.n)).finish(of, true);
}

std::optional<ClosedForm> sliced_interleaved_form(const FormLetters& of) {
  Form form(step, "(P-1)(F+B)/(nV)", (of.P - 1) * (of.F + of.B) / of.n);
  form.needs("slices alike", of.slices_alike);
  form.latency("2(PV-1)c", of.P > 1 ? 2 * (of.P * of.V - 1) * of.c : 0, "c <= F/(nV) and c <= B/(nV)",
               at_most(of.c * of.n, std::min(of.F, of.B)));
  return form
      .holds("min(M, ((V-1)P + 2(P-1-r) + n)/(nV)) on rank r",
             std::min(of.M, ((of.V - 1) * of.P + 2 * (of.P - 1) + of.n) / (of.n * of.V)))
      .finish(of, true);
}

std::optional<ClosedForm> closed_form(const ScheduleRequest& request) {
  const auto* schedule = find_schedule(request.name);
  if (schedule == nullptr || schedule->closed_form == nullptr || request.times.stages.empty()) return std::nullopt;
  return schedule->closed_form(letters_of(request, request.chunks.value_or(schedule->usual_chunks)));
}

}  // namespace lockstep::workloads
