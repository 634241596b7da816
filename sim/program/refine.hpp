#pragma once
/// Colour refinement (1-dimensional Weisfeiler-Leman) on the objects of a Program.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/program/slack_links.hpp"

namespace lockstep::program {

/// Classes numbered from 0 in order of first appearance. Groups and flows are numbered communicator by
/// communicator, group by group, in the program's order.
struct Partition {
  Indexed<topologies::RankId, std::int32_t> rank;
  Indexed<std::int32_t, std::int32_t> group, flow;
  Indexed<topologies::LinkId, std::int32_t> link;
  std::int32_t ranks = 0, groups = 0, flows = 0, links = 0;  ///< how many classes of each
};

/// The coarsest partition such that, over the links that are not slack,
///   ranks of a class have the same stage, kind of chip and speed, and belong, in every communicator, to groups of one
///   class; groups of a class are of one communicator and have the same multiset of rank classes and of flow classes;
///   flows of a class carry the same bytes in every phase of every collective, belong to groups of one class, and cross
///   the same multiset of link classes; links of a class have the same capacity and carry the same multiset of flow
///   classes.
/// A rank's place in its group is no part of this: a collective starts and ends for all its members alike. Slack links
/// (by number; empty: none; slack_links.hpp) are put into classes by what they carry, and decide nothing else.
[[nodiscard]] Partition refine(const Program& program, const SomeLinks& slack = {});

/// By communicator, for each of its slots the first one that carries the same bytes in every collective. Of a program's
/// operations, this is all that its partition depends on.
[[nodiscard]] Indexed<CommunicatorId, std::vector<collectives::SlotId>> alike_slots(const Program& program);

}  // namespace lockstep::program
