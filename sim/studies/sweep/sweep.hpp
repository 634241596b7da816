#pragma once
/// A sweep file: a scenario and values for some of its keys; the sweep is every combination of its axes. Reference:
/// docs/howto/sweep.md.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/digest.hpp"
#include "sim/scenario/scenario_of_document.hpp"

namespace lockstep::sweep {

/// A key with one of its values.
struct SweptSetting {
  std::string key;     ///< dotted
  std::string value;   ///< YAML in one line
  Location where;      ///< of the value, in the sweep file
  std::string digest;  ///< of a file's content where the value names one, else ""
};

/// Settings that vary together: one swept key, keys that are zipped, a list of settings, or random draws.
struct SweepAxis {
  std::vector<std::vector<SweptSetting>> choices;
};

/// What a sweep varies.
struct SweptAxes {
  std::vector<std::string> keys;  ///< swept, in reading order
  std::vector<SweepAxis> axes;    ///< the last one varies fastest
};

class Sweep : public SweptAxes {
 public:
  std::string name;              ///< the file's stem
  Digest scenario_digest;        ///< of the scenario, the files that it names and the catalogs
  std::filesystem::path folder;  ///< from which the scenario's files are seen
  std::shared_ptr<Problems> problems = std::make_shared<Problems>();  ///< sink of `scenario`
  YamlView scenario;                                                  ///< that the settings are put over
  std::shared_ptr<scenario::LastParts> last = std::make_shared<scenario::LastParts>();  ///< of the point read last

  /// The number of combinations, with equal ones counted each; at most `very_many`.
  [[nodiscard]] std::int64_t points() const;
  /// The settings of a point, in the order of the keys; a point need not set every key.
  [[nodiscard]] std::vector<const SweptSetting*> settings(std::int64_t point) const;
  /// Equal for points of equal scenarios with equal settings, in any sweep.
  [[nodiscard]] Digest::Bytes16 identity(std::int64_t point) const;
  /// Throws ConfigError with the problems of the point's scenario, located in the sweep file where it has them. For one
  /// thread at a time.
  [[nodiscard]] scenario::Scenario scenario_at(std::int64_t point) const;
  [[nodiscard]] scenario::Scenario scenario_with(std::vector<const SweptSetting*> settings) const;
};

/// Throws ConfigError; an unknown swept key is a problem of the file, a value that a scenario cannot have is not.
[[nodiscard]] Sweep load_sweep(const std::filesystem::path& file);

/// The axes of a map with grid, zip, list or random; problems go to the view's sink, which is `problems`.
[[nodiscard]] SweptAxes read_axes(const YamlView& view, const Problems& problems);
/// These axes over a scenario file with keys replaced. Throws ConfigError as load_sweep does; its points have no
/// identity.
[[nodiscard]] Sweep sweep_over(const std::filesystem::path& scenario,
                               const std::vector<scenario::KeyOverride>& overrides, SweptAxes axes);

/// Limits on the points of a sweep and on the values of one of its axes.
inline constexpr std::int64_t most_points = 10'000'000, most_choices = 1'000'000;
/// Sweep::points() returns this for so many points and more.
inline constexpr std::int64_t very_many = 1'000'000'000'000;

}  // namespace lockstep::sweep
