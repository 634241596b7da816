// The parameters of a machine from which a program's times follow, and the program of another machine.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "sim/collectives/slot_loads.hpp"
#include "sim/cost/layer_time.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/sensitivity/elasticity.hpp"
#include "topologies/cluster/link_level.hpp"

namespace lockstep::sensitivity {
namespace {

/// Latencies, and on its busiest link the bytes of every phase, of the slowest group: what the closed forms count.
Seconds time_alone(const program::Program& program, const program::ProgramOp& op) {
  const auto& communicator = program.communicators[op.communicator];
  std::vector<std::int32_t> each(communicator.groups.size());
  std::iota(each.begin(), each.end(), 0);
  const auto network = slot_loads(
      communicator, [&](std::int32_t link) { return program.links[link]; }, each);
  Seconds slowest(0);
  for (const auto& loads : network.of_class) {
    Seconds time(0);
    for (const auto& phase : op.phases) {
      double longest = 0;
      for (const auto load : loads) longest = std::max(longest, network.loads[load].seconds(phase));
      time += phase.latency + Seconds(longest);
    }
    slowest = std::max(slowest, time);
  }
  return slowest;
}

const std::string host_link = "pcie";  // also a level of links: a chip's way to its NIC

template <class Value>
double factor_of(const std::map<Value, double>& factors, const Value& which) {
  const auto found = factors.find(which);
  return found == factors.end() ? 1 : found->second;
}

}  // namespace

MachineParameters::MachineParameters(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                                     const program::FoldedProgram& folded, engine::EngineKind engine)
    : step_(preparation.step),
      program_(folded.program),
      closed_forms_(engine == engine::EngineKind::reference),
      machine_{preparation::rates_of_chips(scenario), {}, 1, {}} {
  if (!scenario.replay) list_compute(scenario);
  list_networks(preparation, folded);
  list_given();
}

void MachineParameters::list_compute(const scenario::Scenario& scenario) {
  /// A parameter of all kinds of chips at once.
  const auto add = [&](const std::string& name, bool is_rate, void (*change)(cost::ComputeRates&, double)) {
    list_.push_back({name, is_rate, [change](TunedMachine& machine, double factor) {
                       for (auto& rates : machine.rates) change(rates, factor);
                     }});
  };
  const auto of_kernels = [&](auto value) {
    return std::any_of(machine_.rates.begin(), machine_.rates.end(),
                       [&](const auto& rates) { return rates.kernels && value(rates.kernels->chip) > Seconds(0); });
  };
  add("compute rate", true, [](cost::ComputeRates& rates, double factor) {
    rates.flops = rates.flops * factor;
    rates.in_16_bits = rates.in_16_bits * factor;
    if (!rates.kernels) return;
    rates.kernels->products = rates.kernels->products * factor;
    rates.kernels->in_16_bits = rates.kernels->in_16_bits * factor;
  });
  if (scenario.time_model != cost::TimeModel::ideal) {
    add("memory bandwidth", true, [](cost::ComputeRates& rates, double factor) {
      rates.memory = rates.memory * factor;
      if (rates.kernels) rates.kernels->memory = rates.kernels->memory * factor;
    });
  }
  if (of_kernels([](const auto& chip) { return chip.gap; })) {
    add("gap between kernels", false, [](cost::ComputeRates& rates, double factor) {
      if (rates.kernels) rates.kernels->chip.gap = rates.kernels->chip.gap / factor;
    });
  }
  if (of_kernels([](const auto& chip) { return chip.host; })) {
    add("launch overhead", false, [](cost::ComputeRates& rates, double factor) {
      if (rates.kernels) rates.kernels->chip.host = rates.kernels->chip.host / factor;
    });
  }
}

void MachineParameters::list_networks(const preparation::PreparedStep& preparation,
                                      const program::FoldedProgram& folded) {
  for (const auto& communicator : program_.communicators) {
    for (const auto& group : communicator.groups) {
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) {
          auto& links = links_of_[std::string(
              link_level(*preparation.machine.cluster, folded.link_members.representative[link]))];
          links.resize(program_.links.size(), false);
          links[link] = true;
        }
      }
    }
  }
  for (const auto& level : links_of_) {
    if (level.first == host_link) continue;  // with what else goes that way
    list_.push_back({level.first + " bandwidth", true, [name = level.first](TunedMachine& machine, double factor) {
                       machine.links.try_emplace(name, 1).first->second *= factor;
                     }});
  }
  const bool communicates = std::any_of(program_.ops.begin(), program_.ops.end(), [&](const program::ProgramOp& op) {
    return op.kind == program::ProgramOp::Kind::collective && !step_.op(op.vertex)->given_time;
  });
  if (communicates) {
    list_.push_back({"latency", false, [](TunedMachine& machine, double factor) { machine.latency /= factor; }});
  }
}

void MachineParameters::list_given() {
  std::set<workloads::GivenTime> found;
  for (const auto& op : program_.ops) {
    if (step_.op(op.vertex)->given_time) found.insert(step_.op(op.vertex)->given);
  }
  const auto shorten = [](workloads::GivenTime which) {
    return
        [which](TunedMachine& machine, double factor) { machine.given.try_emplace(which, 1).first->second /= factor; };
  };
  if (found.contains(workloads::GivenTime::host_link) || links_of_.contains(host_link)) {
    list_.push_back({host_link + " bandwidth", true,
                     [transfers = shorten(workloads::GivenTime::host_link)](TunedMachine& machine, double factor) {
                       machine.links.try_emplace(host_link, 1).first->second *= factor;
                       transfers(machine, factor);
                     }});
  }
  if (found.contains(workloads::GivenTime::host_memory))
    list_.push_back({"host memory bandwidth", true, shorten(workloads::GivenTime::host_memory)});
  if (found.contains(workloads::GivenTime::overhead))
    list_.push_back({"step overhead", false, shorten(workloads::GivenTime::overhead)});
  if (found.contains(workloads::GivenTime::measured))
    list_.push_back({"measured time", false, shorten(workloads::GivenTime::measured)});
}

program::Program MachineParameters::program_on(const TunedMachine& machine) const {
  auto program = program_;
  for (const auto& [level, links] : links_of_) {
    const double factor = factor_of(machine.links, level);
    for (std::size_t link = 0; link < links.size(); ++link) {
      if (links[link]) program.links[link] = program.links[link] * factor;
    }
  }
  set_compute(machine, program);
  set_collectives(machine, program);
  return program;
}

void MachineParameters::set_compute(const TunedMachine& machine, program::Program& program) const {
  const auto& rates = machine.rates.front();
  const auto& usual = machine_.rates.front();
  const bool launched = usual.kernels && usual.kernels->chip.host > Seconds(0);
  for (auto& op : program.ops) {
    if (op.kind != program::ProgramOp::Kind::compute) continue;
    const auto& work = *step_.op(op.vertex).what;
    if (work.given_time) {
      op.duration = op.duration * factor_of(machine.given, work.given);
      continue;
    }
    op.duration = cost::operation_time(rates, work);
    if (launched) op.launched = op.launched * (rates.kernels->chip.host / usual.kernels->chip.host);
  }
  if (!program.chip_of_rank.empty()) set_times_on_chips(program, step_, machine.rates);
}

void MachineParameters::set_collectives(const TunedMachine& machine, program::Program& program) const {
  std::map<std::pair<const collectives::Phase*, double>, program::SharedList<collectives::Phase>>
      scaled;  // operations that share phases still do
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    auto& op = program.ops[i];
    if (op.kind != program::ProgramOp::Kind::collective) continue;
    const auto& work = *step_.op(op.vertex).what;
    const double factor = work.given_time ? factor_of(machine.given, work.given) : machine.latency;
    if (!op.phases.empty()) {
      auto& phases = scaled[{op.phases.begin(), factor}];
      if (phases.empty()) {
        auto made = op.phases.items();
        for (auto& phase : made) phase.latency = phase.latency * factor;
        phases = std::move(made);
      }
      op.phases = phases;
    }
    if (work.given_time) {
      op.closed_form = op.closed_form * factor;
    } else if (closed_forms_) {  // they follow what a collective takes alone
      const auto was = time_alone(program_, program_.ops[i]);
      if (was > Seconds(0)) op.closed_form = op.closed_form * (time_alone(program, op) / was);
    }
  }
}

}  // namespace lockstep::sensitivity
