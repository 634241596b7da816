#include <cmath>
#include <cstdio>
#include <memory>

#include "sim/core/quantity_text.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/plan_arguments_private.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/exit_code.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/studies/plan_report.hpp"
#include "tools/report/plan_report.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::commands {

std::optional<topologies::ClusterSpec> with_chips(topologies::ClusterSpec spec, std::int64_t chips) {
  if (spec.halls > 1) return std::nullopt;
  if (const auto* node = spec.node()) {
    if (chips % node->chips != 0) return std::nullopt;
    spec.units = static_cast<int>(chips / node->chips);
    return why_not_a_cluster(spec).empty() ? std::optional(spec) : std::nullopt;
  }
  auto& torus = std::get<topologies::TorusSpec>(spec.unit);
  std::optional<std::vector<int>> most_cubic;
  const auto axes = torus.shape.size();
  const auto fill = [&](const auto& self, std::vector<int> shape, std::int64_t left) -> void {
    if (shape.size() + 1 == axes) {
      shape.push_back(static_cast<int>(left));
      auto tried = torus;
      tried.shape = shape;
      if (!shape.empty() && std::is_sorted(shape.begin(), shape.end()) && why_not_a_slice(tried).empty() &&
          (!most_cubic || shape.back() < most_cubic->back()))
        most_cubic = shape;
      return;
    }
    for (std::int64_t side = 1; side <= left; ++side) {
      if (left % side == 0 && (side % 4 == 0 || side < 4))
        self(
            self,
            [&] {
              auto longer = shape;
              longer.push_back(static_cast<int>(side));
              return longer;
            }(),
            left / side);
    }
  };
  if (chips % spec.units != 0) return std::nullopt;
  fill(fill, {}, chips / spec.units);
  if (!most_cubic) return std::nullopt;
  torus.shape = *most_cubic;
  return spec;
}

Training training_of(const PlanArguments& arguments, const scenario::Scenario& scenario, std::int64_t chips,
                     double step_s) {
  const double days = arguments.tokens /
                      static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length) * step_s / 86400;
  return {days, days * 24 * static_cast<double>(chips) * arguments.price};
}

namespace {

struct Range {
  std::int64_t least = 0, most = 0;
};

Range range_of(const std::string& text) {
  Range range;
  char rest = 0;
  long long least = 0, most = 0;
  if (std::sscanf(text.c_str(), "%lld..%lld%c", &least, &most, &rest) != 2 || least < 1 || most < least ||
      most > 1'000'000) {
    refuse("--chips", "'" + text + "' is not a range", "two numbers such as 64..1024");
  }
  range.least = least;
  range.most = most;
  return range;
}

/// The rows of one number of chips after another.
class ChipsStudy {
 public:
  ChipsStudy(const PlanArguments& arguments, const scenario::Scenario& scenario, spdlog::logger& log)
      : arguments_(arguments), scenario_(scenario), log_(log), options_(options_of(arguments)) {
    options_.top = 1;
  }

  [[nodiscard]] const report::ChipsRow& add(const topologies::ClusterSpec& cluster) {
    auto& row = rows_.emplace_back();
    auto scaled = scenario_;
    scaled.cluster = cluster;
    row.chips = scaled.chips();
    try {
      search(row, planning::PlanSpace(scaled));
    } catch (const ConfigError& error) {
      row.plan = error.problems().front().what;
    }
    if (!row.figures) json_.add_none(row.chips, row.plan);
    return row;
  }
  [[nodiscard]] bool is_interrupted() const { return options_.interrupted(); }
  void finish() const {
    if (options_.progress) options_.progress("done", 1);
  }

  [[nodiscard]] const std::vector<report::ChipsRow>& rows() const { return rows_; }
  [[nodiscard]] std::string json() const { return json_.to_string(); }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> header{"chips", "step time", "MFU", "memory", "plan"};
    if (arguments_.tokens > 0) header.insert(header.begin() + 2, "days");
    if (arguments_.price > 0) header.insert(header.begin() + 3, "cost");
    output::Table table(header);
    table.align_left(header.size() - 1);
    for (const auto& row : rows_) {
      std::vector<std::string> cells{output::with_separators(static_cast<double>(row.chips))};
      if (row.figures) {
        cells.push_back(format(Seconds(row.figures->step_s)));
        if (arguments_.tokens > 0) cells.push_back(output::fixed(row.days, 1));
        if (arguments_.price > 0) cells.push_back(output::with_separators(row.cost));
        cells.push_back(output::percent(row.figures->mfu));
        cells.push_back(output::peak_text(Bytes(row.figures->peak_bytes), row.memory));
      }
      cells.resize(header.size() - 1);
      cells.push_back(row.plan + (row.gap > 0 ? "; gap " + output::percent(row.gap) : ""));
      table.add(std::move(cells));
    }
    return table.to_string();
  }

 private:
  void search(report::ChipsRow& row, const planning::PlanSpace& space) {
    const auto result = search_plans(space, options_, log_);
    if (result.best.empty()) {
      row.plan = result.stopped ? "no plan found before the search was stopped" : "no plan keeps within the memory";
      return;
    }
    const auto& best = result.best.front();
    const auto training = training_of(arguments_, scenario_, row.chips, best.figures.step_s);
    row.figures = best.figures;
    row.memory = output::program_memory(space);
    row.gap = result.gap();
    row.days = training.days;
    row.cost = training.cost;
    row.plan = output::plan_name(space, best.choice);
    row.placement = output::placement_name(space, best.choice);
    json_.add(space, result, training.days, training.cost);
  }

  const PlanArguments& arguments_;
  const scenario::Scenario& scenario_;
  spdlog::logger& log_;
  planning::SearchOptions options_;
  std::vector<report::ChipsRow> rows_;
  output::PlanRows json_;
};

}  // namespace

void plan_for_chips(const PlanArguments& arguments, const scenario::Scenario& scenario, spdlog::logger& log) {
  const bool deadline = arguments.days > 0;
  const auto range = arguments.chips.empty() ? Range{8, 1'000'000} : range_of(arguments.chips);
  ChipsStudy study(arguments, scenario, log);
  std::string met;
  for (std::int64_t chips = range.least; chips <= range.most && met.empty() && !study.is_interrupted(); chips *= 2) {
    const auto cluster = with_chips(scenario.cluster, chips);
    if (!cluster) continue;
    const auto& row = study.add(*cluster);
    if (deadline && row.figures && row.days <= arguments.days)
      met = output::with_separators(static_cast<double>(chips)) + " chips are the fewest, doubling from " +
            std::to_string(range.least) + ", that finish in " + output::fixed(arguments.days, 1) + " days";
  }
  study.finish();
  if (deadline && met.empty())
    met = "no number of chips in the range finishes in " + output::fixed(arguments.days, 1) + " days";
  output::Answer answer;
  answer.write(arguments.json, study.json());
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "plan.json", study.json());
    left_out = report::write_report(files, arguments.out, report::chips_report(scenario, study.rows(), met));
    answer.finish(files, arguments.out);
  }
  if (arguments.json == "-") {
    output::print(study.json());
  } else {
    answer.print(study.text() + (met.empty() ? "" : "\n" + met + "\n") + left_out);
  }
  const auto& rows = study.rows();
  if (std::none_of(rows.begin(), rows.end(), [](const auto& row) { return row.figures.has_value(); }))
    throw output::AnsweredNo();
}

}  // namespace lockstep::commands
