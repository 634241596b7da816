#pragma once
/// A scenario as keys and values, some recognised and some said by the user, which become its file.
#include <map>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::from_trace {

class ScenarioKeys {
 public:
  explicit ScenarioKeys(const std::vector<scenario::KeyOverride>& said);

  /// The value that was said or set, or "".
  [[nodiscard]] std::string value(const std::string& key) const;
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  /// Sets a key of one level ("model") or two ("batch.sequences"), unless the user said it.
  void set(const std::string& key, const std::string& value);
  void set(const std::string& key, std::int64_t value) { set(key, std::to_string(value)); }
  /// A whole number that was said or set, or the other. Throws ConfigError for what is none.
  [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  /// The file: the keys of two levels in maps of one line.
  [[nodiscard]] std::string yaml(const std::string& comment) const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, bool> is_said_;
};

}  // namespace lockstep::from_trace
