#include "sim/studies/from_trace/recognised_degrees.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/studies/from_trace/recognised_experts.hpp"

namespace lockstep::from_trace {
namespace {

using workloads::CollectiveKind;

enum class Axis { tensor, pipeline, context, expert, replicated, sharded };

/// The words of a group's name and description, in small letters: "mesh_dp_shard" has mesh, dp and shard.
std::set<std::string> words_of(const workloads::RecordedGroup& group) {
  std::set<std::string> words;
  std::string word;
  for (const char c : group.description + " " + group.name + " ") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

std::optional<Axis> axis_of(const std::set<std::string>& words) {
  const auto has = [&](std::initializer_list<const char*> some) {
    return std::any_of(some.begin(), some.end(), [&](const char* word) { return words.contains(word); });
  };
  const bool data = has({"dp", "data", "ddp", "fsdp", "zero", "hsdp"});
  if (data && has({"shard", "fsdp"})) return Axis::sharded;
  if (data) return Axis::replicated;
  if (has({"pp", "pipe", "pipeline"})) return Axis::pipeline;
  if (has({"cp", "context"})) return Axis::context;
  if (has({"ep", "expert"})) return Axis::expert;
  if (has({"tp", "tensor"})) return Axis::tensor;
  return std::nullopt;
}

struct Use {
  std::int64_t size = 1;
  std::map<CollectiveKind, std::int64_t> times;
};

class Recognising {
 public:
  explicit Recognising(const workloads::RecordedJob& job) : job_(job) {}

  Degrees run() {
    collect();
    name_the_only_one();
    for (const auto& [axis, use] : uses_) set(axis, use);
    complete();
    return std::move(degrees_);
  }

 private:
  static std::int64_t times(const Use& use, CollectiveKind kind) {
    const auto found = use.times.find(kind);
    return found == use.times.end() ? 0 : found->second;
  }

  void collect() {
    for (const auto& collective : job_.ranks.front().collectives) {
      if (!collective.kind) continue;
      const auto& group = job_.groups[collective.group];
      const bool sends = collective.kind == CollectiveKind::point_to_point;
      const auto axis = sends ? Axis::pipeline : axis_of(words_of(group));
      const std::int64_t size = group.size == 0 ? job_.world : group.size;
      if (sends && axis_of(words_of(group)) != Axis::pipeline) {
        peers_.insert(collective.peer);
        sends_ = true;
        continue;
      }
      auto& use = axis ? uses_[*axis] : unnamed_[collective.group];
      use.size = std::max(use.size, size);
      ++use.times[*collective.kind];
    }
  }

  /// A job whose only group has no telling name is data parallel.
  void name_the_only_one() {
    const auto distributes_experts = [&](const Use& use) {
      return times(use, CollectiveKind::all_to_all) > 0 && !uses_.contains(Axis::expert) && computes_experts(job_);
    };
    const bool is_only =
        unnamed_.size() == 1 && uses_.empty() && !sends_ && !distributes_experts(unnamed_.begin()->second);
    for (const auto& [group, use] : unnamed_) {
      if (use.size < 2) continue;
      if (is_only) {
        uses_[Axis::replicated] = use;
        say("Its only group is taken to be data parallel.");
      } else if (distributes_experts(use)) {
        uses_[Axis::expert] = use;
        say("The group of " + std::to_string(use.size) + " ranks with all-to-alls is taken to distribute the experts.");
      } else {
        const auto& told = job_.groups[group];
        say("What group '" + (told.description.empty() ? told.name : told.description) + "' of " +
            std::to_string(use.size) + " ranks is for is not known.");
      }
    }
  }

  void set(Axis axis, const Use& use) {
    const auto reduces = times(use, CollectiveKind::all_reduce), gathers = times(use, CollectiveKind::all_gather),
               scatters = times(use, CollectiveKind::reduce_scatter);
    switch (axis) {
      case Axis::tensor:
        degrees_.tensor = use.size;
        degrees_.sequence_parallel = gathers + scatters > reduces;
        return;
      case Axis::pipeline: degrees_.pipeline = use.size; return;
      case Axis::context: degrees_.context = use.size; return;
      case Axis::expert: degrees_.expert = use.size; return;
      case Axis::sharded: degrees_.fsdp = use.size; return;
      case Axis::replicated: break;
    }
    // Whoever gathers weights for the forward and again for the backward gathers twice as often as it scatters.
    if (gathers >= 2 * scatters && scatters > 1) {
      degrees_.fsdp = use.size;
      say("Weights are gathered for both passes (" + std::to_string(gathers) + " gathers, " + std::to_string(scatters) +
          " scatters of gradients): FSDP.");
    } else {
      degrees_.data = use.size;
      degrees_.shards_optimizer = scatters > 0 && gathers > 0;
    }
  }

  void complete() {
    auto& made = degrees_;
    if (made.context > 1 && made.data > 1 && made.data % made.context == 0 && job_.world % made.ranks() != 0) {
      made.data /= made.context;
      say("The data-parallel group is that with context parallelism.");
    }
    const std::int64_t world = std::max(job_.world, 1);
    for (auto* ranks : {&made.data, &made.fsdp}) {
      if (made.expert == 1 || made.ranks() <= world || *ranks % made.expert != 0) continue;
      *ranks /= made.expert;
      say("Ranks with other experts are among the data-parallel ones.");
      if (ranks == &made.data) continue;
      made.shards_weights = true;  // over more ranks than one axis has
      made.data *= std::exchange(made.fsdp, 1);
    }
    if (sends_ && made.pipeline == 1) {
      const auto others = made.ranks();
      made.pipeline = others > 0 && world % others == 0 ? world / others : 1;
      say("It sends to and receives from " + std::to_string(peers_.size()) + " other ranks: a pipeline of " +
          std::to_string(made.pipeline) + ", the ranks that its groups leave.");
    }
    const auto known = made.ranks();
    if (known < world && world % known == 0) {
      made.data *= world / known;
      say("What its groups leave of " + std::to_string(world) + " ranks is taken to be data parallel.");
    }
  }

  void say(std::string sentence) { degrees_.reasons.push_back(std::move(sentence)); }

  const workloads::RecordedJob& job_;
  std::map<Axis, Use> uses_;
  std::map<workloads::RecordedGroupId, Use> unnamed_;
  std::set<std::int32_t> peers_;
  bool sends_ = false;
  Degrees degrees_;
};

}  // namespace

Degrees recognised_degrees(const workloads::RecordedJob& job) { return Recognising(job).run(); }

}  // namespace lockstep::from_trace
