#pragma once
/// The networks among which a design chooses: a machine under every combination of values for keys of its scenarios.
/// Reference: docs/howto/design_a_network.md.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/studies/sweep/sweep.hpp"

namespace lockstep::design_networks {

/// A scenario and its share of the tokens that are to be trained.
struct Workload {
  std::filesystem::path file;
  double weight = 1;
};

class NetworkSpace {
 public:
  /// `axes`: a file with grid, zip or list of keys, as those of a sweep; none: the usual networks of the first
  /// scenario's machine. Throws ConfigError with every problem of the files, for unknown keys, and for more networks
  /// than can be counted out one by one.
  NetworkSpace(const std::vector<Workload>& workloads, const std::vector<scenario::KeyOverride>& overrides,
               const std::optional<std::filesystem::path>& axes);

  [[nodiscard]] std::int64_t size() const { return sweeps_.front().points(); }
  [[nodiscard]] const std::vector<Workload>& workloads() const { return workloads_; }
  /// All scenarios on a network of the space; throws ConfigError where it cannot be built, or where they are not on one
  /// machine. For one thread at a time.
  [[nodiscard]] std::vector<scenario::Scenario> scenarios(std::int64_t network) const;

  /// The keys that differ and their values, by key.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> settings(std::int64_t network) const;
  /// The same for people: "oversubscription: 4, rails: separate".
  [[nodiscard]] std::string label(std::int64_t network) const;
  /// The file of the axes.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void refuse_other_machines(const std::vector<scenario::Scenario>& bases) const;
  void find_varying_keys();

  std::vector<Workload> workloads_;
  std::string text_;
  std::vector<sweep::Sweep> sweeps_;  ///< of the same axes over each scenario
  std::set<std::string> varying_;
};

inline constexpr std::int64_t most_networks = 10'000;

}  // namespace lockstep::design_networks
