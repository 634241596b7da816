#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "sim/core/quantity_text.hpp"
#include "sim/core/readable_file.hpp"
#include "sim/core/visible_text.hpp"
#include "sim/scenario/read_hosts_private.hpp"
#include "topologies/graph/host_list.hpp"
#include "topologies/graph/text_file.hpp"

namespace lockstep::scenario {
namespace {

constexpr std::size_t most_problems = 20;      // of one list; the rest is counted
constexpr std::size_t most_named = 3;          // of a list without a host of the graph
constexpr std::size_t most_names = 4'194'304;  // that the lists of a file expand to
const std::string expected_list = "a list of hosts, text such as gpu[001-064,070], or a file with a host on each line";

class HostReader {
 public:
  HostReader(const YamlView& view, const topologies::NetworkGraph& graph, Problems& problems)
      : view_(view), graph_(graph), problems_(problems) {
    for (const auto id : graph.hosts.ids()) known_.try_emplace(graph.hosts[id].name, id);
  }

  std::vector<topologies::HostId> read(const std::filesystem::path& folder) {
    const auto before = problems_.size();
    if (view_.is_list()) {
      for (const auto& item : view_.items()) {
        if (expect_value(item, "a host of the graph")) add(item.text(), item.where());
      }
    } else if (expect_value(view_, expected_list)) {
      const auto text = view_.text();
      std::error_code unreadable;
      if (std::filesystem::exists(folder / text, unreadable)) {
        read_file(folder / text);
      } else if (text.find('/') != std::string::npos) {
        view_.problem("there is no file '" + text + "'", expected_list);
      } else {
        add(text, view_.where());
      }
    }
    tell();
    if (hosts_.empty() && problems_.size() == before) view_.problem("has no host", expected_list);
    return std::move(hosts_);
  }

 private:
  void read_file(const std::filesystem::path& path) {
    if (const auto why = why_unreadable(path); !why.empty()) return view_.problem(why, expected_list);
    const auto text = topologies::read_text(
        path, [](std::string_view) { return true; }, problems_);
    if (!text) return;
    std::istringstream file(*text);
    std::string line;
    for (int row = 1; std::getline(file, line); ++row) {
      if (names_ > most_names)
        return refuse({path.string(), row, 1}, "lists more than " + std::to_string(most_names) + " names",
                      "hosts of the graph, each once");
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.pop_back();
      line.erase(0, line.find_first_not_of(" \t"));
      if (!line.empty() && line.front() != '#') add(line, {path.string(), row, 1});
    }
  }

  void refuse(const Location& where, std::string what, std::string expected) {
    if (++refused_ <= most_problems) wrong_.push_back({where, view_.path(), std::move(what), std::move(expected)});
  }

  /// What is wrong with the hosts; of a list in which nothing is a host of the graph, that.
  void tell() {
    if (!any_known_ && refused_ > most_named)
      return problems_.add({wrong_.front().where, view_.path(),
                            "none of " + std::to_string(refused_) + " entries is a host of the graph",
                            wrong_.front().expected});
    for (auto& problem : wrong_) problems_.add(std::move(problem));
    if (refused_ > most_problems)
      view_.problem(std::to_string(refused_ - most_problems) + " more hosts are wrong",
                    "hosts of the graph, each once");
  }

  void add(const std::string& list, const Location& where) {
    const auto names = topologies::expand_names(list, graph_.hosts.size() + most_problems);
    if (const auto* error = std::get_if<QuantityError>(&names)) return refuse(where, error->what, error->expected);
    std::vector<std::string> absent, twice;  // each name once in all lists
    Location first_place;                    // of the first name in `twice`
    for (const auto& name : std::get<0>(names)) {
      const auto known = known_.find(name);
      if (known == known_.end()) {
        absent.push_back(name);
        continue;
      }
      const auto [first, is_new] = listed_.try_emplace(known->second, where);
      if (is_new) {
        hosts_.push_back(known->second);
      } else {
        if (twice.empty()) first_place = first->second;
        twice.push_back(name);
      }
    }
    names_ += std::get<0>(names).size();
    any_known_ = any_known_ || absent.size() < std::get<0>(names).size();
    std::erase_if(absent, [&](const auto& name) { return !told_absent_.insert(name).second; });
    std::erase_if(twice, [&](const auto& name) { return !told_twice_.insert(name).second; });
    if (!absent.empty()) refuse(where, hosts_text(absent, "is", "are") + " not in the graph", nearest(absent.front()));
    if (!twice.empty()) {
      refuse(where,
             hosts_text(twice, "is", "are") + " listed twice, " +
                 (twice.size() == 1 ? "" : visible(twice.front()) + " ") + "first at " + first_place.to_string(),
             "each host once");
    }
  }

  /// "host 'a' is", "hosts 'a', 'b' and 7 more are".
  static std::string hosts_text(const std::vector<std::string>& names, const char* one, const char* several) {
    std::vector<std::string> quoted;
    for (const auto& name : names) quoted.push_back("'" + visible(name) + "'");
    return (names.size() == 1 ? "host " : "hosts ") + topologies::some_of(quoted) + " " +
           (names.size() == 1 ? one : several);
  }

  [[nodiscard]] std::string nearest(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& host : graph_.hosts) names.push_back(host.name);
    const auto hint = did_you_mean(name, names);
    const std::string example = names.empty() ? "" : ", such as " + names.front();
    return "a host of the graph" + (hint.empty() ? example : "; " + hint);
  }

  const YamlView& view_;
  const topologies::NetworkGraph& graph_;
  Problems& problems_;
  std::map<std::string, topologies::HostId> known_;
  std::map<topologies::HostId, Location> listed_;
  std::vector<topologies::HostId> hosts_;
  std::set<std::string> told_absent_, told_twice_;
  std::vector<Problem> wrong_;
  std::size_t refused_ = 0, names_ = 0;
  bool any_known_ = false;
};

}  // namespace

std::vector<topologies::HostId> read_hosts(const YamlView& view, const std::filesystem::path& folder,
                                           const topologies::NetworkGraph& graph, Problems& problems) {
  return HostReader(view, graph, problems).read(folder);
}

}  // namespace lockstep::scenario
