#include "sim/program/fold.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/program/flows_private.hpp"
#include "sim/program/refine.hpp"
#include "sim/program/slack_links.hpp"

namespace lockstep::program {
namespace {

class Quotient {
 public:
  Quotient(Program& whole, FoldedLinks links)
      : whole_(whole),
        slack_(links == FoldedLinks::all ? SomeLinks(whole_.links.size(), false) : slack_links(whole_)),
        partition_(refine(whole_, slack_)),
        slack_class_(partition_.links, false),
        seen_flow_(partition_.flows, false) {}

  FoldedProgram run() {
    ranks();
    links();
    communicators();
    take_operations(whole_, result_.program);
    return std::move(result_);
  }

 private:
  void ranks() {
    auto& classes = result_.ranks;
    classes.class_of_rank.assign(partition_.rank.begin(), partition_.rank.end());
    classes.size.assign(partition_.ranks, 0);
    for (const auto rank : partition_.rank.ids()) {
      if (classes.size[partition_.rank[rank]]++ > 0) continue;
      classes.representative.push_back(rank);
      result_.program.stage_of_rank.push_back(whole_.stage_of_rank[rank]);
      result_.program.slowdown_of_rank.push_back(whole_.slowdown_of_rank[rank]);
      if (!whole_.chip_of_rank.empty()) result_.program.chip_of_rank.push_back(whole_.chip_of_rank[rank]);
    }
  }

  /// One link per class, and how often flows of each class cross one of its members.
  void links() {
    result_.links = static_cast<std::int32_t>(whole_.links.size());
    auto& member = result_.link_members.representative;
    member.assign(partition_.links, -1);
    result_.link_members.size.assign(member.size(), 0);
    result_.link_members.class_of_link.assign(partition_.link.begin(), partition_.link.end());
    for (const auto link : whole_.links.ids()) {
      const auto link_class = partition_.link[link];
      ++result_.link_members.size[link_class];
      auto& chosen = member[link_class];
      if (chosen < 0) {
        chosen = link;
        slack_class_[link_class] = slack_[link];
        result_.program.links.push_back(whole_.links[link]);
      }
    }
    std::size_t f = 0;
    Indexed<LinkClassId, bool> used(partition_.links, false);
    for_each_flow(whole_, [&](const collectives::Flow& flow) {
      for (const auto link : flow.links) {
        const auto link_class = partition_.link[link];
        used[link_class] = true;
        if (member[link_class] == link) ++crossings_[{partition_.flow[f], link_class}];
      }
      ++f;
    });
    result_.link_classes = static_cast<std::int32_t>(std::count(used.begin(), used.end(), true));
  }

  void communicators() {
    std::size_t g = 0;
    std::size_t f = 0;
    Indexed<std::int32_t, bool> seen_group(partition_.groups, false);
    for (const auto& communicator : whole_.communicators) {
      collectives::Communicator folded{communicator.name, communicator.slots, {}};
      for (const auto& group : communicator.groups) {
        const auto first_flow = f;
        f += group.flows.size();
        const auto group_class = partition_.group[g++];
        if (seen_group[group_class]) continue;
        seen_group[group_class] = true;
        folded.groups.push_back(representative(group, first_flow));
      }
      result_.program.communicators.push_back(std::move(folded));
    }
  }

  /// A group with one member per rank class and one flow per flow class.
  [[nodiscard]] collectives::ProgramGroup representative(const collectives::ProgramGroup& group,
                                                         std::size_t first_flow) {
    collectives::ProgramGroup folded;
    for (const auto rank : group.members) folded.members.push_back(partition_.rank[rank]);
    std::sort(folded.members.begin(), folded.members.end());
    folded.members.erase(std::unique(folded.members.begin(), folded.members.end()), folded.members.end());
    for (std::size_t i = 0; i < group.flows.size(); ++i) {
      const auto flow_class = partition_.flow[first_flow + i];
      if (seen_flow_[flow_class]) continue;  // flows of a class lie in groups of one class
      seen_flow_[flow_class] = true;
      const auto slot = group.flows[i].slot;
      folded.flows.push_back({slot, route(flow_class, false)});
      if (auto slack = route(flow_class, true); !slack.empty())
        folded.on_slack_links.push_back({slot, std::move(slack)});
    }
    return folded;
  }

  [[nodiscard]] std::vector<std::int32_t> route(std::int32_t flow_class, bool over_slack) const {
    std::vector<std::int32_t> links;
    for (auto at = crossings_.lower_bound({flow_class, 0}); at != crossings_.end() && at->first.first == flow_class;
         ++at) {
      if (slack_class_[at->first.second] != over_slack) continue;
      links.insert(links.end(), position_of(at->second), at->first.second);
    }
    return links;
  }

  Program& whole_;
  SomeLinks slack_;  ///< by link of the whole
  Partition partition_;
  Indexed<LinkClassId, bool> slack_class_;                                   ///< by class of links
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> crossings_;  ///< (flow class, link class) -> weight
  Indexed<std::int32_t, bool> seen_flow_;
  FoldedProgram result_;
};

}  // namespace

FoldedProgram fold(Program whole, FoldedLinks links) { return fold_operations(whole, links); }

FoldedProgram fold_operations(Program& whole, FoldedLinks links) { return Quotient(whole, links).run(); }

void take_operations(Program& whole, Program& quotient) {
  quotient.streams = std::move(whole.streams);
  quotient.shared_slowdown = whole.shared_slowdown;
  quotient.dispatch_slowdown = whole.dispatch_slowdown;
  quotient.ops = std::exchange(whole.ops, {});
}

FoldedProgram unfolded(Program whole) {
  FoldedProgram result;
  const auto ranks = whole.ranks();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    result.ranks.class_of_rank.push_back(rank);
    result.ranks.representative.push_back(rank);
  }
  result.ranks.size.assign(static_cast<std::size_t>(ranks), 1);
  SomeLinks used(whole.links.size(), false);
  for_each_flow(whole, [&](const collectives::Flow& flow) {
    for (const auto link : flow.links) used[link] = true;
  });
  result.links = static_cast<std::int32_t>(whole.links.size());
  result.link_classes = static_cast<std::int32_t>(std::count(used.begin(), used.end(), true));
  result.link_members.representative.resize(whole.links.size());
  std::iota(result.link_members.representative.begin(), result.link_members.representative.end(), 0);
  result.link_members.size.assign(whole.links.size(), 1);
  result.link_members.class_of_link.assign(whole.links.ids().begin(), whole.links.ids().end());
  result.program = std::move(whole);
  return result;
}

}  // namespace lockstep::program
