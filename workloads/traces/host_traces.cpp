#include <algorithm>
#include <map>

#include "sim/core/errors.hpp"
#include "workloads/traces/host_traces_private.hpp"
#include "workloads/traces/peers_private.hpp"

namespace lockstep::workloads {
namespace {

class Completing {
 public:
  Completing(RecordedJob& job, const RecordedJob& host) : job_(job), host_(host) {}

  void run() {
    for (const auto& called : host_.ranks) {
      const auto rank = std::find_if(job_.ranks.begin(), job_.ranks.end(),
                                     [&](const RecordedRank& one) { return one.rank == called.rank; });
      if (rank == job_.ranks.end())
        problem(called, "is of rank " + std::to_string(called.rank) + ", of which there is no trace of the device");
      else
        complete(*rank, called);
    }
    problems_.throw_if_any();
    forget_what_was_missing(job_);
  }

 private:
  void problem(const RecordedRank& called, std::string what) {
    problems_.add({{called.file, 0, 0}, "", std::move(what), "an execution trace of the same steps"});
  }

  void complete(RecordedRank& rank, const RecordedRank& called) {
    const auto order = collectives_in_order_of_calls(rank);
    if (std::cmp_not_equal(order.size(), called.collectives.size())) {
      return problem(called, "has " + std::to_string(called.collectives.size()) + " collectives, " + rank.file +
                                 " has " + std::to_string(order.size()));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto& made = rank.collectives[order[i]];
      const auto& told = called.collectives[static_cast<std::int32_t>(i)];
      if (made.kind && told.kind && made.kind != told.kind) {
        return problem(called, "calls " + std::string(name(*told.kind)) + " as collective " + std::to_string(i) +
                                   ", in " + rank.file + " it is " + std::string(name(*made.kind)));
      }
      if (!made.kind) {
        made.kind = told.kind;
        made.role = told.role;
        made.peer = told.peer;
      }
      if (!made.buffer) {
        made.buffer = told.buffer;
        made.buffer_is_shard = told.buffer_is_shard;
      }
      const auto& group = host_.groups[told.group];
      if (job_.groups[made.group].ranks.empty() && (!group.ranks.empty() || !group.name.empty()))
        made.group = imported(told.group);
    }
    std::map<RecordedGroupId, std::int64_t> seen;
    for (const auto& event : rank.events) {
      if (event.collective < 0) continue;
      auto& made = rank.collectives[event.collective];
      made.sequence = seen[made.group]++;
    }
  }

  RecordedGroupId imported(RecordedGroupId of_host) {
    const auto [known, is_new] = groups_.try_emplace(of_host, job_.groups.next_id());
    if (is_new) job_.groups.push_back(host_.groups[of_host]);
    return known->second;
  }

  RecordedJob& job_;
  const RecordedJob& host_;
  std::map<RecordedGroupId, RecordedGroupId> groups_;  // of the host's, in the job
  Problems problems_;
};

}  // namespace

void complete_collectives(RecordedJob& job, const RecordedJob& host) { Completing(job, host).run(); }

}  // namespace lockstep::workloads
