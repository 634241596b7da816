#pragma once
/// What readers write a job with: names and groups that are known once, sentences that are said once.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "workloads/traces/recorded_job.hpp"
#include "workloads/traces/trace_text.hpp"

namespace lockstep::workloads {

class JobWriter {
 public:
  explicit JobWriter(RecordedJob& job) : job_(job) {}

  [[nodiscard]] RecordedNameId name(std::string_view text);
  /// The group with these properties; of two that differ in nothing but what one does not tell, the same.
  [[nodiscard]] RecordedGroupId group(RecordedGroup group);
  [[nodiscard]] RecordedOperatorId called(RecordedOperator made);
  /// A process group that the trace describes apart from its collectives, by its name.
  void describe(RecordedGroup group);
  void guessed(const std::string& sentence);
  void missing(const std::string& sentence);
  /// The number of ranks, which all traces of a job agree on; false if they do not.
  [[nodiscard]] bool world(std::int64_t ranks);

  [[nodiscard]] RecordedJob& job() { return job_; }
  RecordedRank rank;  ///< that is being read; its number is a guess until the trace tells it
  bool dated = true, kernels = true;

 private:
  RecordedJob& job_;
  std::unordered_map<std::string, RecordedNameId> names_;
  std::map<std::tuple<std::string, std::vector<std::int32_t>, std::int32_t>, RecordedGroupId>
      groups_;  // name, ranks, size
  std::map<std::string, RecordedGroup> described_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, RecordedOperatorId> operators_;
};

/// One kind of trace: how it begins, and its reader.
struct TraceFormat {
  std::string_view name;
  bool (*recognises)(std::string_view head);
  void (*read)(TraceText& text, JobWriter& writer);
  bool has_kernels;  ///< the device's work, not only what was communicated
};

/// The collective that PyTorch, NCCL or a kernel's name means ("_all_gather_base", "allreduce", "ncclDevKernel_..."); a
/// barrier is an all_reduce; nothing for a kind that is not simulated or not told.
struct CollectiveWord {
  std::optional<CollectiveKind> kind;
  RecordedCollective::Role role = RecordedCollective::Role::all;
  bool barrier = false;
};
[[nodiscard]] CollectiveWord collective_named(std::string_view word);
/// The bytes of an element of PyTorch's type ("Float", "c10::BFloat16", "long int"), or nothing.
[[nodiscard]] std::optional<std::int64_t> bytes_of_type(std::string_view type);
/// The product, unless it does not fit into 62 bits or a factor is negative.
[[nodiscard]] std::optional<std::int64_t> bounded_product(std::int64_t a, std::int64_t b);
/// Ranks that are written as numbers from 0 to most_recorded_ranks; nothing otherwise.
[[nodiscard]] std::optional<std::vector<std::int32_t>> as_ranks(const std::vector<std::int64_t>& numbers);

}  // namespace lockstep::workloads
