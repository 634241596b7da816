#include <algorithm>
#include <utility>

#include "workloads/sharded_layers/sharded_layer_pass_private.hpp"

namespace lockstep::workloads {

int Pass::compute(std::string name, std::string detail, Reads reads, Flops flops, Bytes traffic, Bytes output,
                  MemoryKind kind) {
  BlockStep step{};
  step.kind = BlockStep::Kind::compute;
  step.name = std::move(name);
  step.detail = std::move(detail);
  step.after = std::move(reads.after);
  step.saved = std::move(reads.saved);
  step.routed = routed_;
  step.flops = flops;
  step.traffic = traffic;
  step.output = output;
  step.output_kind = kind;
  return add(std::move(step));
}

int Pass::collective(const DerivedCollective& derived, CollectiveRole role, StepIds after, Bytes element) {
  BlockStep step{};
  step.kind = BlockStep::Kind::collective;
  step.name = std::string(book_name(derived.kind)) + "_" + subscript(derived.axes) + " " + derived.before.name;
  step.detail = derived.before.to_string() + " -> " + derived.after.to_string();
  step.after = std::move(after);
  step.collective = derived.kind;
  step.axes = derived.axes;
  step.full_size = derived.full_size;
  step.role = role;
  step.reason = derived.reason;
  step.output = element * sizes_.local_elements(derived.after);
  step.output_kind = role == CollectiveRole::activation ? MemoryKind::activations : MemoryKind::gathered;
  step.routed = role == CollectiveRole::activation && derived.before.find("C") != nullptr;
  return add(std::move(step));
}

int Pass::wait_of_host(std::string name, Seconds time, StepIds after) {
  BlockStep step{};
  step.kind = BlockStep::Kind::collective;
  step.name = std::move(name);
  step.stream = "host";
  step.given_time = time;
  step.given = GivenTime::overhead;
  step.after = std::move(after);
  return add(std::move(step));
}

Version Pass::chain(Version from, const std::vector<DerivedCollective>& collectives, const ShardedTensor& to,
                    CollectiveRole role, Bytes element) {
  for (const auto& derived : collectives) {
    const int id = collective(derived, role, from.producers, element);
    (*this)[id].saved = std::exchange(from.saved, {});
    from.producers = {id};
    from.buffer = id;
  }
  from.sharding = to;
  return from;
}

StepIds Pass::accumulated(const StepIds& producers) {
  StepIds last;
  for (const int id : producers) {
    const auto later = std::find_if(producers.begin(), producers.end(), [&](int other) { return follows(other, id); });
    if (later == producers.end()) {
      last.push_back(id);
    } else {
      merge((*this)[*later].after, id);
    }
  }
  return last;
}

int Pass::add(BlockStep step) {
  steps_.push_back(std::move(step));
  return steps_.count() - 1;
}

bool Pass::follows(int later, int earlier) const {
  if (later <= earlier || later == BlockStep::outside) return false;  // steps are in topological order
  const auto& after = steps_[later].after;
  return std::any_of(after.begin(), after.end(), [&](int id) { return id == earlier || follows(id, earlier); });
}

}  // namespace lockstep::workloads
