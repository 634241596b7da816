#pragma once
#include <optional>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {

/// What was read last for a key without a problem: the same again is not read again.
template <class Value>
class LastRead {
 public:
  /// What `view` holds, read with `read` unless it is known.
  template <class Read>
  Value value_of(const YamlView& view, const Problems& problems, Read read) {
    if (value_ && view.same_value(view_)) return *value_;
    const auto before = problems.size();
    auto value = read();
    if (problems.size() == before) {
      view_ = view;
      value_ = value;
    }
    return value;
  }

 private:
  YamlView view_;
  std::optional<Value> value_;
};

/// Parts of the last scenario of the same document and folder that are read from further files. For one thread at a
/// time; changes of those files in between are not seen.
struct LastParts {
  LastRead<workloads::Model> model;
  LastRead<topologies::ClusterSpec> cluster;
};

/// A scenario of a document that is already parsed; `problems` is the document's sink and empty. Files that it names
/// are seen from `folder`. Takes again from `last` what
/// is the same, and leaves its own parts there. Throws ConfigError.
[[nodiscard]] Scenario scenario_of_document(const YamlView& root, const std::vector<KeyOverride>& overrides,
                                            const std::string& name, const std::filesystem::path& folder,
                                            Problems& problems, LastParts& last);

}  // namespace lockstep::scenario
