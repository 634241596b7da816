// A better machine makes no slower step, up to the anomalies of any schedule that is made as it goes; better routes and
// places none.
#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {
namespace {

constexpr double symmetric_rounding = 1e-12;

Verdict no_longer(const Simulated& slow, const Simulated& fast, double bound) {
  if (!slow.figures || !fast.figures) return does_not_apply();
  const double excess = fast.figures->step_s / slow.figures->step_s - 1;
  if (excess <= bound) return holds(excess > rounding_bound ? excess : 0);
  return violated(to_string(*slow.figures) + "\n" + to_string(*fast.figures),
                  "# no longer than\n" + fast.text + "---\n" + slow.text, excess);
}

/// With the mesh of the slower machine: what is chosen anew has a relation of its own.
Draft placed(const Subject& subject) {
  auto draft = subject.draft;
  if (!draft.has("mesh") && subject.figures.mesh != "{}") draft.set("mesh", subject.figures.mesh);
  return draft;
}

Verdict faster(Subject& subject, const Speedup& speedup) {
  return no_longer({subject.draft.text(), subject.figures}, simulated(subject, placed(subject), speedup),
                   anomaly_bound);
}

/// On twice as fast a chip another mesh may be chosen, which is not worse than the old one by the closed forms that
/// choose it. What collectives of two axes do to each other on shared links they leave out, and then no bound holds: a
/// tensor axis over two nodes, whose collectives share the NICs with those of the data axis, made a step 35 % longer.
Verdict chosen_mesh(Subject& subject) {
  if (subject.draft.has("mesh") || subject.figures.mesh == "{}") return does_not_apply();
  const auto alone = [&](const Draft& draft) {
    return simulated(subject, draft, {.compute = 2}, true, engine::EngineKind::reference);
  };
  return no_longer(alone(placed(subject)), alone(subject.draft), choice_bound);
}

Verdict faster_links(Subject& subject) { return faster(subject, {.link = 2}); }
Verdict faster_compute(Subject& subject) { return faster(subject, {.compute = 2}); }
Verdict faster_memory(Subject& subject) { return faster(subject, {.memory = 2}); }
Verdict shorter_latencies(Subject& subject) { return faster(subject, {.latency = 2}); }
Verdict faster_host(Subject& subject) {
  return subject.draft.has("training.offload") ? faster(subject, {.host = 2}) : does_not_apply();
}
Verdict faster_fixed(Subject& subject) { return faster(subject, {.fixed = 2}); }

const std::vector<std::string> fabrics{"cluster.fabric", "cluster.dcn", "cluster.between_halls"};

bool joins_several(const Draft& draft) {
  return (draft.has("cluster.nodes") && draft.number("cluster.nodes") > 1) || draft.has("cluster.halls") ||
         draft.has("cluster.pods");
}

/// Better routes or places. Each collective by itself is no slower. Where two meet on a link, a sprayed reduction that
/// compute hides anyway may take the more of it from one that the step waits for (3.4 % was seen, of tokens to
/// experts).
Verdict no_longer_by_routes(Subject& subject, const Draft& worse, const Draft& better) {
  const auto on = [&](engine::EngineKind engine, double bound) {
    return no_longer(simulated(subject, worse, {}, true, engine), simulated(subject, better, {}, true, engine), bound);
  };
  auto alone = on(engine::EngineKind::reference, order_bound);
  return alone.kind == Verdict::Kind::holds ? on(engine::EngineKind::simgrid, anomaly_bound) : alone;
}

/// Packets over all equal paths against each pair of NICs on one of them.
Verdict spray(Subject& subject) {
  if (!joins_several(subject.draft)) return does_not_apply();
  auto sprayed = unperturbed(placed(subject)), hashed = sprayed;
  for (const auto& fabric : fabrics) {
    if (!sprayed.has(fabric)) continue;
    sprayed.set(fabric + ".routing", "spray");
    hashed.set(fabric + ".routing", "ecmp");
  }
  return no_longer_by_routes(subject, hashed, sprayed);
}

/// Mesh axes whose groups span several nodes.
int axes_over_nodes(const std::string& mesh) {
  int axes = 0;
  for (std::size_t begin = 0, end = 0; (end = mesh.find(']', begin)) != std::string::npos; begin = end + 1) {
    const auto axis = mesh.substr(begin, end - begin);
    axes += axis.find("node/") != std::string::npos || axis.find("hall/") != std::string::npos ? 1 : 0;
  }
  return axes;
}

/// Neighbours of the mesh on one node, nodes in their order, against nodes in a random order. Not on a dragonfly, whose
/// minimal routes leave neighbouring routers one link: there random places are known to do better (A. Bhatele et al.,
/// Avoiding hot-spots on two-level direct networks, SC 2011). Packets are sprayed, since hashes may happen to like any
/// order.
Verdict contiguous(Subject& subject) {
  if (!subject.draft.has("cluster.nodes") || subject.draft.number("cluster.nodes") < 2) return does_not_apply();
  for (const auto& fabric : fabrics) {
    if (subject.draft.value(fabric + ".kind") == "dragonfly") return does_not_apply();
  }
  auto packed = unperturbed(placed(subject));
  for (const auto& fabric : fabrics) {
    if (packed.has(fabric + ".routing")) packed.set(fabric + ".routing", "spray");
  }
  auto scattered = packed;
  packed.set("cluster.order", "packed");
  scattered.set("cluster.order", "{scattered: " + std::to_string(subject.random.between(1, 100)) + "}");
  // Of two axes over nodes, the one whose members lie apart may be luckier in a random order.
  if (axes_over_nodes(subject.figures.mesh) > 1)
    return no_longer(simulated(subject, scattered), simulated(subject, packed), anomaly_bound);
  return no_longer_by_routes(subject, scattered, packed);
}

/// Nodes on one switch without limits are alike, so any order of them is the same order.
Verdict order_of_equal_nodes(Subject& subject) {
  if (!subject.draft.has("cluster.nodes") || subject.draft.number("cluster.nodes") < 2 ||
      subject.draft.has("cluster.halls"))
    return does_not_apply();
  auto packed = unperturbed(subject.draft);
  const auto latency = packed.value("cluster.fabric.nic_latency");
  packed.remove("cluster.fabric");
  packed.set("cluster.fabric.kind", "crossbar");
  packed.set("cluster.fabric.nic_latency", latency);
  packed.set("cluster.order", "packed");
  const auto nodes = packed.number("cluster.nodes"), chips = packed.number("cluster.node.chips");
  const auto turned = subject.random.between(1, nodes - 1);
  std::string order;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto place = (nodes - 1 - node + turned) % nodes;
    for (std::int64_t chip = 0; chip < chips; ++chip) order += std::to_string(place * chips + chip) + "\n";
  }
  write_text(subject.folder / "order.txt", order);
  auto permuted = packed;
  permuted.set("cluster.order", "order.txt");
  const auto one = simulated(subject, packed), other = simulated(subject, permuted);
  if (!one.figures) return does_not_apply();
  if (!other.figures) return violated("the other is refused", other.text);
  const auto longer = no_longer(one, other, symmetric_rounding);
  return longer.kind == Verdict::Kind::violated ? longer : no_longer(other, one, symmetric_rounding);
}

}  // namespace

const std::vector<Relation>& relations_of_machine() {
  static const std::vector<Relation> list{
      {"faster links", faster_links},        {"faster compute", faster_compute},
      {"faster memory", faster_memory},      {"shorter latencies", shorter_latencies},
      {"faster host", faster_host},          {"chosen mesh", chosen_mesh},
      {"shorter fixed times", faster_fixed}, {"spray <= ecmp", spray},
      {"packed <= scattered", contiguous},   {"order of equal nodes", order_of_equal_nodes}};
  return list;
}

}  // namespace lockstep::test
