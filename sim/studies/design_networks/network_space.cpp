#include "sim/studies/design_networks/network_space.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/design_networks/usual_networks.hpp"

namespace lockstep::design_networks {
namespace {

std::string count_text(double count) {
  constexpr double exact_below = 1e15;
  if (count < exact_below) return std::to_string(std::llround(count));
  return exact(count);
}

/// "40 values of cluster.fabric.radix x 25 of cluster.nodes", the longest axes.
std::string longest_axes(const sweep::SweptAxes& space) {
  constexpr std::size_t shown = 3;
  std::vector<const sweep::SweepAxis*> axes;
  for (const auto& axis : space.axes) axes.push_back(&axis);
  std::stable_sort(axes.begin(), axes.end(),
                   [](const auto* a, const auto* b) { return a->choices.size() > b->choices.size(); });
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, axes.size()); ++i) {
    text += (i == 0 ? "" : " x ") + std::to_string(axes[i]->choices.size()) + (i == 0 ? " values of " : " of ") +
            axes[i]->choices.front().front().key;
  }
  return text + (axes.size() > shown ? " x ..." : "");
}

void refuse_what_is_too_large(const sweep::SweptAxes& space, const YamlView& at) {
  double count = 1;
  for (const auto& axis : space.axes) count *= static_cast<double>(axis.choices.size());
  if (count <= static_cast<double>(most_networks)) return;
  at.problem("the space has " + count_text(count) + " networks (" + longest_axes(space) + ")",
             "at most " + std::to_string(most_networks) +
                 ": fewer values of these keys, or the combinations of interest as a list");
}

std::string content_of(const std::filesystem::path& file) {
  Problems problems;
  (void)YamlView::from_file(file, problems);  // says why it cannot be read
  problems.throw_if_any();
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A line for each key that is no part of the machine or of how the work lies on it: other work would be compared.
void refuse_other_keys(const sweep::SweptAxes& space, Problems& problems) {
  std::set<std::string> told;
  for (const auto& axis : space.axes) {
    for (const auto& choice : axis.choices) {
      for (const auto& setting : choice) {
        const auto room = setting.key.substr(0, setting.key.find('.'));
        const bool may_vary = room == "cluster" || room == "mesh" || room == "parallel" || room == "communication";
        if (may_vary || !told.insert(setting.key).second) continue;
        problems.add({setting.where, setting.key, "all networks of a space have the same work",
                      "keys of cluster, mesh, parallel and communication; a scenario for each workload"});
      }
    }
  }
}

sweep::SweptAxes axes_of(const std::string& text, const std::string& name) {
  Problems problems;
  const auto document = YamlView::from_text(text, name, problems);
  sweep::SweptAxes axes;
  if (document.exists() && document.expect_map("grid, zip or list of keys and values, such as {grid: "
                                               "{cluster.fabric.oversubscription: [1, 2, 4]}}")) {
    axes = sweep::read_axes(document, problems);
    if (problems.empty() && axes.axes.empty())
      document.problem("varies nothing", "grid, zip or list with a key or more");
    refuse_what_is_too_large(axes, document);
    refuse_other_keys(axes, problems);
  }
  problems.throw_if_any();
  return axes;
}

/// The parts of a key, last first, that tell it apart from all others.
std::string short_key(const std::string& key, const std::vector<std::string>& all) {
  for (std::size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
    const auto end = key.substr(dot);
    const bool is_alone =
        std::count_if(all.begin(), all.end(), [&](const std::string& other) { return other.ends_with(end); }) == 1;
    const bool tells = end != ".count" && end != ".rate";  // of what, the key before says
    if (is_alone && tells) return end.substr(1);
  }
  return key;
}

bool is_same_machine(const topologies::ClusterSpec& a, const topologies::ClusterSpec& b) {
  return a.unit == b.unit && a.units == b.units && a.groups == b.groups && a.fabric == b.fabric && a.halls == b.halls &&
         a.between_halls == b.between_halls;
}

/// Values that no network can have, such as a word for a number: a mistake in the file, where a combination that cannot
/// be built is a network that is refused.
void refuse_wrong_values(const sweep::Sweep& sweep) {
  std::set<std::pair<std::string, std::string>> tried;
  Problems wrong;
  for (const auto& axis : sweep.axes) {
    for (const auto& choice : axis.choices) {
      for (const auto& setting : choice) {
        if (!tried.emplace(setting.key, setting.value).second) continue;
        try {
          (void)sweep.scenario_with({&setting});
        } catch (const ConfigError& error) {
          for (const auto& problem : error.problems()) {
            const bool is_own = problem.key == setting.key && problem.where.to_string() == setting.where.to_string();
            // The readers of values quote them; what is wrong only beside other keys is told in other words.
            if (is_own && (problem.what.starts_with('`') || problem.what.starts_with('"'))) wrong.add(problem);
          }
        }
      }
    }
  }
  wrong.throw_if_any();
}

}  // namespace

NetworkSpace::NetworkSpace(const std::vector<Workload>& workloads, const std::vector<scenario::KeyOverride>& overrides,
                           const std::optional<std::filesystem::path>& axes)
    : workloads_(workloads) {
  std::vector<scenario::Scenario> bases;
  for (const auto& workload : workloads) bases.push_back(load_scenario(workload.file, overrides));
  text_ = axes ? content_of(*axes) : usual_networks(bases.front());
  const auto swept = axes_of(text_, axes ? axes->string() : "usual networks");
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    Problems problems;
    auto document = YamlView::from_file(workloads[i].file, problems);
    for (const auto& key : overrides) document = document.with_override(key.path, key.value);
    auto keys = overrides;
    for (auto& key : as_maps(document, bases[i])) keys.push_back(std::move(key));
    sweeps_.push_back(sweep::sweep_over(workloads[i].file, keys, swept));
  }
  refuse_wrong_values(sweeps_.front());
  refuse_other_machines(bases);
  find_varying_keys();
}

/// Scenarios may differ where the space says the same for all, so the first network on which both can be is looked at.
void NetworkSpace::refuse_other_machines(const std::vector<scenario::Scenario>& bases) const {
  Problems problems;
  for (std::size_t i = 1; i < bases.size(); ++i) {
    if (is_same_machine(bases.front().cluster, bases[i].cluster)) continue;
    for (std::int64_t network = 0; network < size(); ++network) {
      try {
        if (is_same_machine(sweeps_.front().scenario_at(network).cluster, sweeps_[i].scenario_at(network).cluster))
          break;
      } catch (const ConfigError&) {
        continue;
      }
      problems.add({bases[i].where("cluster"), "cluster",
                    "is another machine than that of " + workloads_.front().file.string(), "scenarios on one machine"});
      break;
    }
  }
  problems.throw_if_any();
}

/// Keys that have one value in the whole space tell no network apart.
void NetworkSpace::find_varying_keys() {
  const auto& space = sweeps_.front();
  for (const auto& key : space.keys) {
    std::set<std::string> values;
    bool is_everywhere = true;
    for (const auto& axis : space.axes) {
      std::size_t times = 0;
      for (const auto& choice : axis.choices) {
        for (const auto& setting : choice) {
          if (setting.key != key) continue;
          values.insert(setting.value);
          ++times;
        }
      }
      if (times > 0) is_everywhere = times == axis.choices.size();
    }
    if (values.size() > 1 || !is_everywhere) varying_.insert(key);
  }
}

std::vector<scenario::Scenario> NetworkSpace::scenarios(std::int64_t network) const {
  std::vector<scenario::Scenario> made;
  for (std::size_t i = 0; i < sweeps_.size(); ++i) {
    made.push_back(sweeps_[i].scenario_at(network));
    if (is_same_machine(made.front().cluster, made.back().cluster)) continue;
    throw ConfigError(
        {{made.back().where("cluster"), "cluster",
          "is another machine than that of " + workloads_.front().file.string(), "scenarios on one machine"}});
  }
  return made;
}

std::vector<std::pair<std::string, std::string>> NetworkSpace::settings(std::int64_t network) const {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto* setting : sweeps_.front().settings(network)) {
    if (varying_.contains(setting->key)) settings.emplace_back(setting->key, setting->value);
  }
  std::sort(settings.begin(), settings.end());
  return settings;
}

std::string NetworkSpace::label(std::int64_t network) const {
  std::string text;
  for (const auto& [key, value] : settings(network)) {
    if (value == "{}") continue;  // chosen anew
    text += (text.empty() ? "" : ", ") + short_key(key, sweeps_.front().keys) + ": " + value;
  }
  return text.empty() ? "as the scenario says" : text;
}

}  // namespace lockstep::design_networks
