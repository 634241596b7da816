#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "sim/core/known_word.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/studies/calibration/calibrate_chip.hpp"
#include "sim/studies/calibration/calibrate_network.hpp"
#include "sim/studies/calibration/calibrate_steps.hpp"
#include "sim/studies/from_trace/timed_kernels.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/calibration_report.hpp"
#include "workloads/traces/read_traces.hpp"

namespace lockstep::commands {
namespace {

struct CalibrateArguments {
  std::vector<std::string> files;
  std::string chip, node, collective, write, json;
  int nodes = 0;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

/// The measurements in the files; only one of the lists may be filled.
struct Measurements {
  std::vector<calibration::MeasuredKernel> kernels;
  std::vector<calibration::TimedCollective> collectives;
  std::vector<validation::RunTable> steps;
};

[[noreturn]] void refuse(const std::string& option, const std::string& what, const std::string& expected) {
  throw ConfigError({{{option, 0, 0}, "", what, expected}});
}

void read_csv(const std::filesystem::path& file, Measurements& into, Problems& problems) {
  const CsvTable table(file, problems);
  if (table.header().empty()) return;
  if (calibration::has_kernel_columns(table)) {
    const auto rows = calibration::read_measured_kernels(table);
    into.kernels.insert(into.kernels.end(), rows.begin(), rows.end());
  } else if (calibration::has_collective_columns(table)) {
    const auto rows = calibration::read_timed_collectives(table);
    into.collectives.insert(into.collectives.end(), rows.begin(), rows.end());
  } else if (validation::has_measured_columns(table)) {
    into.steps.push_back(
        {file.stem().string(), validation::read_measured_runs(table, file.stem().string()), file.parent_path(), false});
  } else {
    problems.add({table.header().front().where, "", "has no columns of measurements",
                  "kernels, collectives or training steps, as docs/howto/calibrate.md describes them"});
  }
}

/// The kernels of a trace whose shapes it has.
void read_trace(const std::filesystem::path& file, Measurements& into, Problems& problems) {
  const auto job = workloads::read_traces({file});
  const auto kernels = from_trace::timed_kernels(job, job.ranks.size());
  for (const auto& kernel : kernels) into.kernels.push_back(kernel.measured);
  if (kernels.empty())
    problems.add({{file.string(), 0, 0},
                  "",
                  "the trace has no shapes of products or attention",
                  "a trace of torch.profiler with record_shapes"});
}

Measurements read_all(const CalibrateArguments& arguments) {
  Measurements measurements;
  Problems problems;
  for (const auto& file : arguments.files) {
    if (file.ends_with(".csv")) {
      read_csv(file, measurements, problems);
    } else if (file.ends_with(".json") || file.ends_with(".json.gz")) {
      read_trace(file, measurements, problems);
    } else {
      const auto rows = calibration::read_nccl_log(file, {arguments.collective, arguments.nodes}, problems);
      measurements.collectives.insert(measurements.collectives.end(), rows.begin(), rows.end());
    }
  }
  problems.throw_if_any();
  const int kinds = static_cast<int>(!measurements.kernels.empty()) +
                    static_cast<int>(!measurements.collectives.empty()) + static_cast<int>(!measurements.steps.empty());
  if (kinds == 0) refuse("calibrate", "the files have no rows", "measurements");
  if (kinds > 1)
    refuse("calibrate", "the files hold measurements of several kinds",
           "kernels, collectives or steps; one kind at a time, kernels before steps");
  return measurements;
}

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

output::CalibrationReport of_kernels(const CalibrateArguments& arguments,
                                     const std::vector<calibration::MeasuredKernel>& kernels) {
  const auto made = calibrate_chip(chip_named(arguments.chip), kernels);
  output::CalibrationReport report{
      "kernels of " + made.chip.name + ", " + std::to_string(kernels.size()) + " measured", made.fit, {}, {}};
  for (const auto& residual : made.residuals) {
    report.rows.push_back({group_of(residual.measured), residual.measured.to_string(), residual.measured.time.value(),
                           residual.predicted.value()});
  }
  report.yaml = chip_yaml(made.chip, *made.chip.kernels, source_text(arguments, kernels.size()));
  return report;
}

output::CalibrationReport of_collectives(const CalibrateArguments& arguments,
                                         const std::vector<calibration::TimedCollective>& timed) {
  const auto made = calibrate_network(node_named(arguments.node), timed);
  output::CalibrationReport report{
      "collectives of " + made.network.node.name + ", " + std::to_string(timed.size()) + " measured", made.fit, {}, {}};
  for (const auto& residual : made.residuals) {
    const auto& one = residual.measured;
    const auto what = std::string(name(one.kind)) + " on " + std::to_string(one.ranks) + " ranks of " +
                      std::to_string(one.nodes) + (one.nodes > 1 ? " nodes" : " node");
    report.rows.push_back({what, what + ", " + std::to_string(one.size.value()) + " bytes (" + residual.chosen + ")",
                           one.time.value(), residual.predicted.value()});
  }
  report.yaml = cluster_yaml(made, source_text(arguments, timed.size()));
  return report;
}

output::CalibrationReport of_steps(const CalibrateArguments& arguments, const std::vector<validation::RunTable>& tables,
                                   spdlog::logger& log) {
  const auto chip = chip_named(arguments.chip);
  validation::ValidateOptions options{"calibrated", arguments.jobs, engine::EngineKind::automatic, progress_line()};
  const auto made = calibration::calibrate_steps(chip, tables, options, log);
  if (options.progress) options.progress("done", 1);
  output::CalibrationReport report{"steps on " + chip.name, made.fit, {}, {}};
  for (const auto& run : made.residuals) {
    if (run.counts())
      report.rows.push_back({run.run.family, run.run.table + " " + run.run.name, run.measured_s, run.predicted_s});
  }
  report.yaml = chip_yaml(chip, made.kernels, source_text(arguments, report.rows.size()));
  return report;
}

void run_calibrate(const CalibrateArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.write);
  const auto measurements = read_all(arguments);
  const bool of_network = !measurements.collectives.empty();
  if (of_network && arguments.node.empty())
    refuse("--node", "is missing, and the files hold collectives", "the node that they ran on, such as dgx-h100");
  if (!of_network && arguments.chip.empty())
    refuse("--chip",
           "is missing, and the files hold " + std::string(measurements.kernels.empty() ? "steps" : "kernels"),
           "the chip that they ran on, such as h100");
  const auto report = of_network                     ? of_collectives(arguments, measurements.collectives)
                      : measurements.kernels.empty() ? of_steps(arguments, measurements.steps, log)
                                                     : of_kernels(arguments, measurements.kernels);
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
  command.option("files", arguments->files, "CSV of kernels, collectives or training steps, or output of nccl-tests")
      .required();
  const auto chip =
      command.option("--chip", arguments->chip,
                     "the chip that kernels or steps ran on: a catalog name or a YAML file with a chip block");
  command.option("--node", arguments->node, "the node that collectives ran on, by its catalog name").excludes(chip);
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
      "  lockstep calibrate my_steps.csv --chip my_h100.yaml\nColumns, and a benchmark that writes them: "
      "docs/howto/calibrate.md");
  command.callback([arguments, &log] { run_calibrate(*arguments, log); });
}

}  // namespace lockstep::commands
