#pragma once
/// The output of `lockstep plan`.
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "sim/studies/planning/memory_front.hpp"
#include "tools/output/results/result_json.hpp"

namespace lockstep::output {

/// "tensor 8, pipeline 4, data 16, ZeRO-1, 32 microbatches, 1f1b, recompute none": what the plan decides.
[[nodiscard]] std::string plan_name(const planning::PlanSpace& space, const planning::PlanChoice& choice);
/// The places of the axes: "tensor [gpu/8], data [node/16]".
[[nodiscard]] std::string placement_name(const planning::PlanSpace& space, const planning::PlanChoice& choice);
/// The parts in which a plan is slower than the best, largest first: "+0.12 s exposed tensor, +0.03 s bubble".
[[nodiscard]] std::string why_it_loses(const planning::PlanFigures& plan, const planning::PlanFigures& best);

/// What a program can have of a chip, where a search may ask for less.
[[nodiscard]] Bytes program_memory(const planning::PlanSpace& space);
/// "MAY NOT FIT: 80 % of measured peaks ...; search.memory: 63.5 GB leaves such plans out" where the plan may not
/// fit; else empty.
[[nodiscard]] std::string may_not_fit_text(const planning::PlanSpace& space, const planning::RankedPlan& plan);
/// "no plan keeps within 80.0 GB of memory": a search shows plans whose predicted peak is at most its memory.
[[nodiscard]] std::string none_keeps_within(const planning::SearchProof& proof, Bytes memory);
/// A JSON list with the best plan of each of several clusters.
class PlanRows {
 public:
  /// `days`, `cost`: of a training; 0: none asked for.
  void add(const planning::PlanSpace& space, const planning::SearchResult& result, double days, double cost);
  void add_none(std::int64_t chips, const std::string& why);
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<nlohmann::ordered_json> rows_;
};

/// How far the best plan's step may be off; empty if nothing like it was measured.
[[nodiscard]] std::string band_of_best(const planning::PlanSpace& space, const planning::SearchResult& result);
/// "of 24 plans, 8 have a lower bound above the last one shown, ...; gap 0", and where it was stopped.
[[nodiscard]] std::string proof_line(const planning::SearchResult& result);
/// What was searched: scenario, model, machine, tokens; and its notes.
[[nodiscard]] std::string plan_head(const planning::PlanSpace& space);
[[nodiscard]] std::string plan_text(const planning::PlanSpace& space, const planning::SearchResult& result);
/// A line on the plan in the scenario's file, beside the best; empty without either.
[[nodiscard]] std::string beside_the_files_own(const planning::PlanSpace& space, const planning::SearchResult& result,
                                               const std::optional<planning::PlanFigures>& own);
/// `front`: best plans under less memory, if they were searched.
[[nodiscard]] std::string plan_json(const planning::PlanSpace& space, const planning::SearchResult& result,
                                    WallTimes times, std::span<const planning::MemoryPoint> front = {},
                                    const nlohmann::ordered_json& objective = {});

}  // namespace lockstep::output
