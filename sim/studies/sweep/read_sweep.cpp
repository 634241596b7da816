// A sweep file to its axes.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "sim/core/yaml_text.hpp"
#include "sim/studies/sweep/sweep.hpp"
#include "sim/studies/sweep/swept_values.hpp"

namespace lockstep::sweep {
namespace {

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Digest of the file that a value names, "" if it names none.
std::string digest_of_file(const std::string& value, const std::filesystem::path& folder) {
  std::error_code unreadable;
  if (value.empty() || !std::filesystem::is_regular_file(folder / value, unreadable)) return "";
  Digest digest;
  digest.add(content_of(folder / value));
  return digest.hex();
}

/// The text of a YAML value without its quotes; "" if it is not a single value.
std::string text_in(const std::string& value) {
  Problems problems;
  const auto view = YamlView::from_text(value, "", problems);
  return view.is_scalar() ? view.text() : "";
}

void add_files(const YamlView& value, const std::filesystem::path& folder, Digest& digest) {
  if (value.is_map()) {
    for (const auto& key : value.keys()) add_files(value[key], folder, digest);
  } else if (value.is_list()) {
    for (const auto& item : value.items()) add_files(item, folder, digest);
  } else if (value.is_scalar()) {
    digest.add(digest_of_file(value.text(), folder));
  }
}

/// Adds the files that every scenario may name: chips, nodes, fabrics and models.
void add_catalogs(Digest& digest) {
  for (const auto* catalog : {"topologies/catalog", "workloads/catalog"}) {
    std::vector<std::filesystem::path> files;
    std::error_code unreadable;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(scenario::data_root() / catalog, unreadable)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      digest.add(file.filename().string());
      digest.add(content_of(file));
    }
  }
}

class AxesReader {
 public:
  explicit AxesReader(const Problems& problems) : problems_(problems) {}

  SweptAxes read(const YamlView& sweep) {
    if (const auto grid = sweep["grid"]; grid.exists()) {
      for (const auto& key : keys_of(grid)) {
        SweepAxis axis;
        for (auto& setting : SweptValues(key, grid[key], false, problems_).all())
          axis.choices.push_back({std::move(setting)});
        add(std::move(axis));
      }
    }
    if (const auto zip = sweep["zip"]; zip.exists()) {
      for (const auto& one : zip.is_list() ? zip.items() : std::vector{zip}) read_zip(one);
    }
    if (const auto list = sweep["list"]; list.exists()) read_list(list);
    if (const auto random = sweep["random"]; random.exists()) read_random(random);
    sweep.refuse_unknown_keys();
    return std::move(swept_);
  }

 private:
  /// Notes the keys as swept; one that another axis sweeps too is a problem.
  std::vector<std::string> keys_of(const YamlView& view) {
    if (!view.expect_map("keys of a scenario and their values, such as {parallel.tensor: [1, 2, 4]}")) return {};
    const auto keys = view.keys();
    for (const auto& key : keys) note(key, view[key]);
    return keys;
  }

  void note(const std::string& key, const YamlView& at) {
    if (std::find(swept_.keys.begin(), swept_.keys.end(), key) == swept_.keys.end()) {
      swept_.keys.push_back(key);
    } else {
      at.problem("`" + key + "` is swept twice", "each key in one place");
    }
  }

  void read_zip(const YamlView& view) {
    SweepAxis axis;
    for (const auto& key : keys_of(view)) {
      const auto values = SweptValues(key, view[key], false, problems_).all();
      const bool first = axis.choices.empty();
      if (first) axis.choices.resize(values.size());
      if (values.size() != axis.choices.size()) {
        view[key].problem("has " + std::to_string(values.size()) + (values.size() == 1 ? " value" : " values"),
                          "as many as the keys before it, " + std::to_string(axis.choices.size()));
        return;
      }
      for (std::size_t i = 0; i < values.size(); ++i) axis.choices[i].push_back(values[i]);
    }
    add(std::move(axis));
  }

  void read_list(const YamlView& view) {
    SweepAxis axis;
    std::vector<std::string> own;
    for (const auto& item : view.items()) {
      if (!item.expect_map("settings of a point, such as {parallel.tensor: 4, batch.sequences: 64}")) return;
      axis.choices.emplace_back();
      for (const auto& key : item.keys()) {
        if (std::find(own.begin(), own.end(), key) == own.end()) {
          note(key, item[key]);
          own.push_back(key);
        }
        axis.choices.back().push_back({key, in_one_line(item[key]), item[key].where(), ""});
      }
    }
    add(std::move(axis));
  }

  void read_random(const YamlView& view) {
    const std::string expected = "{seed: 1, count: 100, over: {batch.sequences: [64, 128]}}";
    if (!view.expect_map(expected)) return;
    const auto seed = view.require("seed", expected), count = view.require("count", expected),
               over = view.require("over", expected);
    view.refuse_unknown_keys();
    std::mt19937_64 generator(static_cast<std::uint64_t>(seed.exists() ? seed.integer(0) : 0));
    const auto draws = count.exists() ? count.integer(1, most_choices) : 0;
    if (!over.exists()) return;
    const auto keys = keys_of(over);
    std::vector<SweptValues> values;
    for (const auto& key : keys) values.emplace_back(key, over[key], true, problems_);
    if (!problems_.empty()) return;
    SweepAxis axis;
    for (std::int64_t i = 0; i < draws; ++i) {
      axis.choices.emplace_back();
      for (const auto& value : values) axis.choices.back().push_back(value.draw(generator));
    }
    add(std::move(axis));
  }

  void add(SweepAxis axis) {
    if (!axis.choices.empty()) swept_.axes.push_back(std::move(axis));  // else its problem is told
  }

  const Problems& problems_;
  SweptAxes swept_;
};

const SweptSetting* first_setting(const SweptAxes& sweep, const std::string& key) {
  for (const auto& axis : sweep.axes) {
    for (const auto& choice : axis.choices) {
      for (const auto& setting : choice) {
        if (setting.key == key) return &setting;
      }
    }
  }
  return nullptr;
}

void add_once(const Problem& problem, Problems& to) {
  const auto same = [&](const Problem& told) { return told.to_string() == problem.to_string(); };
  if (std::none_of(to.list().begin(), to.list().end(), same)) to.add(problem);
}

/// The loader itself says which keys it does not know, and which have no place: each is tried with its first value.
void check_keys(const Sweep& sweep) {
  Problems wrong;
  for (const auto& key : sweep.keys) {
    const auto* first = first_setting(sweep, key);
    if (first == nullptr) continue;
    try {
      (void)sweep.scenario_with({first});
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) {
        const bool no_place = problem.what.find(" and holds no key `") != std::string::npos ||
                              problem.what == "a key of the path is empty";
        if (no_place || problem.what == "unknown key") add_once(problem, wrong);
      }
    }
  }
  wrong.throw_if_any();
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file)
      : file_(file), problems_(*sweep_.problems), document_(YamlView::from_file(file, problems_)) {
    problems_.throw_if_any();
  }

  Sweep read() {
    const std::string expected =
        "the keys of a scenario, or scenario: FILE, and sweep: {grid: {parallel.tensor: [1, 2, 4]}}";
    if (!document_.expect_map(expected)) problems_.throw_if_any();
    sweep_.name = file_.stem().string();
    const auto sweep = document_.require("sweep", "{grid: {parallel.tensor: [1, 2, 4]}}");
    read_scenario(document_["scenario"]);
    if (sweep.exists() && sweep.expect_map("grid, zip, list or random")) take_axes(sweep);
    problems_.throw_if_any();
    for (auto& axis : sweep_.axes) {
      for (auto& choice : axis.choices) {
        for (auto& setting : choice) setting.digest = digest_of_file(text_in(setting.value), sweep_.folder);
      }
    }
    check_keys(sweep_);
    return std::move(sweep_);
  }

 private:
  /// The file named, or the other keys of this one.
  void read_scenario(const YamlView& named) {
    if (named.exists()) document_.refuse_unknown_keys();
    const auto file = named.exists() ? file_.parent_path() / named.text() : file_;
    if (std::error_code unreadable; named.exists() && !std::filesystem::is_regular_file(file, unreadable)) {
      named.problem("there is no file '" + named.text() + "'", "a scenario file, seen from the sweep file's folder");
      return;
    }
    sweep_.folder = file.parent_path();
    sweep_.scenario = named.exists() ? YamlView::from_file(file, problems_) : document_;
    if (!sweep_.scenario.is_map()) return;
    if (named.exists() && sweep_.scenario["sweep"].exists())
      named.problem("'" + named.text() + "' is a sweep itself", "a scenario file");
    for (const auto& key : sweep_.scenario.keys()) {
      if (!named.exists() && key == "sweep") continue;
      sweep_.scenario_digest.add(key);
      sweep_.scenario_digest.add(in_one_line(sweep_.scenario[key]));
      add_files(sweep_.scenario[key], sweep_.folder, sweep_.scenario_digest);
    }
    add_catalogs(sweep_.scenario_digest);
  }

  void take_axes(const YamlView& sweep) {
    static_cast<SweptAxes&>(sweep_) = lockstep::sweep::read_axes(sweep, problems_);
    if (const auto points = sweep_.points(); points > most_points) {
      sweep.problem("the sweep has " + std::to_string(points) + (points == very_many ? " points or more" : " points"),
                    "at most " + std::to_string(most_points));
    }
    if (sweep_.axes.empty() && problems_.empty())
      sweep.problem("sweeps nothing", "grid, zip, list or random with a key or more");
  }

  std::filesystem::path file_;
  Sweep sweep_;
  Problems& problems_;
  YamlView document_;
};

}  // namespace

SweptAxes read_axes(const YamlView& view, const Problems& problems) { return AxesReader(problems).read(view); }

Sweep sweep_over(const std::filesystem::path& scenario, const std::vector<scenario::KeyOverride>& overrides,
                 SweptAxes axes) {
  Sweep sweep;
  static_cast<SweptAxes&>(sweep) = std::move(axes);
  sweep.name = scenario.string();
  sweep.folder = scenario.parent_path();
  sweep.scenario = YamlView::from_file(scenario, *sweep.problems);
  sweep.problems->throw_if_any();
  for (const auto& key : overrides) sweep.scenario = sweep.scenario.with_override(key.path, key.value);
  check_keys(sweep);
  return sweep;
}

Sweep load_sweep(const std::filesystem::path& file) { return Reader(file).read(); }

}  // namespace lockstep::sweep
