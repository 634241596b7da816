#include "topologies/chips/chip.hpp"

#include <array>
#include <utility>

#include "sim/core/quantity_text.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::array precision_names{
    std::pair{Precision::fp32, std::string_view("fp32")},   std::pair{Precision::bf16, std::string_view("bf16")},
    std::pair{Precision::fp16, std::string_view("fp16")},   std::pair{Precision::fp8, std::string_view("fp8")},
    std::pair{Precision::int8, std::string_view("int8")},   std::pair{Precision::fp4, std::string_view("fp4")},
    std::pair{Precision::mxfp8, std::string_view("mxfp8")}, std::pair{Precision::nvfp4, std::string_view("nvfp4")}};

}  // namespace

std::string_view name(Precision precision) {
  for (const auto& [known, word] : precision_names) {
    if (known == precision) return word;
  }
  throw InternalError("a precision without a name");
}

std::optional<Precision> precision_named(std::string_view word) {
  for (const auto& [known, its_name] : precision_names) {
    if (its_name == word) return known;
  }
  return std::nullopt;
}

Bytes element_size(Precision precision) {
  switch (precision) {
    case Precision::fp32: return Bytes(4);
    case Precision::bf16: return Bytes(2);
    case Precision::fp16: return Bytes(2);
    case Precision::fp8: return Bytes(1);
    case Precision::int8: return Bytes(1);
    case Precision::mxfp8: return Bytes(1);
    case Precision::fp4:
    case Precision::nvfp4: break;
  }
  throw InternalError("fp4 elements are half a byte and are not stored one by one");
}

double operand_bytes(Precision precision) {
  switch (precision) {
    case Precision::mxfp8: return 1 + 1.0 / 32;
    case Precision::nvfp4: return 0.5 + 1.0 / 16;
    case Precision::fp4: return 0.5;
    case Precision::fp32:
    case Precision::bf16:
    case Precision::fp16:
    case Precision::fp8:
    case Precision::int8: break;
  }
  return static_cast<double>(element_size(precision).value());
}

bool is_narrow(Precision precision) {
  return precision == Precision::fp4 || precision == Precision::nvfp4 || has_8_bits(precision);
}

bool has_8_bits(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::int8 || precision == Precision::mxfp8;
}

bool WrapRule::wraps(int size) const {
  if (size < 3) return false;  // the wrap would double the link that is there already
  return (multiple_of > 0 && size % multiple_of == 0) || (exactly > 0 && size == exactly);
}

std::string WrapRule::to_string() const {
  if (multiple_of > 0) return "an axis wraps if its size is a multiple of " + std::to_string(multiple_of);
  if (exactly > 0) return "only an axis of " + std::to_string(exactly) + " wraps";
  return "no axis wraps";
}

std::optional<FlopsPerSecond> Chip::peak_for(Precision precision) const {
  const auto found = peak.find(precision);
  return found == peak.end() ? std::nullopt : std::optional(found->second);
}

std::string by_axis(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

namespace {

/// "90 GB/s", or one rate for each axis: "128 GB/s, 128 GB/s, 64 GB/s".
std::string links_text(const TorusFabric& torus) {
  if (torus.axis_links.empty()) return format(torus.link);
  std::string text;
  for (const BytesPerSecond link : torus.axis_links) text += (text.empty() ? "" : ", ") + format(link);
  return text;
}

}  // namespace

std::string to_string(const Chip& chip) {
  std::string text = chip.name + " (" + chip.title + "): " + format(chip.memory) +
                     (chip.usable_memory ? " (" + format(*chip.usable_memory) + " usable)" : std::string()) + " at " +
                     format(chip.memory_bandwidth);
  for (const auto& [precision, rate] : chip.peak) text += ", " + std::string(name(precision)) + ' ' + format(rate);
  if (chip.torus) {
    const TorusFabric& torus = *chip.torus;
    text += "\n  torus: pod " + by_axis(torus.pod) + ", host " + by_axis(torus.host) + ", link " + links_text(torus) +
            " one way, hop " + format(torus.hop_latency) + ", " + torus.wrap.to_string();
  }
  if (chip.scale_up) {
    text += "\n  scale-up: " + format(*chip.scale_up) + " one way, domain of " + std::to_string(chip.scale_up_domain);
  }
  if (chip.pcie) text += "\n  PCIe: " + format(*chip.pcie) + " one way";
  if (chip.dcn_per_host) text += "\n  DCN: " + format(*chip.dcn_per_host) + " per host";
  return text + '\n';
}

}  // namespace lockstep::topologies
