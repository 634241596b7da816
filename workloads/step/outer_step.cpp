#include "workloads/step/outer_step.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "workloads/step/collective_chains_private.hpp"
#include "workloads/step/weight_copies_private.hpp"

namespace lockstep::workloads {
namespace {

class OuterStepBuilder {
 public:
  OuterStepBuilder(const ShardedLayers& kinds, const StepPipeline& pipeline, const StepOptions& options,
                   std::int64_t fragment)
      : writer_(kinds, pipeline.kinds, pipeline, options),
        copies_(writer_),
        chains_(writer_),
        updates_(*options.local_updates),
        fragment_(fragment) {}

  OuterStep run() {
    const auto stages = writer_.pipeline.order.shape.ranks;
    std::vector<Part> parts;
    for (StageId stage = 0; stage < stages; ++stage) {
      auto part = part_of(stage);
      if (part.elements > 0) parts.push_back(std::move(part));
    }
    OuterStep outer;
    for (auto& part : parts) outer.reductions.push_back(part.reduction = reduce(part));
    outer.first_after = writer_.graph.size();
    for (const auto& part : parts) update(part);
    outer.graph = std::move(writer_.graph);
    return outer;
  }

 private:
  /// The fragment on the ranks of one stage.
  struct Part {
    StepPlace place;
    std::vector<Owner> owners;
    std::int64_t elements = 0;  ///< of one rank's optimizer shard
    Bytes stored_element{2};
    OpId reduction = 0;
  };

  [[nodiscard]] Part part_of(StageId stage) const {
    Part part;
    std::set<Owner> known;
    copies_.for_each_copy(stage, [&](const Owner& owner, BlockId block) {
      if (updates_.fragment_of(block, writer_.blocks()) != fragment_ || !known.insert(owner).second) return;
      if (part.owners.empty()) part.place = {stage, block, 0};
      part.owners.push_back(owner);
      part.elements += writer_.update_of(owner).optimizer_elements;
      part.stored_element = writer_.update_of(owner).stored_element;
    });
    return part;
  }

  /// Bytes of the parameters that inner steps change.
  [[nodiscard]] Bytes own(const Part& part) const {
    return (writer_.options.optimizer.master_weights ? Bytes(4) : part.stored_element) * part.elements;
  }

  OpId reduce(const Part& part) {
    const auto reduced = updates_.reduced(part.elements);
    const auto gradient = on_its_side(part, "outer gradient", Bytes(4) * part.elements + own(part) + reduced,
                                      updates_.on_host ? OpIds{send_down(part)} : OpIds{});
    StepWork work;
    work.kind = StepWork::Kind::collective;
    work.collective = CollectiveKind::all_reduce;
    work.axes = {updates_.axis};
    work.full_size = reduced;
    work.role = CollectiveRole::gradient;
    work.name = "AllReduce_" + subscript(work.axes) + " outer gradients";
    work.reason = "sites that train apart agree on the parameters of a fragment";
    return writer_.add(part.place, StepPass::update, std::move(work), {gradient});
  }

  void update(const Part& part) {
    constexpr Bytes read_and_written(16);  // the global parameters and the momentum, in fp32
    const auto kept_besides = writer_.options.optimizer.master_weights ? Bytes(2) * part.elements : Bytes(0);
    const auto traffic = updates_.reduced(part.elements) + read_and_written * part.elements + own(part) + kept_besides;
    auto last = on_its_side(part, "outer update", traffic, {part.reduction});
    if (updates_.on_host)
      last = writer_.add(part.place, StepPass::update,
                         writer_.transfer(from_host, "updated weights", Bytes(2) * part.elements), {last});
    chains_.publish(part.place, StepPass::update, part.owners, {last});
  }

  OpId send_down(const Part& part) {
    return writer_.add(part.place, StepPass::update, writer_.transfer(to_host, "weights", own(part)), {});
  }

  /// Work of so many bytes on the chip, or on its host where the outer optimizer is there.
  OpId on_its_side(const Part& part, const std::string& what, Bytes traffic, const OpIds& after) {
    if (updates_.on_host) {
      const auto time = traffic / writer_.options.offload.host_memory;
      return writer_.add(part.place, StepPass::update,
                         StepWriter::given("host", what + " on the host", time, GivenTime::host_memory), after);
    }
    StepWork work;
    work.name = what;
    work.traffic = traffic;
    return writer_.add(part.place, StepPass::update, std::move(work), after);
  }

  StepWriter writer_;
  WeightCopies copies_;
  CollectiveChains chains_;
  const LocalUpdates& updates_;
  std::int64_t fragment_;
};

}  // namespace

OuterStep build_outer_step(const ShardedLayers& kinds, const StepPipeline& pipeline, const StepOptions& options,
                           std::int64_t fragment) {
  return OuterStepBuilder(kinds, pipeline, options, fragment).run();
}

bool do_the_same(const OuterStep& one, const OuterStep& other) {
  if (one.graph.size() != other.graph.size() || one.first_after != other.first_after) return false;
  for (OpId id = 0; id < one.graph.size(); ++id) {
    const auto& a = one.graph.op(id);
    const auto& b = other.graph.op(id);
    const bool same = a.stage == b.stage && a->kind == b->kind && a->traffic == b->traffic &&
                      a->collective == b->collective && a->axes == b->axes && a->full_size == b->full_size &&
                      a->given_time == b->given_time;
    if (!same) return false;
  }
  return true;
}

}  // namespace lockstep::workloads
