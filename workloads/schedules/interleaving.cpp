#include "workloads/schedules/interleaving.hpp"

#include <algorithm>

namespace lockstep {

std::optional<InterleavedPasses::Pass> InterleavedPasses::at(std::int32_t pass) const {
  if (pass < 0 || pass >= count()) return std::nullopt;
  const auto first = pass / (group_ * shape_.chunks) * group_;
  const auto size = std::min(group_, shape_.microbatches - first);
  const auto within = pass - first * shape_.chunks;
  return Pass{within / size, first + within % size};
}

std::optional<PipelineAction> InterleavedPasses::forward(std::int32_t rank, std::int32_t pass) const {
  const auto found = at(pass);
  if (!found) return std::nullopt;
  return PipelineAction{PipelineWork::forward, found->chunk * shape_.ranks + rank, found->microbatch};
}

std::optional<PipelineAction> InterleavedPasses::backward(PipelineWork work, std::int32_t rank,
                                                          std::int32_t pass) const {
  const auto found = at(pass);
  if (!found) return std::nullopt;
  return PipelineAction{work, (shape_.chunks - 1 - found->chunk) * shape_.ranks + rank, found->microbatch};
}

void append(std::vector<PipelineCell>& cells, const std::optional<PipelineAction>& action) {
  if (action) cells.push_back({*action, std::nullopt});
}

std::int32_t megatron_group(const ScheduleRequest& request) {
  const auto text = [](std::int32_t number) { return std::to_string(number); };
  const auto ranks = request.ranks;
  const auto microbatches = request.microbatches;
  if (!request.group) {
    if (microbatches % ranks != 0) {
      throw ScheduleError("microbatches", text(microbatches) + " is not a multiple of the " + text(ranks) + " stages",
                          "a multiple of the stages, or a group size that allows another number");
    }
    return ranks;
  }
  const auto group = *request.group;
  if (group < ranks || group > microbatches) {
    throw ScheduleError(
        "group", text(group) + " is out of range",
        "a number from " + text(ranks) + " (the stages) to " + text(microbatches) + " (the microbatches)");
  }
  const auto rest = microbatches % group;
  if (rest != 0 && rest < ranks) {
    throw ScheduleError("group",
                        "groups of " + text(group) + " leave " + text(rest) + " of " + text(microbatches) +
                            " microbatches for the last group",
                        "a last group of at least " + text(ranks) + " (the stages), or none left");
  }
  return group;
}

std::int32_t pytorch_group(const ScheduleRequest& request) {
  const auto rounds = std::max(1, request.microbatches / request.ranks);
  if (request.microbatches % rounds != 0) {
    throw ScheduleError(
        "microbatches",
        std::to_string(request.microbatches) + " cannot go in " + std::to_string(rounds) +
            " equal rounds (microbatches / stages, rounded down)",
        "a multiple of the rounds, as every multiple of the " + std::to_string(request.ranks) + " stages is");
  }
  return request.microbatches / rounds;
}

}  // namespace lockstep
