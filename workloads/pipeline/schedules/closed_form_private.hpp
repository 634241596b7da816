#pragma once
/// Helpers with which closed forms of schedules are written.
#include <optional>
#include <string>
#include <utility>

#include "workloads/pipeline/schedules/closed_form.hpp"

namespace lockstep::workloads {

/// The letters of the forms. F, I, W, B are of one microbatch on one chunk.
struct FormLetters {
  double P, M, V, N, n, F, I, W, B, pair, c;
  bool uniform;                 ///< all stages take the same times
  bool slices_alike;            ///< all slices of a microbatch take the same time
  std::optional<double> limit;  ///< of memory, if it is one for all ranks
  [[nodiscard]] double least() const { return std::min(F, I); }
};

[[nodiscard]] bool same(double a, double b);
[[nodiscard]] bool at_most(double a, double b);
[[nodiscard]] bool divides(double a, double b);

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
  /// The user's limit is in the units of an ActivationModel and not a number of microbatches.
  Form& holds_under_limit() {
    form_.activations_expression = "memory limit";
    return *this;
  }
  Form& note(std::string note) {
    form_.note = std::move(note);
    return *this;
  }
  /// B is the letter on which the literature disagrees.
  ClosedForm finish(const FormLetters& of, bool per_rank) {
    form_.symbols = std::string("F forward, I input gradient, W weight gradient, B = I + W whole backward") +
                    (per_rank && of.V > 1 ? ", of one microbatch through all V chunks of a rank"
                                          : ", of one microbatch on one stage") +
                    "; P ranks, M microbatches" + (of.V > 1 ? ", V chunks of a rank" : "") +
                    (of.n > 1 ? ", n slices of a microbatch" : "") + ", c latency";
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

// ---- shared by several schedules ---------------------------------------------------------------------

/// A microbatch's round trip between neighbours stands in the steady state of 1F1B, once for every P microbatches.
Form& steady_latency(Form& form, const FormLetters& of);
Form interleaved_bubble(const FormLetters& of);
double interleaved_activations(const FormLetters& of, double more_chunks);
/// A pair lasts at least as long as its longer half, at most as long as both.
Form& overlapping(Form& form, const FormLetters& of);
/// F = I = W.
bool all_alike(const FormLetters& of);
/// F = I = W fills every gap inside the ranks' spans.
Form nothing_in_span(const FormLetters& of, double microbatches, const std::string& condition);
/// `ranks` are those of one direction: P/2 of DualPipe, P of its half.
Form dual_bubble(const FormLetters& of, double ranks, const std::string& factor);

/// Of seq1f1b and slimpipe, and of seq1f1b-interleaved.
std::optional<ClosedForm> sliced_form(const FormLetters& of);
std::optional<ClosedForm> sliced_interleaved_form(const FormLetters& of);

}  // namespace lockstep::workloads
