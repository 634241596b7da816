#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "sim/core/known_word.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/preparation/unmeasured_products.hpp"
#include "sim/studies/calibration/calibrate_chip.hpp"
#include "sim/studies/calibration/calibrate_network.hpp"
#include "sim/studies/calibration/calibrate_steps.hpp"
#include "sim/studies/calibration/yaml_number.hpp"
#include "tools/commands/calibrate_measurements.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/calibration_report.hpp"

namespace lockstep::commands {
namespace {

struct CalibrateArguments {
  std::vector<std::string> files;
  std::string chip, node, collective, write, json;
  int nodes = 0;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

std::filesystem::path catalog() { return scenario::data_root() / "topologies" / "catalog"; }

bool is_file(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

/// A chip of the catalog, or of a file with a chip block under `chip` or by itself.
topologies::Chip chip_named(const std::string& name) {
  Problems problems;
  topologies::Chip chip;
  if (is_file(name)) {
    const auto file = YamlView::from_file(name, problems);
    problems.throw_if_any();
    const auto inner = file["chip"];
    if (inner.exists()) file.refuse_unknown_keys();
    chip = topologies::read_chip_block(inner.exists() ? inner : file, catalog());
  } else {
    const auto names = topologies::chip_names(catalog());
    if (known_word(name, names).empty()) {
      const auto near = did_you_mean(name, names);
      refuse("--chip", "chip '" + name + "' is not in the catalog",
             near.empty() ? "a name such as h100, or a YAML file with a chip block" : near);
    }
    chip = topologies::load_chip(catalog(), name, problems);
  }
  problems.throw_if_any();
  if (!chip.kernels)
    refuse("--chip", "chip " + chip.name + " has no key `kernels` to start from",
           "a YAML file with `like: " + chip.name + "` and `kernels`, see docs/models/kernels.md");
  return chip;
}

calibration::NodeNetwork node_named(const std::string& name) {
  Problems problems;
  const auto names = topologies::node_names(catalog());
  auto found = known_word(name, names);
  if (found.empty()) found = known_word(topologies::usual_node(name), names);
  if (found.empty()) {
    const auto near = did_you_mean(name, names);
    refuse("--node", "node '" + name + "' is not in the catalog", near.empty() ? "a name such as dgx-h100" : near);
  }
  calibration::NodeNetwork network{topologies::load_node(catalog(), found, problems), {}};
  if (!network.node.fabric.empty()) network.fabric = topologies::load_fabric(catalog(), network.node.fabric, problems);
  problems.throw_if_any();
  return network;
}

/// The chip of `--chip`, or that of the node; refused where neither is named.
topologies::Chip chip_of(const CalibrateArguments& arguments, const std::optional<calibration::NodeNetwork>& network) {
  if (!arguments.chip.empty()) return chip_named(arguments.chip);
  const auto& chip = network->node.chip;
  if (!chip.kernels)
    refuse("--chip", "chip " + chip.name + " has no key `kernels` to start from",
           "a YAML file with `like: " + chip.name + "` and `kernels`, see docs/models/kernels.md");
  return chip;
}

std::string indented(const std::string& text) {
  std::string made = "  ";
  for (std::size_t i = 0; i < text.size(); ++i)
    made += text[i] == '\n' && i + 1 < text.size() ? "\n  " : std::string(1, text[i]);
  return made;
}

/// "2 files" or the one file's name, for `sources`.
std::string source_text(const CalibrateArguments& arguments, std::size_t rows) {
  const auto& files = arguments.files;
  const auto what = files.size() == 1 ? std::filesystem::path(files.front()).filename().string()
                                      : std::to_string(files.size()) + " files";
  return "fitted by lockstep calibrate to " + std::to_string(rows) + " rows of " + what;
}

std::string chip_yaml(const topologies::Chip& chip, const topologies::ChipKernels& kernels, const std::string& source) {
  return "chip:\n  like: " + chip.name + "\n" + indented(calibration::kernels_yaml(kernels, source));
}

std::string group_of(const calibration::MeasuredKernel& measured) {
  switch (measured.kernel.work) {
    case workloads::ComputeWork::memory: return "memory";
    case workloads::ComputeWork::attention:
      return measured.kernel.shape.backward ? "attention, backward" : "attention, forward";
    case workloads::ComputeWork::product:
    case workloads::ComputeWork::head_product: break;
  }
  return "products in " + std::string(name(measured.precision));
}

/// What is fitted to one kind after the other: a chip's kernels, a node's network, and then steps that use both.
class Calibration {
 public:
  Calibration(const CalibrateArguments& arguments, Measurements measurements,
              std::optional<calibration::NodeNetwork> network, std::optional<topologies::Chip> chip)
      : arguments_(arguments),
        measured_(std::move(measurements)),
        network_(std::move(network)),
        chip_(std::move(chip)) {}

  output::CalibrationReport run(spdlog::logger& log) {
    if (!measured_.kernels.empty()) fit_kernels();
    if (!measured_.collectives.empty()) fit_network();
    if (!measured_.steps.empty()) fit_steps(log);
    warn();
    report_.yaml = yaml();
    return std::move(report_);
  }

 private:
  void fit_kernels() {
    before_ = *chip_->kernels;
    const auto made = calibrate_chip(*chip_, measured_.kernels);
    auto& part = report_.parts.emplace_back();
    part.title = "kernels of " + chip_->name + ", " + std::to_string(measured_.kernels.size()) + " measured";
    part.fit = made.fit;
    for (const auto& residual : made.residuals) {
      part.rows.push_back({group_of(residual.measured), residual.measured.to_string(), residual.measured.time.value(),
                           residual.predicted.value()});
    }
    chip_ = made.chip;
  }

  void fit_network() {
    const auto& timed = measured_.collectives;
    made_network_ = calibrate_network(*network_, timed);
    auto& part = report_.parts.emplace_back();
    part.title = "collectives of " + network_->node.name + ", " + std::to_string(timed.size()) + " measured";
    part.fit = made_network_->fit;
    for (const auto& residual : made_network_->residuals) {
      const auto& one = residual.measured;
      const auto what = std::string(name(one.kind)) + " on " + std::to_string(one.ranks) + " ranks of " +
                        std::to_string(one.nodes) + (one.nodes > 1 ? " nodes" : " node");
      part.rows.push_back({what, what + ", " + std::to_string(one.size.value()) + " bytes (" + residual.chosen + ")",
                           one.time.value(), residual.predicted.value()});
    }
  }

  void fit_steps(spdlog::logger& log) {
    validation::ValidateOptions options{"calibrated", arguments_.jobs, engine::EngineKind::automatic, progress_line()};
    options.adjust = [this](scenario::Scenario& scenario) {
      auto& kernels = scenario.cluster.chip().kernels;
      const bool as_graph = kernels && kernels->host == Seconds(0);
      kernels = chip_->kernels;
      if (as_graph) kernels->host = Seconds(0);
      if (made_network_) set_network(made_network_->network, scenario.cluster);
    };
    auto prior = calibration::step_prior(calibration::catalog_families(), measured_.steps);
    // `sustained` stands beside the share of the peak that it was fitted with: what moved the one unsettles the other.
    prior.sustained = std::hypot(prior.sustained, moved_matrix());
    const auto made = calibrate_steps(*chip_, measured_.steps, prior, options, log);
    if (options.progress) options.progress("done", 1);
    auto& part = report_.parts.emplace_back();
    part.fit = made.fit;
    for (const auto& run : made.residuals) {
      if (run.counts())
        part.rows.push_back({run.run.family, run.run.table + " " + run.run.name, run.measured_s, run.predicted_s});
    }
    part.title = "steps on " + chip_->name + ", " + std::to_string(part.rows.size()) + " measured; a step lies " +
                 output::percent(prior.step) + " about its machine's others, a machine " +
                 output::percent(prior.sustained) + " about the catalog" +
                 (prior.pool.empty() ? "" : " (" + prior.pool + ")");
    chip_->kernels = made.kernels;
  }

  /// The largest change of log(share of the peak) by the fit of kernels.
  [[nodiscard]] double moved_matrix() const {
    double most = 0;
    if (!before_) return most;
    for (const auto& [precision, share] : chip_->kernels->matrix) {
      const auto was = before_->matrix.find(precision);
      if (was != before_->matrix.end()) most = std::max(most, std::abs(std::log(share / was->second)));
    }
    return most;
  }

  void warn() {
    constexpr double slight = 0.02;
    if (measured_.other_chips > 0)
      report_.warnings.push_back(std::to_string(measured_.other_chips) + " rows of other chips are left out");
    if (!measured_.products.empty() && !measured_.steps.empty()) warn_of_shapes();
    if (!measured_.kernels.empty() && measured_.steps.empty() && chip_->kernels->own_steps == 0) {
      const auto clock = calibration::yaml_number(chip_->kernels->sustained);
      report_.warnings.push_back(
          "`sustained` (" + clock + ") and `host` were fitted to whole steps of other machines" +
          (moved_matrix() > slight
               ? ", where `matrix` was " + output::percent(moved_matrix()) +
                     " away: both are part of a step's time, which is no better known until steps of this machine are "
                     "given with its kernels"
               : "; a few steps of this machine, given with its kernels, fit them too"));
    }
  }

  /// Shapes of the steps' products that no table has.
  void warn_of_shapes() {
    const topologies::MeasuredProducts table(measured_.products);
    const auto& files = measured_.product_files;
    for (const auto& steps : measured_.steps) {
      std::string last;
      for (const auto& run : steps.runs) {
        if (!run.skipped_because.empty()) continue;
        const auto found = preparation::unmeasured_products(scenario_of(run, steps.folder), table);
        auto note = unmeasured_products_note(found, files.size() == 1 ? files.front() : "the tables");
        if (!note.empty() && note != last) report_.warnings.push_back(steps.name + " " + run.name + ": " + note);
        last = std::move(note);
      }
    }
  }

  [[nodiscard]] std::string yaml() const {
    const auto source = source_text(arguments_, rows());
    const bool of_chip = !measured_.kernels.empty() || !measured_.steps.empty();
    const auto chip = of_chip ? chip_yaml(*chip_, *chip_->kernels, source) : "";
    if (!made_network_) return chip;
    auto cluster = cluster_yaml(*made_network_, source);
    if (of_chip) {
      const std::string like = "  like: " + network_->node.name + "\n";
      cluster.insert(cluster.find(like) + like.size(), indented(chip));
    }
    return cluster;
  }

  [[nodiscard]] std::size_t rows() const {
    std::size_t count = 0;
    for (const auto& part : report_.parts) count += part.rows.size();
    return count;
  }

  const CalibrateArguments& arguments_;
  Measurements measured_;
  std::optional<calibration::NodeNetwork> network_;
  std::optional<topologies::Chip> chip_;
  std::optional<topologies::ChipKernels> before_;  ///< the fit of kernels
  std::optional<calibration::NetworkCalibration> made_network_;
  output::CalibrationReport report_;
};

void run_calibrate(const CalibrateArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.write);
  std::optional<calibration::NodeNetwork> network;
  if (!arguments.node.empty()) network = node_named(arguments.node);
  std::optional<topologies::Chip> chip;
  if (!arguments.chip.empty() || network)
    chip = arguments.chip.empty() ? network->node.chip : chip_named(arguments.chip);
  auto measurements =
      read_measurements(arguments.files, {arguments.collective, arguments.nodes}, chip ? chip->name : "");
  if (!measurements.collectives.empty() && !network)
    refuse("--node", "is missing, and the files hold collectives", "the node that they ran on, such as dgx-h100");
  const bool of_chip = !measurements.kernels.empty() || !measurements.steps.empty();
  if (of_chip && !chip)
    refuse("--chip",
           "is missing, and the files hold " + std::string(measurements.kernels.empty() ? "steps" : "kernels"),
           "the chip that they ran on, such as h100, or --node");
  if (of_chip) chip = chip_of(arguments, network);
  const auto report = Calibration(arguments, std::move(measurements), std::move(network), std::move(chip)).run(log);
  const auto json = calibration_json(report);
  output::Answer answer;
  answer.write(arguments.write, report.yaml);
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(calibration_text(report));
}

}  // namespace

void add_calibrate(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("calibrate", "fit a chip's kernels or a node's links to your own measurements");
  auto arguments = std::make_shared<CalibrateArguments>();
  command
      .option("files", arguments->files,
              "CSV of kernels, products, collectives or training steps, or output of nccl-tests; of several "
              "kinds together")
      .required();
  command.option("--chip", arguments->chip,
                 "the chip that kernels or steps ran on: a catalog name or a YAML file with a chip block");
  command.option("--node", arguments->node,
                 "the node that collectives ran on, by its catalog name; its chip, unless --chip names one");
  command.option(
      "--collective", arguments->collective,
      "collective that nccl-tests ran, if its output does not say: all_reduce, all_gather, reduce_scatter, all_to_all");
  command.option("--nodes", arguments->nodes, "number of nodes that nccl-tests ran on, if its output does not say")
      .between(1, 100'000);
  command.option("--jobs", arguments->jobs, "simulations of steps at a time").between(1, 1024).shows_default();
  command.option("--write", arguments->write, "write the fitted block as a YAML file");
  command.option("--json", arguments->json, "write parameters and residuals as JSON to a file, or to stdout with -");
  command.footer(
      "Examples:\n  lockstep calibrate kernels.csv --chip h100 --write my_h100.yaml\n  lockstep calibrate "
      "all_reduce.log all_gather.log --node dgx-h100\n"
      "  lockstep calibrate my_steps.csv --chip my_h100.yaml\n  lockstep calibrate products.csv all_reduce.log "
      "steps.csv --node dgx-h100\nColumns, and a benchmark that writes them: "
      "docs/howto/calibrate.md");
  command.callback([arguments, &log] { run_calibrate(*arguments, log); });
}

}  // namespace lockstep::commands
