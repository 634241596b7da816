// What the catalog holds, a line each.
#include <cmath>
#include <memory>

#include "sim/core/quantity_text.hpp"
#include "sim/scenario/scenario.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "workloads/model/model.hpp"

namespace lockstep::commands {
namespace {

const std::vector<std::string> lists{"models", "chips", "nodes", "fabrics", "schedules"};

std::string billions(std::int64_t count) { return output::fixed(static_cast<double>(count) / 1e9, 1) + "e9"; }

std::string models() {
  output::Table table({"model", "parameters", "active", "layers", "width", "experts", "vocabulary"});
  const auto catalog = scenario::data_root() / "workloads" / "catalog";
  Problems problems;
  for (const auto& name : workloads::model_names(catalog)) {
    const auto model = workloads::load_model(catalog, name, problems);
    const auto count = count_parameters(model);
    table.add({name, billions(count.total()), count.active() == count.total() ? "" : billions(count.active()),
               std::to_string(model.layers), std::to_string(model.d_model),
               model.experts ? std::to_string(model.experts->count) : "", std::to_string(model.vocabulary)});
  }
  problems.throw_if_any();
  return table.to_string() + "\nAlso the path of a Hugging Face config.json. `lockstep model NAME` shows one.\n";
}

std::string chips() {
  output::Table table({"chip", "dense peak in bf16", "memory", "its bandwidth", "kernels", "machine"});
  table.align_left(4);
  table.align_left(5);
  const auto catalog = scenario::data_root() / "topologies" / "catalog";
  Problems problems;
  for (const auto& name : topologies::chip_names(catalog)) {
    const auto chip = topologies::load_chip(catalog, name, problems);
    const auto peak = chip.peak_for(topologies::Precision::bf16);
    table.add({name, peak ? output::fixed(peak->value() / 1e12, 0) + " TFLOP/s" : "", format(chip.memory),
               format(chip.memory_bandwidth), chip.kernels ? "measured" : "",
               chip.torus ? "torus, pod " + topologies::by_axis(chip.torus->pod) : "nodes"});
  }
  problems.throw_if_any();
  return table.to_string() +
         "\nWithout measured kernels steps take the rates of the data sheet. A torus is written CHIP:SHAPE, such as "
         "tpu-v5p:4x4x8.\n";
}

std::string nodes() {
  output::Table table({"node", "chips", "chip", "NICs", "one NIC", "usual fabric"});
  table.align_left(2);
  table.align_left(5);
  const auto catalog = scenario::data_root() / "topologies" / "catalog";
  Problems problems;
  for (const auto& name : topologies::node_names(catalog)) {
    const auto node = topologies::load_node(catalog, name, problems);
    table.add({name, std::to_string(node.chips), node.chip.name, std::to_string(node.nics),
               output::fixed(node.nic.value() * 8 / 1e9, 0) + " Gbps", node.fabric});
  }
  problems.throw_if_any();
  return table.to_string() + "\nA cluster is written NODE:NODES, such as dgx-h100:64; h100:64 is the same.\n";
}

std::string fabrics() {
  output::Table table({"fabric", "kind", "routing", "ports of a switch", "efficiency"});
  table.align_left(1);
  table.align_left(2);
  const auto catalog = scenario::data_root() / "topologies" / "catalog";
  Problems problems;
  for (const auto& name : topologies::fabric_names(catalog)) {
    const auto fabric = topologies::load_fabric(catalog, name, problems);
    table.add({name, std::string(topologies::name(fabric.kind)),
               fabric.routing == topologies::FabricRouting::spray ? "spray" : "ecmp", std::to_string(fabric.radix),
               output::fixed(fabric.efficiency, 2)});
  }
  problems.throw_if_any();
  return table.to_string() + "\n`cluster.fabric` takes one of them, or a block with keys of its own.\n";
}

std::string list_of(const std::string& what) {
  if (what == "models") return models();
  if (what == "chips") return chips();
  if (what == "nodes") return nodes();
  if (what == "fabrics") return fabrics();
  return schedule_list_text();
}

}  // namespace

void add_list(CommandLine& line) {
  auto command = line.command("list", "the models, chips, nodes, fabrics or schedules that can be named");
  auto what = std::make_shared<std::string>();
  command.option("what", *what, "models, chips, nodes, fabrics or schedules").required().one_of(lists);
  command.footer("Example:\n  lockstep list chips");
  command.callback([what] { output::print(output::fitted(list_of(*what))); });
}

}  // namespace lockstep::commands
