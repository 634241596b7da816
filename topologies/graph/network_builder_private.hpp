#pragma once
/// What readers of all formats build a graph with. It holds the rules that are the same for every format: names are
/// unique, a cable joins two things, rates are above zero, and sizes are bounded.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"
#include "topologies/graph/host_list.hpp"
#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

inline constexpr std::size_t most_network_nodes = 262'144;   // hosts and switches
inline constexpr std::size_t most_cable_ends = 2'097'152;    // adapters, and cables before parallel ones are folded
inline constexpr std::size_t most_listed_names = 4'194'304;  // that all lists of a file expand to
inline constexpr int most_parallel_cables = 65'536;

/// A place in the file that is read.
struct TextPlace {
  int line = 0, column = 0;
};

class NetworkBuilder {
 public:
  NetworkBuilder(std::string file, Problems& problems) : file_(std::move(file)), problems_(problems) {}

  /// One line for equal problems at one place, one after the other.
  void problem(TextPlace place, std::string key, std::string what, std::string expected);
  /// So many problems that nobody reads more of them, or a network that is too large: a reader stops.
  [[nodiscard]] bool gives_up() const;
  [[nodiscard]] Problems& problems() { return problems_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  /// The names of a list; a problem and none where it is malformed, or too long with all lists before it.
  [[nodiscard]] std::vector<std::string> expand(std::string_view list, TextPlace place, const std::string& key);

  /// Something with this name that is in the graph already is a problem; none is added then, or when it is full.
  std::optional<HostId> add_host(const std::string& name, TextPlace place);
  std::optional<SwitchId> add_switch(const std::string& name, TextPlace place);
  /// A host or a switch of this name.
  [[nodiscard]] std::optional<std::variant<AdapterEnd, SwitchEnd>> find(std::string_view name) const;
  /// One more adapter of a host: "nic0" and so on without a name.
  AdapterEnd add_adapter(HostId host, std::string name = "");
  [[nodiscard]] const NetworkGraph& graph() const { return graph_; }

  /// Adds a cable from `cable.from` to `cable.to`; refused where both are in one switch or host, or the rate is zero.
  void connect(Cable cable, TextPlace place);
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }
  void name(std::string of_network) { graph_.name = std::move(of_network); }

  /// The graph in its one order: cables by their ends, parallel ones folded. Hosts without a cable and a network in
  /// parts are problems.
  [[nodiscard]] NetworkGraph finish();
  [[nodiscard]] std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  void refuse_size(TextPlace place, std::size_t most, const std::string& things);
  bool add_name(const std::string& name, CableEnd end, TextPlace place);
  void sort_and_fold();
  void check_hosts();

  std::string file_;
  Problems& problems_;
  NetworkGraph graph_;
  std::map<std::string, CableEnd, std::less<>> ends_;
  std::vector<std::string> notes_;
  std::size_t adapters_ = 0, names_left_ = most_listed_names;
  bool too_large_ = false;
  TextPlace twice_;  ///< where the last name stood that was known
};

/// "1 host", "2 hosts".
[[nodiscard]] std::string counted(std::size_t count, const std::string& thing);

}  // namespace lockstep::topologies
