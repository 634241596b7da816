#include "tools/output/studies/rl_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/core/counted.hpp"
#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

std::string number(std::int64_t value) { return with_separators(static_cast<double>(value)); }
std::string_view mode(const rl::LoopSpec& spec) { return spec.one_step_off ? "one step off" : "synchronous"; }

std::string generation_note(const rl::LoopSpec& spec, const rl::Loop& loop) {
  if (spec.generation.time) return "stated";
  return counted(loop.replicas, "replica") + ", " + format_up_to_long(loop.least_generation) + " to " +
         format_up_to_long(loop.most_generation) + " in " + std::to_string(loop.draws) + " draws of lengths, " +
         percent(loop.running_share) + " of their places taken";
}

std::string refit_note(const rl::LoopSpec& spec, const rl::Loop& loop) {
  if (spec.refit) return "stated";
  return format(loop.sent.weights) + ": gathered in " + format(loop.sent.gather) +
         (loop.one_pool ? "" : ", broadcast in " + format(loop.sent.broadcast));
}

std::string steps(const rl::Loop& loop) {
  const double number = loop.optimizer_steps;
  return (number < 0.1 ? six_digits(number) : fixed(number, 2)) + " steps' tokens";
}

/// "DOES NOT FIT", "MAY NOT FIT" or nothing.
std::string unfit_words(const rl::Loop& loop) { return output::unfit_words(loop.fit().value_or(studies::Fit::fits)); }

Json loop_json(const rl::LoopSpec& spec, const rl::Loop& loop) {
  const auto simulated = [](bool stated, Seconds time) { return stated ? Json() : Json(time.value()); };
  const auto fit = fit_json(spec.training ? std::nullopt : loop.fit());
  return {{"mode", std::string(mode(spec))},
          {"pools", loop.one_pool ? 1 : 2},
          {"training_chips", loop.training_chips},
          {"generation_chips", loop.generation_chips},
          {"replicas", loop.replicas > 0 ? Json(loop.replicas) : Json()},
          {"rollouts", spec.rollouts()},
          {"tokens", loop.tokens},
          {"optimizer_steps", loop.optimizer_steps},
          {"iteration_s", loop.iteration.value()},
          {"tokens_per_s_per_chip", loop.tokens_per_s_per_chip()},
          {"phases",
           {{"generation_s", loop.generation.value()},
            {"logprobs_s", loop.logprobs.value()},
            {"training_s", loop.training.value()},
            {"refit_s", loop.refit.value()},
            {"overhead_s", loop.overhead.value()}}},
          {"exposed_generation_s", loop.exposed_generation.value()},
          {"training_bubble_s", loop.training_bubble().value()},
          {"generation_bubble_s", loop.generation_bubble().value()},
          {"draws", loop.draws},
          {"least_generation_s", loop.least_generation.value()},
          {"most_generation_s", loop.most_generation.value()},
          {"running_share", spec.generation.time ? Json() : Json(loop.running_share)},
          {"step_time_s", simulated(spec.training.has_value(), loop.step)},
          {"fits", fit["fits"]},
          {"verdict", fit["verdict"]},
          {"forward_time_s", simulated(spec.logprobs.has_value() || spec.scoring_models == 0, loop.forward)},
          {"refit",
           {{"weight_bytes", spec.refit ? Json() : Json(loop.sent.weights.value())},
            {"gather_s", simulated(spec.refit.has_value(), loop.sent.gather)},
            {"broadcast_s", simulated(spec.refit.has_value() || loop.one_pool, loop.sent.broadcast)}}}};
}

}  // namespace

std::string rl_text(const rl::LoopSpec& spec, const rl::Loop& loop) {
  const auto& chip = spec.policy.cluster.chip().name;
  const double mean = loop.tokens / static_cast<double>(spec.rollouts());
  std::string text = spec.name + ": " + counted(spec.prompts, "prompt") + " x " +
                     counted(spec.generations, "response") + ", " + with_separators(mean) +
                     " tokens each in the mean with their prompt; " + std::string(mode(spec)) + ", ";
  text += loop.one_pool ? "all phases on " + number(loop.training_chips) + ' ' + chip
                        : "training on " + number(loop.training_chips) + ' ' + chip + ", generation on " +
                              number(loop.generation_chips);
  if (const auto words = unfit_words(loop); !words.empty())
    text +=
        "\ntraining " + words + ": a chip's memory peaks at " + format(loop.peak_memory) + " of " + format(loop.memory);
  text += "\n\niteration " + format_up_to_long(loop.iteration) + "   " + with_separators(loop.tokens_per_s_per_chip()) +
          " tokens/s a chip\n\n";
  Table phases({"phase", "time", "share", "of which"});
  phases.align_left(3);
  const auto add = [&](const char* name, Seconds time, const std::string& note) {
    phases.add({name, format_up_to_long(time), percent(time / loop.iteration), note});
  };
  add("generation", loop.generation, generation_note(spec, loop));
  add("log-probabilities", loop.logprobs,
      spec.logprobs
          ? "stated"
          : std::to_string(spec.scoring_models) + " x " + steps(loop) + ", a forward " + format(loop.forward));
  add("training", loop.training, spec.training ? "stated" : steps(loop) + ", a step " + format(loop.step));
  add("refit", loop.refit, refit_note(spec, loop));
  if (loop.overhead > Seconds(0)) add("overhead", loop.overhead, "stated");
  text += phases.to_string();
  if (loop.one_pool) return text + "\none pool: the phases take turns on its chips\n";
  Table pools({"pool", "chips", "busy", "waits for the other", "share"});
  const auto pool = [&](const char* name, std::int64_t chips, Seconds bubble) {
    pools.add({name, number(chips), format_up_to_long(loop.iteration - bubble), format_up_to_long(bubble),
               percent(bubble / loop.iteration)});
  };
  pool("training", loop.training_chips, loop.training_bubble());
  pool("generation", loop.generation_chips, loop.generation_bubble());
  return text + "\n" + pools.to_string();
}

std::string rl_json(const rl::LoopSpec& spec, const rl::Loop& loop) {
  Json json{{"loop", spec.name}, {"policy", spec.policy.name}};
  json.update(loop_json(spec, loop));
  return json_document(json);
}

std::string splits_text(const rl::LoopSpec& spec, const std::vector<rl::Split>& splits) {
  Table table(
      {"nodes of training", "of generation", "iteration", "generation", "learning", "refit", "tokens/s a chip"});
  bool all_fit = true;
  for (const auto& [training, generation, loop] : splits) {
    const auto words = unfit_words(loop);
    all_fit = all_fit && words.empty();
    table.add({std::to_string(training) + (words.empty() ? "" : " " + words), std::to_string(generation),
               format_up_to_long(loop.iteration), format_up_to_long(loop.generation),
               format_up_to_long(loop.learning()), format(loop.refit), with_separators(loop.tokens_per_s_per_chip())});
  }
  const auto* best = rl::fastest_that_fits(splits);
  const auto& any = splits.front();
  return spec.name + ": " + std::string(mode(spec)) + ", " + std::to_string(any.training_nodes + any.generation_nodes) +
         " nodes shared out over two pools\n\n" + table.to_string() +
         (all_fit ? ""
                  : "DOES NOT FIT: training needs more memory than its chips have; MAY NOT FIT: what they have "
                    "lies within what measured peaks were off\n") +
         (best == nullptr
              ? "\ntraining DOES NOT FIT in any of these splits\n"
              : "\nshortest iteration: " + std::to_string(best->training_nodes) + " nodes of training, " +
                    std::to_string(best->generation_nodes) + " of generation" +
                    (unfit_words(best->loop).empty() ? "" : "; training " + unfit_words(best->loop)) + "\n");
}

std::string splits_json(const rl::LoopSpec& spec, const std::vector<rl::Split>& splits) {
  Json list = Json::array();
  for (const auto& [training, generation, loop] : splits)
    list.push_back({{"training_nodes", training}, {"generation_nodes", generation}, {"loop", loop_json(spec, loop)}});
  const auto* best = rl::fastest_that_fits(splits);
  return json_document(Json{{"loop", spec.name},
                            {"policy", spec.policy.name},
                            {"best", best == nullptr ? Json()
                                                     : Json{{"training_nodes", best->training_nodes},
                                                            {"generation_nodes", best->generation_nodes}}},
                            {"splits", list}});
}

}  // namespace lockstep::output
