#include "sim/studies/replay/job_shape.hpp"

#include <algorithm>
#include <cctype>

#include "sim/core/counted.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::replay {
namespace {

[[noreturn]] void refuse(const std::string& option, std::string what, std::string expected) {
  throw ConfigError({{{option, 0, 0}, "", std::move(what), std::move(expected)}});
}

/// Whether a group is called data parallel: "dp", "DATA_PARALLEL_GROUP", "mesh_dp_shard", "fsdp".
bool is_data_parallel(const workloads::RecordedGroup& group) {
  std::string text;
  for (const char c : group.description + " " + group.name)
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  return has("data") || has("dp") || has("zero");
}

std::string text_of(const workloads::RecordedGroup& group) {
  const auto text = group.description.empty() ? group.name : group.description;
  return "'" + (text.empty() ? "all ranks" : text) + "' of " + std::to_string(group.size);
}

}  // namespace

JobShape::JobShape(const workloads::RecordedJob& job, const ReplayOptions& options)
    : job_(job), world_(std::max(job.world, 1)) {
  const auto recorded = static_cast<std::int32_t>(job.ranks.size());
  one_for_all_ = recorded == 1 && world_ > 1;
  if (options.data > 0 && !one_for_all_) {
    if (world_ == 1) refuse("--data", "the job has one rank, so no group is data parallel", "a job of several ranks");
    refuse("--data", "the traces are those of " + std::to_string(recorded) + " of " + counted(world_, "rank"),
           "the trace of one rank, which then stands for all");
  }
  if (options.cluster != nullptr && recorded != 1 && recorded != world_) {
    refuse("--cluster", "there are traces of " + std::to_string(recorded) + " of " + counted(world_, "rank"),
           "the trace of one rank, which then stands for all, or those of all");
  }
  spreads_.resize(job.groups.size());
  if (one_for_all_) {
    for (const auto id : job.groups.ids()) spreads_[id] = recorded_spread(job.groups[id]);
    if (options.data > 0) resize(options);
    notes_.push_back("One rank's trace stands for " +
                     (world_ == 1 ? "the only rank" : "all " + counted(world_, "rank")) +
                     "; waiting for slower ranks cannot be told from it.");
  }
  ranks_ = one_for_all_ ? (options.cluster != nullptr ? world_ : 1) : recorded;
  if (options.cluster != nullptr && ranks_ > options.cluster->devices()) {
    refuse("--cluster",
           "the cluster has " + counted(options.cluster->devices(), "chip") + ", the job " + counted(ranks_, "rank"),
           "at least as many chips as ranks");
  }
  if (options.cluster != nullptr && ranks_ < options.cluster->devices())
    notes_.push_back("The job takes the first " + (ranks_ == 1 ? "" : std::to_string(ranks_) + " ") +
                     "of the cluster's " + counted(options.cluster->devices(), "chip") + ".");
}

JobShape::Spread JobShape::recorded_spread(const workloads::RecordedGroup& group) const {
  Spread spread{group.size == 0 ? world_ : group.size, 1};
  auto ranks = group.ranks;
  std::sort(ranks.begin(), ranks.end());
  if (ranks.size() > 1) spread.stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != spread.stride)
      refuse(job_.ranks.front().file, "the ranks of group " + text_of(group) + " are not evenly spaced",
             "the traces of all ranks");
  }
  if (std::int64_t{spread.size} * spread.stride > world_ || world_ % (spread.size * spread.stride) != 0) {
    refuse(job_.ranks.front().file,
           "groups like " + text_of(group) + " do not make up the " + std::to_string(world_) + " ranks of the job",
           "the traces of all ranks");
  }
  return spread;
}

workloads::RecordedGroupId JobShape::data_group() const {
  std::vector<workloads::RecordedGroupId> used, named;
  for (const auto& collective : job_.ranks.front().collectives) {
    if (collective.kind == workloads::CollectiveKind::point_to_point || spreads_[collective.group].size < 2) continue;
    if (std::find(used.begin(), used.end(), collective.group) == used.end()) used.push_back(collective.group);
  }
  for (const auto id : used) {
    if (is_data_parallel(job_.groups[id])) named.push_back(id);
  }
  if (named.empty() && used.size() == 1) return used.front();
  if (named.size() == 1) return named.front();
  std::string list;
  for (const auto id : used) list += (list.empty() ? "" : ", ") + text_of(job_.groups[id]);
  refuse("--data", "the trace does not tell which of its groups is data parallel: " + (list.empty() ? "none" : list),
         "one group of that name, or one group alone");
}

/// The data-parallel group gets another size; groups that step over it keep their place beside it.
void JobShape::resize(const ReplayOptions& options) {
  const auto data = data_group();
  const auto old = spreads_[data];
  const auto fewer = world_ / old.size;
  if (options.data > workloads::most_recorded_ranks / fewer)
    refuse("--data", std::to_string(options.data) + " is too many", "at most a million ranks in all");
  const auto size = static_cast<std::int32_t>(options.data);
  for (auto& spread : spreads_) {
    if (spread.stride >= old.stride * old.size) {
      spread.stride = spread.stride / old.size * size;
    } else if (spread.size * spread.stride >= old.size * old.stride && spread.stride <= old.stride) {
      spread.size = spread.size / old.size * size;
    }
  }
  world_ = fewer * size;
  if (size == old.size) return;
  notes_.push_back("Data parallel over " + std::to_string(size) + " instead of " + std::to_string(old.size) +
                   " ranks, each with the batch that it had; arrays of gradients and weights keep their sizes.");
}

bool JobShape::is_alone(const workloads::RecordedCollective& collective) const {
  const auto recorded = job_.groups[collective.group].size;
  return one_for_all_ && collective.kind && collective.kind != workloads::CollectiveKind::point_to_point &&
         (recorded == 0 ? job_.world : recorded) > 1 && spreads_[collective.group].size == 1;
}

std::vector<Ranks> JobShape::groups(const MatchedCollective& collective) const {
  std::vector<Ranks> groups;
  if (!one_for_all_ || ranks_ == 1) {
    Ranks members;
    for (const auto& part : collective.parts) members.push_back(part.rank);
    std::sort(members.begin(), members.end());
    return {members};
  }
  const auto& what = collective.what;
  const Spread spread =
      what.kind && what.kind != workloads::CollectiveKind::point_to_point ? spreads_[what.group] : Spread{};
  for (topologies::RankId first = 0; first < ranks_; ++first) {
    if (first / spread.stride % spread.size != 0) continue;
    auto& members = groups.emplace_back();
    for (std::int32_t i = 0; i < spread.size; ++i) members.push_back(first + i * spread.stride);
  }
  return groups;
}

}  // namespace lockstep::replay
