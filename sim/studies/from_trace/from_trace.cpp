#include "sim/studies/from_trace/from_trace.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/calibration/calibrate_chip.hpp"
#include "sim/studies/from_trace/cluster_text.hpp"
#include "sim/studies/from_trace/fit_classes.hpp"
#include "sim/studies/from_trace/recognised_model.hpp"
#include "sim/studies/from_trace/scenario_keys.hpp"
#include "sim/studies/replay/rank_work.hpp"

namespace lockstep::from_trace {
namespace {

using workloads::RecordedEvent;

[[noreturn]] void refuse(const std::string& option, std::string what, std::string expected) {
  throw ConfigError({{{option, 0, 0}, "", std::move(what), std::move(expected)}});
}

class Making {
 public:
  Making(const workloads::RecordedJob& job, const FromTraceOptions& options, spdlog::logger& log)
      : job_(job), options_(options), log_(log), keys_(options.said) {
    if (!job.dated || !job.kernels)
      refuse("--scenario", "the trace (" + job.format + ") has no kernels with dates", "Kineto");
    Problems problems;
    spec_ = scenario::parse_cluster(options.cluster, {"--cluster", 0, 0}, "", problems);
    problems.throw_if_any();
  }

  FromTrace run() {
    recorded();
    recognise_degrees();
    recognise_model();
    set_keys();
    auto scenario = load("");
    const auto step = preparation::prepare_step(scenario);
    made_.collectives = replay::compared_collectives(job_, job_.ranks.front(), step);
    const StepClasses classes(step, replay::stage_of(step, made_.rank));
    const auto unfitted = classes.times(scenario);
    made_.is_fitted = scenario.time_model == cost::TimeModel::calibrated;
    ByClass<bool> measured{};
    if (made_.is_fitted) {
      measured = classes.fit(scenario, times_);
      scenario = load(calibration::kernels_yaml(*scenario.cluster.chip().kernels, rates_found(measured, unfitted)));
    }
    const auto fitted = classes.times(scenario);
    const auto flops = classes.flops();
    const auto traffic = classes.traffic();
    for (std::size_t at = 0; at < times_.size(); ++at) {
      made_.classes.push_back(
          {static_cast<KernelClass>(at), times_[at], unfitted[at], fitted[at], flops[at], traffic[at], measured[at]});
    }
    SimulateOptions simulated;
    simulated.engine = engine::EngineKind::max_min;
    made_.simulated_step = simulate(scenario, simulated, log_).metrics.step_time;
    return std::move(made_);
  }

 private:
  void say(const std::string& sentence) { made_.reasons.push_back(sentence); }
  [[nodiscard]] std::string source() const {
    return std::filesystem::path(job_.ranks.front().file).filename().string();
  }

  /// Says which rates the trace gives and which are those of the catalog; returns the former as the source of the
  /// rates. Refuses a trace that gives none.
  std::string rates_found(const ByClass<bool>& measured, const ByClass<Seconds>& catalog) {
    std::string found, out_of_reach, not_recorded;
    for (std::size_t at = 0; at < measured.size(); ++at) {
      const std::string kind(name(static_cast<KernelClass>(at)));
      auto& list = measured[at] ? found : times_[at] > Seconds(0) ? out_of_reach : not_recorded;
      list += (list.empty() ? "" : "; ") + kind;
      if (&list == &out_of_reach)
        list += " (recorded " + format(times_[at]) + ", at the catalog's rates " + format(catalog[at]) + ")";
    }
    if (found.empty()) {
      refuse("--scenario",
             out_of_reach.empty()
                 ? "the trace has no kernels, so none of the chip's rates can be fitted"
                 : "none of the chip's rates can be fitted: no share from 1 % to all of it explains " + out_of_reach,
             "a trace of kernels of the model, on the chip that --cluster names");
    }
    say("Rates of the trace: " + found + ".");
    if (!not_recorded.empty()) say("Rates of the catalog, since the trace has no such kernels: " + not_recorded + ".");
    if (!out_of_reach.empty())
      say("Rates of the catalog, since no share from 1 % to all of them explains what was recorded (the model does "
          "other "
          "work than the job, or on another chip): " +
          out_of_reach + ".");
    found += ": fitted to " + source();
    if (!not_recorded.empty() || !out_of_reach.empty()) found += "; others: catalog";
    return found;
  }

  /// What the kernels of each class take in a step.
  void recorded() {
    const auto& rank = job_.ranks.front();
    const auto work = replay::work_of(rank, job_.dated);
    const double steps = std::max<double>(1, static_cast<double>(rank.steps.size()));
    for (const auto& operation : work.operations) {
      if (operation.event < 0) continue;
      const auto& event = rank.events[operation.event];
      if (event.kind == RecordedEvent::Kind::collective || event.kind == RecordedEvent::Kind::host) continue;
      times_[position_of(class_of(job_, event))] += event.duration / steps;
    }
    made_.rank = rank.rank;
    made_.recorded_step = (work.end - work.begin) / steps;
  }

  void recognise_degrees() {
    degrees_ = recognised_degrees(job_);
    const auto axis = [&](const std::string& name, std::int64_t& degree) {
      degree = keys_.number("parallel." + name, degree);
      if (degree > 1 || keys_.has("parallel." + name)) keys_.set("parallel." + name, degree);
    };
    const auto said_more = degrees_.ranks();
    axis("tensor", degrees_.tensor);
    axis("pipeline", degrees_.pipeline);
    axis("context", degrees_.context);
    axis("expert", degrees_.expert);
    axis("fsdp", degrees_.fsdp);
    if (degrees_.ranks() != said_more && !keys_.has("parallel.data")) {  // what was said leaves other ranks
      const auto others = degrees_.ranks() / degrees_.data;
      degrees_.data = job_.world % others == 0 ? job_.world / others : 1;
    }
    axis("data", degrees_.data);
    if (degrees_.shards_optimizer && degrees_.data > 1) keys_.set("parallel.zero", 1);
    if (degrees_.shards_weights) keys_.set("parallel.zero", 3);
    if (degrees_.tensor > 1 && !degrees_.sequence_parallel) keys_.set("parallel.sequence_parallel", "false");
    for (const auto& reason : degrees_.reasons) say(reason);
  }

  /// The layers of a model that the user named; they need not divide among the stages.
  [[nodiscard]] std::optional<std::int64_t> said_layers() const {
    if (!keys_.has("model")) return std::nullopt;
    const auto text = "format: 1\nmodel: " + keys_.value("model") +
                      "\ncluster: tpu-v5p:1x1x1\nbatch: {sequences: 1, sequence_length: 1}\n";
    const auto layers = scenario::scenario_of_text(text, "--set", folder()).model.layers;
    return std::max<std::int64_t>(1, layers / degrees_.pipeline);
  }

  void recognise_model() {
    const auto kernels = timed_kernels(job_, 1);
    model_ = recognised_model(job_, degrees_, kernels, said_layers());
    for (const auto& reason : model_.reasons) say(reason);
    for (const auto* sentences : {&job_.guessed, &job_.missing}) {
      for (const auto& sentence : *sentences) say(sentence);
    }
    if (!kernels.empty() && model_.heads) say("Shapes of products and attention are those of the trace.");
  }

  void set_keys() {
    Problems problems;
    const auto missing = [&](const std::string& key, const std::string& expected) {
      problems.add({{"--scenario", 0, 0}, key, "the trace does not tell it", "--set " + key + "=" + expected});
    };
    if (!keys_.has("model")) {
      auto unknown = model_.unknown_of_model();
      if (degrees_.expert > 1 && !model_.experts) unknown.emplace_back("experts");
      std::string list;
      for (const auto& key : unknown) list += (list.empty() ? "" : ", ") + key;
      if (unknown.empty())
        keys_.set("model", model_text());
      else
        problems.add({{"--scenario", 0, 0},
                      "model",
                      "the trace does not tell its " + list,
                      "--set model=NAME, or a trace with the shapes of operators (record_shapes)"});
    }
    if (!keys_.has("batch.sequence_length")) {
      if (model_.sequence_length)
        keys_.set("batch.sequence_length", *model_.sequence_length);
      else
        missing("batch.sequence_length", "4096");
    }
    if (!keys_.has("batch.microbatch_size") && !keys_.has("batch.sequences")) {
      if (model_.sequences_of_microbatch)
        keys_.set("batch.microbatch_size", *model_.sequences_of_microbatch);
      else
        missing("batch.microbatch_size", "1");
    }
    problems.throw_if_any();
    if (!keys_.has("batch.sequences")) {
      const auto microbatches = keys_.number("batch.microbatches", model_.microbatches.value_or(1));
      if (!model_.microbatches && !keys_.has("batch.microbatches"))
        say("The number of microbatches is not known; taken to be 1.");
      keys_.set("batch.sequences", keys_.number("batch.microbatch_size", 1) * microbatches * degrees_.data *
                                       degrees_.fsdp * degrees_.expert);
    }
    if (model_.experts && model_.experts->over_tensor) keys_.set("parallel.experts_over", "[expert, tensor]");
    if (degrees_.pipeline > 1) set_schedule();
    if (model_.recomputes) keys_.set("training.recompute", "{mode: full}");
    if (model_.precision == topologies::Precision::fp32)
      say("Attention computes in fp32; the scenario is in bf16.");
    else if (model_.precision != topologies::Precision::bf16)
      keys_.set("training.precision", std::string(topologies::name(model_.precision)));
    if (model_.precision == topologies::Precision::fp16) keys_.set("training.master_weights", "true");
    keys_.set("model_of_time", spec_.chip().kernels ? "calibrated" : "roofline");
    if (!spec_.chip().kernels)
      say("Kernels of chip " + spec_.chip().name +
          " have no rates that could be fitted; the model of time is roofline.");
  }

  void set_schedule() {
    const bool all_first = model_.microbatches && model_.forwards_first && *model_.microbatches > 1 &&
                           *model_.forwards_first >= *model_.microbatches;
    keys_.set("pipeline.schedule", all_first ? "gpipe" : "1f1b");
    if (model_.forwards_first) {
      say("The first backward comes after " + std::to_string(*model_.forwards_first) + " microbatches: schedule " +
          (all_first ? "gpipe." : "1f1b."));
    } else {
      say("The order of the pipeline is not known; taken to be 1f1b.");
    }
  }

  [[nodiscard]] std::string model_text() const {
    const auto pair = [](const std::string& key, std::int64_t value) { return key + ": " + std::to_string(value); };
    std::string text = "{" + pair("layers", *model_.layers_of_stage * degrees_.pipeline) + ", " +
                       pair("d_model", *model_.d_model) + ", ";
    if (model_.d_ff) text += pair("d_ff", *model_.d_ff) + ", ";
    text += pair("heads", *model_.heads);
    if (model_.kv_heads != model_.heads) text += ", " + pair("kv_heads", *model_.kv_heads);
    if (*model_.head_size * *model_.heads != *model_.d_model) text += ", " + pair("head_size", *model_.head_size);
    text += ", " + pair("vocabulary", *model_.vocabulary);
    if (!model_.gated) text += ", mlp: plain";
    if (const auto& experts = model_.experts) {
      text += ", moe: {" + pair("experts", experts->experts) + ", " + pair("experts_per_token", experts->per_token) +
              ", " + pair("d_ff", experts->d_ff);
      if (model_.shared_d_ff) text += ", shared_experts: 1, " + pair("shared_d_ff", *model_.shared_d_ff);
      const auto layers = *model_.layers_of_stage;
      const auto with = std::llround(experts->layers * static_cast<double>(layers));
      if (with > 0 && with < layers) {
        text += ", " + (2 * with <= layers ? pair("every", layers / with) : pair("dense_first", layers - with));
      }
      text += "}";
    }
    return text + "}";
  }

  [[nodiscard]] std::filesystem::path folder() const { return std::filesystem::path(options_.file).parent_path(); }

  /// The scenario with these rates of its chip; empty: those of the catalog.
  scenario::Scenario load(const std::string& kernels) {
    keys_.set("cluster", cluster_text(options_.cluster, spec_, degrees_.ranks(), kernels));
    made_.yaml = keys_.yaml("# The job of " + source() + ", by lockstep replay --scenario.\n");
    return scenario::scenario_of_text(made_.yaml, options_.file.empty() ? "--scenario" : options_.file, folder());
  }

  const workloads::RecordedJob& job_;
  const FromTraceOptions& options_;
  spdlog::logger& log_;
  ScenarioKeys keys_;
  topologies::ClusterSpec spec_;
  ByClass<Seconds> times_{};
  Degrees degrees_;
  RecognisedModel model_;
  FromTrace made_;
};

}  // namespace

FromTrace scenario_of_trace(const workloads::RecordedJob& job, const FromTraceOptions& options, spdlog::logger& log) {
  return Making(job, options, log).run();
}

}  // namespace lockstep::from_trace
