#include "sim/program/program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "sim/core/counted.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::program {

namespace {

constexpr std::size_t longest_list = 300;  // lines of one list in a dump

std::string list(std::span<const std::int32_t> values) {
  constexpr std::size_t shown = 12;
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(values.size(), shown); ++i)
    text += (i == 0 ? "" : " ") + std::to_string(values[i]);
  if (values.size() > shown) text += " ... " + std::to_string(values.size() - shown) + " more";
  return text + "]";
}

std::string describe(const collectives::Phase& phase) {
  std::string text = "(" + six_digits(phase.latency.value()) + " s +";
  const double low = phase.slot_bytes.empty() ? 0 : *std::min_element(phase.slot_bytes.begin(), phase.slot_bytes.end());
  const double high =
      phase.slot_bytes.empty() ? 0 : *std::max_element(phase.slot_bytes.begin(), phase.slot_bytes.end());
  text += " " + six_digits(low);
  if (low < high) text += ".." + six_digits(high);
  return text + " B)";
}

std::string describe(const ProgramOp& op, const Program& program) {
  std::string text;
  if (op.kind == ProgramOp::Kind::compute) {
    text = "compute stage " + std::to_string(op.stage) + " " + six_digits(op.duration.value()) + " s";
    if (op.host_waits) text += " host waits";
    if (op.held > Seconds(0)) text += " held by hosts " + six_digits(op.held.value()) + " s";
    if (op.launched > Seconds(0)) text += " launched at " + six_digits(op.launched.value()) + " s";
  } else {
    text = "collective " + program.communicators[op.communicator].name + " closed form " +
           six_digits(op.closed_form.value()) + " s phases";
    constexpr std::size_t shown = 4;
    for (std::size_t i = 0; i < std::min(op.phases.size(), shown); ++i) text += " " + describe(op.phases[i]);
    if (op.phases.size() > shown) text += " ... " + std::to_string(op.phases.size() - shown) + " more";
  }
  if (op.shares_chip) text += op.dispatches ? " dispatches" : " shares chip";
  return text + " vertex " + std::to_string(op.vertex) + " priority " + std::to_string(op.priority) + " streams " +
         list(op.streams) + " after " + list({op.predecessors.data(), op.predecessors.size()});
}

/// Refuses a program, saying where.
struct Checker {
  const Program& program;

  [[noreturn]] static void fail(const std::string& where, std::string_view what) {
    throw InternalError("program: " + where + ": " + std::string(what));
  }
  static void require(bool holds, const std::string& where, std::string_view what) {
    if (!holds) fail(where, what);
  }
  struct Operation {
    ProgramOpId position;
  };
  static void require(bool holds, Operation where, std::string_view what) {
    if (!holds) fail("op " + std::to_string(where.position), what);
  }
  static bool finite_non_negative(double value) { return std::isfinite(value) && value >= 0; }
  static bool finite_positive(double value) { return std::isfinite(value) && value > 0; }

  void check_ranks_and_links() const {
    constexpr auto most = position_of(std::numeric_limits<std::int32_t>::max());
    require(!program.streams.empty(), "streams", "there are none");
    require(program.stage_of_rank.size() <= most / program.streams.size(), "ranks", "too many lanes");
    require(program.slowdown_of_rank.size() == program.stage_of_rank.size(), "slowdown_of_rank",
            "not one entry per rank");
    require(!program.shared_slowdown.empty(), "shared_slowdown", "there is none");
    for (const double slowdown : program.shared_slowdown)
      require(std::isfinite(slowdown) && slowdown >= 1, "shared_slowdown", "is not a finite number from 1 up");
    require(program.dispatch_slowdown.empty() || program.dispatch_slowdown.size() == program.shared_slowdown.size(),
            "dispatch_slowdown", "not one for each kind of chip");
    for (const double slowdown : program.dispatch_slowdown)
      require(std::isfinite(slowdown) && slowdown >= 1, "dispatch_slowdown", "is not a finite number from 1 up");
    require(program.chip_of_rank.empty() || program.chip_of_rank.size() == program.stage_of_rank.size(), "chip_of_rank",
            "not one entry per rank");
    for (const auto chip : program.chip_of_rank)
      require(chip >= 0 && program.shared_slowdown.contains(chip), "chip_of_rank", "a kind of chip does not exist");
    for (const topologies::RankId rank : program.slowdown_of_rank.ids()) {
      if (!finite_positive(program.slowdown_of_rank[rank]))
        fail("rank " + std::to_string(rank), "slowdown is not positive");
    }
    for (const topologies::LinkId link : program.links.ids()) {
      if (!finite_positive(program.links[link].value()))
        fail("link " + std::to_string(link), "capacity is not positive");
    }
  }

  void check_communicator(const collectives::Communicator& communicator) const {
    const std::string where = "communicator " + communicator.name;
    Indexed<topologies::RankId, bool> taken(program.stage_of_rank.size(), false);
    for (const collectives::ProgramGroup& group : communicator.groups) {
      require(!group.members.empty(), where, "a group has no members");
      for (const std::int32_t rank : group.members) {
        require(taken.contains(rank), where, "a member is not a rank");
        require(!taken[rank], where, "a rank is a member twice");
        taken[rank] = true;
      }
      for (const collectives::Flow& flow : group.flows) {
        require(flow.slot >= 0 && flow.slot < communicator.slots, where, "a flow's slot is out of range");
        require(!flow.links.empty(), where, "a flow crosses no link");
        for (const std::int32_t link : flow.links) {
          require(program.links.contains(link), where, "a flow crosses a link that does not exist");
        }
      }
    }
  }

  void check_op(ProgramOpId position) const {
    const ProgramOp& op = program.ops[position];
    const Operation where{position};
    require(!op.dispatches || !program.dispatch_slowdown.empty(), where, "dispatches, but dispatch_slowdown is empty");
    require(!op.streams.empty(), where, "occupies no stream");
    for (std::size_t i = 0; i < op.streams.size(); ++i) {
      require(program.streams.contains(op.streams[i]), where, "a stream does not exist");
      require(std::find(op.streams.begin(), op.streams.begin() + i, op.streams[i]) == op.streams.begin() + i, where,
              "names a stream twice");
    }
    require(op.predecessors.size() <= std::numeric_limits<std::uint16_t>::max(), where, "more than 65535 predecessors");
    for (const std::int32_t predecessor : op.predecessors) {
      require(predecessor >= 0 && predecessor < position, where, "a predecessor is not an earlier op");
    }
    if (op.kind == ProgramOp::Kind::compute) {
      require(finite_non_negative(op.duration.value()), where, "duration is not finite and non-negative");
      require(finite_non_negative(op.held.value()), where, "is not held for a finite and non-negative time");
      require(finite_non_negative(op.launched.value()), where, "launch is not at a finite and non-negative time");
      require(!op.host_waits || op.streams.front() == 0, where, "its host waits, but not for the stream of compute");
      require(op.on_chips.empty() || op.on_chips.size() == program.shared_slowdown.size(), where,
              "does not have its time on every kind of chip");
      for (const OnChip& on : op.on_chips) {
        require(finite_non_negative(on.duration.value()) && finite_non_negative(on.launched.value()), where,
                "a time on a kind of chip is not finite and non-negative");
      }
      return;
    }
    require(program.communicators.contains(op.communicator), where, "communicator does not exist");
    require(finite_non_negative(op.closed_form.value()), where, "closed form is not finite and non-negative");
    const collectives::Communicator& communicator = program.communicators[op.communicator];
    for (const collectives::Phase& phase : op.phases) {
      require(finite_non_negative(phase.latency.value()), where, "a latency is not finite and non-negative");
      require(std::ssize(phase.slot_bytes) == communicator.slots, where,
              "a phase does not have its communicator's slots");
      require(std::all_of(phase.slot_bytes.begin(), phase.slot_bytes.end(), finite_non_negative), where,
              "bytes are not finite and non-negative");
    }
  }
};

}  // namespace

std::string Program::to_string() const {
  std::string text = "ranks " + std::to_string(ranks()) + ", links " + std::to_string(links.size()) + "\nstreams";
  for (const std::string& stream : streams) text += " " + stream;
  text += "\n";
  for (const collectives::Communicator& communicator : communicators) {
    std::size_t flows = 0;
    for (const collectives::ProgramGroup& group : communicator.groups) flows += group.flows.size();
    text += "communicator " + communicator.name + ": " + std::to_string(communicator.groups.size()) + " groups, " +
            std::to_string(flows) + " flows, " + std::to_string(communicator.slots) + " slots\n";
  }
  for (std::size_t i = 0; i < std::min(ops.size(), longest_list); ++i) {
    text += std::to_string(i) + ": " + describe(ops[i], *this) + "\n";
  }
  if (ops.size() > longest_list) text += "... " + std::to_string(ops.size() - longest_list) + " more ops\n";
  return text;
}

void check(const Program& program) {
  const Checker checker{program};
  checker.check_ranks_and_links();
  for (const collectives::Communicator& communicator : program.communicators) checker.check_communicator(communicator);
  for (const ProgramOpId position : program.ops.ids()) checker.check_op(position);
}

}  // namespace lockstep::program
