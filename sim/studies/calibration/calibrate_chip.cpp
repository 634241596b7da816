#include "sim/studies/calibration/calibrate_chip.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "sim/cost/kernel_time.hpp"
#include "sim/studies/calibration/yaml_number.hpp"

namespace lockstep::calibration {
namespace {

/// A number among the chip's parameters, to read and to write.
struct Place {
  FitParameter limits;
  std::function<double&(topologies::ChipKernels&)> in;
};

std::vector<Place> places_of(const topologies::Chip& chip, const std::vector<MeasuredKernel>& kernels) {
  std::vector<Place> places;
  const auto add = [&](const char* key, double low, double high,
                       const std::function<double&(topologies::ChipKernels&)>& in, const std::string& fixed = "") {
    auto values = *chip.kernels;
    places.push_back({{key, in(values), low, high, 0, fixed}, in});
  };
  const bool copies = std::any_of(kernels.begin(), kernels.end(), [](const MeasuredKernel& measured) {
    return measured.kernel.work == workloads::ComputeWork::memory;
  });
  std::set<topologies::Precision> precisions;
  for (const auto& kernel : kernels) {
    if (kernel.kernel.work != workloads::ComputeWork::memory) precisions.insert(kernel.precision);
  }
  for (const auto precision : precisions) {
    const std::string key = "matrix." + std::string(name(precision));
    add(key.c_str(), 0.02, 1, [precision](topologies::ChipKernels& k) -> double& {
      return k.matrix.try_emplace(precision, 0.8).first->second;
    });
  }
  // Short products wait for memory too, but they cannot tell it from their gap, their depth and their staging.
  add(
      "memory", 0.02, 1, [](topologies::ChipKernels& k) -> double& { return k.memory; },
      copies ? "" : "no copy was measured");
  if (chip.kernels->units > 0)
    add("waves.tile_edge", 0, 128, [](topologies::ChipKernels& k) -> double& { return k.tile_edge; });
  add("depth", 0, 2048, [](topologies::ChipKernels& k) -> double& { return k.depth; });
  add("attention.forward", 0.02, 1, [](topologies::ChipKernels& k) -> double& { return k.attention.forward; });
  add("attention.backward", 0.02, 1, [](topologies::ChipKernels& k) -> double& { return k.attention.backward; });
  add("attention.softmax", 0, 512, [](topologies::ChipKernels& k) -> double& { return k.attention.softmax; });
  add("attention.block", 0, 4096, [](topologies::ChipKernels& k) -> double& { return k.attention.block; });
  return places;
}

/// Quantities have types of their own: these two are varied in MB and microseconds.
constexpr double most_staging = 64, most_gap = 50;

void check_precisions(const topologies::Chip& chip, const std::vector<MeasuredKernel>& kernels) {
  Problems problems;
  for (const auto& kernel : kernels) {
    if (kernel.kernel.work == workloads::ComputeWork::memory || chip.peak_for(kernel.precision)) continue;
    problems.add({kernel.where, "precision",
                  "chip " + chip.name + " has no " + std::string(name(kernel.precision)) + " rate",
                  "a precision with a peak"});
  }
  problems.throw_if_any();
}

/// "forward: 0.7, backward: 0.5, ..."; shares of 1 are left out where 1 is usual.
std::string attention_keys(const topologies::AttentionKernels& kernels) {
  const auto unless_whole = [](const char* key, double share) {
    return share == 1 ? "" : std::string(", ") + key + ": " + yaml_number(share);
  };
  return "forward: " + yaml_number(kernels.forward) + ", backward: " + yaml_number(kernels.backward) +
         ", softmax: " + yaml_number(kernels.softmax) + ", block: " + yaml_number(kernels.block) +
         unless_whole("unlike_heads", kernels.unlike_heads) + unless_whole("random", kernels.random) +
         unless_whole("power", kernels.power);
}

}  // namespace

Seconds kernel_by_itself(const topologies::Chip& chip, const MeasuredKernel& measured) {
  const auto& kernels = *chip.kernels;
  cost::KernelRates rates{{}, {}, chip.memory_bandwidth * kernels.memory, kernels};
  if (measured.kernel.work != workloads::ComputeWork::memory)
    rates.products = rates.in_16_bits = *chip.peak_for(measured.precision) * kernels.matrix.at(measured.precision);
  return kernel_time(rates, measured.kernel);
}

ChipCalibration calibrate_chip(const topologies::Chip& chip, const std::vector<MeasuredKernel>& kernels) {
  check_precisions(chip, kernels);
  const auto places = places_of(chip, kernels);
  std::vector<FitParameter> parameters;
  for (const auto& place : places) parameters.push_back(place.limits);
  parameters.push_back({"staging", static_cast<double>(chip.kernels->staging.value()) / 1e6, 0, most_staging});
  parameters.push_back({"gap", chip.kernels->gap.value() * 1e6, 0, most_gap});

  const auto chip_with = [&](const std::vector<double>& values) {
    topologies::Chip fitted = chip;
    auto& into = *fitted.kernels;
    for (std::size_t i = 0; i < places.size(); ++i) places[i].in(into) = values[i];
    into.staging = Bytes(std::llround(values[places.size()] * 1e6));
    into.gap = Seconds(values[places.size() + 1] * 1e-6);
    return fitted;
  };
  const auto errors = [&](const std::vector<double>& values) {
    const auto fitted = chip_with(values);
    std::vector<double> logs;
    for (const auto& kernel : kernels) logs.push_back(std::log(kernel_by_itself(fitted, kernel) / kernel.time));
    return logs;
  };

  ChipCalibration calibration{chip, fit(parameters, errors), {}};
  std::vector<double> values;
  for (const auto& parameter : calibration.fit.parameters) values.push_back(parameter.after);
  calibration.chip = chip_with(values);
  for (const auto& kernel : kernels)
    calibration.residuals.push_back({kernel, kernel_by_itself(calibration.chip, kernel)});
  return calibration;
}

std::string kernels_yaml(const topologies::ChipKernels& kernels, const std::string& source) {
  std::string matrix;
  for (const auto& [precision, share] : kernels.matrix)
    matrix += (matrix.empty() ? "" : ", ") + std::string(name(precision)) + ": " + yaml_number(share);
  std::string text = "kernels:\n  matrix: {" + matrix + "}\n  sustained: " + yaml_number(kernels.sustained) +
                     "\n  memory: " + yaml_number(kernels.memory) + "\n";
  if (kernels.accumulation > 0) text += "  accumulation: " + yaml_number(kernels.accumulation) + "\n";
  if (kernels.indexed < 1) text += "  indexed: " + yaml_number(kernels.indexed) + "\n";
  text += kernels.units > 0 ? "  waves: {units: " + std::to_string(kernels.units) +
                                  ", tile_edge: " + yaml_number(kernels.tile_edge) + "}\n"
                            : "  systolic: " + std::to_string(kernels.systolic) + "\n";
  if (kernels.grouped_tile > 0) text += "  grouped_tile: " + std::to_string(kernels.grouped_tile) + "\n";
  if (kernels.own_steps > 0) text += "  own_steps: " + std::to_string(kernels.own_steps) + "\n";
  text += "  depth: " + yaml_number(kernels.depth) +
          "\n  staging: " + yaml_number(static_cast<double>(kernels.staging.value()) / 1e6) + " MB\n";
  text += "  gap: " + yaml_number(kernels.gap.value() * 1e6) +
          " us\n  host: " + yaml_number(kernels.host.value() * 1e6) + " us\n";
  const auto& usual = kernels.attention;
  const std::string library = usual.name.empty() ? "" : "library: " + yaml_quoted(usual.name) + ", ";
  text += "  attention: {" + library + attention_keys(usual) + "}\n";
  if (!kernels.other_attention.empty()) text += "  other_attention:\n";
  for (const auto& other : kernels.other_attention)
    text += "    " + yaml_quoted(other.name) + ": {" + attention_keys(other) + "}\n";
  if (kernels.communication_units > 0 || kernels.communication_memory > 0) {
    const auto units = kernels.units > 0 ? "units: " + std::to_string(kernels.communication_units) + ", " : "";
    text += "  communication: {" + units + "memory: " + yaml_number(kernels.communication_memory) + "}\n";
  }
  return text + "  sources: [" + yaml_quoted(source) + "]\n";
}

}  // namespace lockstep::calibration
