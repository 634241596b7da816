#include <algorithm>
#include <memory>

#include "sim/core/known_word.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/scenario/scenario.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/import_recipe.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/import_report.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/graph/read_node.hpp"
#include "topologies/graph/text_file.hpp"
#include "topologies/graph/write_network.hpp"
#include "topologies/graph/write_node.hpp"

namespace lockstep::commands {
namespace {

struct ImportArguments {
  std::string what, file, out, json, chip, nic;
  RecipeArguments recipe;
};

/// `yaml` is the file of --out, where there is one.
void deliver(const ImportArguments& arguments, const std::string& yaml, const std::string& text,
             const std::string& json) {
  output::Answer answer;
  answer.write(arguments.out, yaml);
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(text);
}

/// The graph as our YAML, which is checked to read back.
std::string graph_text(const topologies::NetworkGraph& graph, const std::string& place) {
  std::string yaml = network_yaml(graph);
  Problems problems;
  const auto again = topologies::read_network_text(yaml, place, problems);
  problems.throw_if_any();  // it may be larger than a YAML file may be
  if (network_yaml(again.graph) != yaml) throw InternalError("a graph that was written reads back as another");
  return yaml;
}

/// The rate of --nic, by the rules that the rates of a scenario follow.
BytesPerSecond nic_rate(const std::string& text) {
  const auto parsed = parse_bytes_per_second(text);
  if (const auto* error = std::get_if<QuantityError>(&parsed)) refuse("--nic", error->what, error->expected);
  Problems problems;
  const auto rate = YamlView::from_text(text, "--nic", problems).bytes_per_second();
  if (!problems.empty()) refuse("--nic", problems.list().front().what, problems.list().front().expected);
  return rate;
}

/// The chip of --chip, which is of a maker whose GPUs such files describe.
topologies::Chip chip_of(const topologies::NodeDescription& node, const std::string& word, Problems& problems) {
  const auto catalog = scenario::data_root() / "topologies/catalog";
  const auto names = topologies::chip_names(catalog);
  const auto name = known_word(word, names);
  if (name.empty()) {
    const auto hint = did_you_mean(word, names);
    refuse("--chip", "'" + word + "' is not in the catalog",
           "a name from the catalog" + (hint.empty() ? "" : "; " + hint));
  }
  auto chip = topologies::load_chip(catalog, name, problems);
  const auto made_it = [&](const std::string& maker) { return chip.title.starts_with(maker); };
  if (std::none_of(node.makers.begin(), node.makers.end(), made_it))
    refuse("--chip", "'" + name + "' is the " + chip.title + ", which " + node.format + " does not describe",
           "a GPU of " +
               (node.makers.size() == 1 ? node.makers.front() : node.makers.front() + " or " + node.makers.back()));
  return chip;
}

/// A node's YAML, which is checked to be a node.
std::string node_file(const topologies::NodeDescription& node, const ImportArguments& arguments, Problems& problems) {
  const auto catalog = scenario::data_root() / "topologies/catalog";
  topologies::NodeKnowledge known{arguments.chip, std::nullopt, std::nullopt};
  if (!arguments.chip.empty()) known.pcie = chip_of(node, arguments.chip, problems).pcie;
  if (!arguments.nic.empty()) known.nic = nic_rate(arguments.nic);
  problems.throw_if_any();
  auto yaml = topologies::node_yaml(node, known, arguments.file, problems);
  problems.throw_if_any();
  static_cast<void>(topologies::read_node(YamlView::from_text(yaml, arguments.out, problems), "imported", catalog));
  problems.throw_if_any();
  return yaml;
}

void import_network(const ImportArguments& arguments) {
  Problems problems;
  bool is_node = false;
  const auto text = topologies::read_text(
      arguments.file,
      [&](std::string_view head) {
        is_node = topologies::describes_a_node(head);
        return is_node || topologies::describes_a_network(head, arguments.file, problems);
      },
      problems);
  problems.throw_if_any();
  if (is_node) {
    const auto node = topologies::read_node_text(*text, arguments.file, problems);
    problems.throw_if_any();
    for (const auto& [option, given] : {std::pair("--chip", &arguments.chip), std::pair("--nic", &arguments.nic)}) {
      if (!given->empty() && arguments.out.empty()) refuse(option, "is for the node that --out writes", "--out too");
    }
    return deliver(arguments, arguments.out.empty() ? "" : node_file(node, arguments, problems),
                   output::node_text(node), output::node_json(node));
  }
  for (const auto& [option, given] : {std::pair("--chip", &arguments.chip), std::pair("--nic", &arguments.nic)}) {
    if (!given->empty()) refuse(option, "the file describes a network, not a node", "no " + std::string(option));
  }
  const auto import = topologies::read_network_text(*text, arguments.file, problems);
  problems.throw_if_any();
  deliver(arguments, arguments.out.empty() ? "" : graph_text(import.graph, arguments.out), output::network_text(import),
          output::network_json(import));
}

void run_import(const ImportArguments& arguments) {
  const bool is_recipe = arguments.what == "recipe";
  if (!is_recipe && arguments.what != "network")
    refuse("import", "'" + arguments.what + "' cannot be imported", "network or recipe");
  const std::string of_the_other = !is_recipe                ? arguments.recipe.given()
                                   : !arguments.chip.empty() ? "--chip"
                                   : !arguments.nic.empty()  ? "--nic"
                                                             : "";
  if (!of_the_other.empty()) refuse(of_the_other, "does not belong to a " + arguments.what, "no " + of_the_other);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.out);
  if (is_recipe) return import_recipe(arguments.file, arguments.recipe, arguments.out, arguments.json);
  import_network(arguments);
}

}  // namespace

void add_import(CommandLine& line) {
  auto command =
      line.command("import", "read a network, a node or a training recipe from the files that its owner has");
  auto arguments = std::make_shared<ImportArguments>();
  command.option("what", arguments->what, "network or recipe").required();
  command
      .option(
          "file", arguments->file,
          "a network: ibnetdiscover, Slurm topology.conf or .yaml, GraphML, CSV of edges, ASTRA-sim yml, SimAI, "
          "Lockstep's YAML; a node: NCCL topology XML, nvidia-smi topo -m; or a recipe: arguments of Megatron-LM in a "
          "script, YAML of Megatron or MaxText, TOML of torchtitan, JSON of DeepSpeed")
      .required();
  command.option("--out", arguments->out,
                 "write the network as a YAML file of switches, hosts and links, or a node without NVLink as the YAML "
                 "of a scenario's node; of a recipe, the scenario");
  command.option("--chip", arguments->chip, "the kind of a node's GPUs, by its catalog name, for --out");
  command.option("--nic", arguments->nic, "the rate of a node's NICs, where its file does not say it, for --out");
  command.option("--json", arguments->json, "write everything as JSON to a file, or to stdout with -");
  add_recipe_options(command, arguments->recipe);
  command.footer(
      "Examples:\n  lockstep import network ibnetdiscover.out --out graph.yaml\n  lockstep import recipe pretrain.sh "
      "--cluster h100:64 --out mine.yaml");
  command.callback([arguments] { run_import(*arguments); });
}

}  // namespace lockstep::commands
