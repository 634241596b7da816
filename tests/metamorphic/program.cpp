// The commands of the program agree with each other and with the library.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/studies/planning/plan_space.hpp"
#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {
namespace {

using Json = nlohmann::json;

/// What a command that must succeed prints; a violation where it does not.
struct Answer {
  std::string output;
  std::optional<Verdict> defect;
};

Answer ask(Subject& subject, std::vector<std::string> arguments, const std::string& text) {
  arguments.insert(arguments.begin(), subject.program);
  const auto ended = run_program(arguments, subject.folder);
  if (ended.code == 0) return {ended.output, std::nullopt};
  return {"", violated("lockstep " + arguments[1] + " ends with " + std::to_string(ended.code) + ": " + ended.errors,
                       text)};
}

std::filesystem::path written(Subject& subject, const std::string& name, const std::string& text) {
  write_text(subject.folder / name, text);
  return subject.folder / name;
}

/// What the library makes of the subject on the engine that a command takes unless it is told another.
double step_on(Subject& subject, engine::EngineKind engine) {
  const auto other = simulated(subject, subject.draft, {}, true, engine);
  if (!other.figures) throw std::logic_error("refused on another engine");
  return other.figures->step_s;
}

Verdict same(double expected, double found, const std::string& command, const std::string& text) {
  if (expected == found) return holds();
  char why[160];
  std::snprintf(why, sizeof why, "%.17g s, and %.17g s by lockstep %s", expected, found, command.c_str());
  return violated(why, text, found / expected - 1);
}

constexpr double printed_digits = 0.006;  // three of them

/// "...; memory peak 1.61 GB of 80 GB, fits".
double printed_peak(const std::string& text) {
  const std::string before = "memory peak ";
  const auto at = text.find(before) + before.size();
  std::size_t end = 0;
  const double number = std::stod(text.substr(at), &end);
  switch (text[at + end + 1]) {
    case 'k': return number * 1e3;
    case 'M': return number * 1e6;
    case 'G': return number * 1e9;
    case 'T': return number * 1e12;
    default: return number;
  }
}

/// What `check` accepts, `run` simulates, and both name the same memory.
Verdict check_and_run(Subject& subject) {
  const auto text = subject.draft.text();
  const auto file = written(subject, "checked.yaml", text);
  const auto checked = ask(subject, {"check", file}, text);
  if (checked.defect) return *checked.defect;
  const auto run = ask(subject, {"run", file, "--json", "-"}, text);
  if (run.defect) return *run.defect;
  const auto result = Json::parse(run.output);
  if (const auto verdict = same(step_on(subject, engine::EngineKind::automatic), result["step_time_s"], "run", text);
      verdict.kind != Verdict::Kind::holds)
    return verdict;
  if (checked.output.find("memory not known, since replayed") != std::string::npos && result["params"].is_null())
    return holds();
  const double peak = result["memory"]["peak_bytes"], of_check = printed_peak(checked.output);
  if (std::abs(of_check - peak) > printed_digits * peak)
    return violated("check: " + checked.output + "run: peak " + std::to_string(peak) + " B", text,
                    of_check / std::max(peak, 1.0) - 1);
  const bool refused = checked.output.find("does NOT fit") != std::string::npos;
  const auto word = refused                                                   ? "does not fit"
                    : checked.output.find("MAY not fit") != std::string::npos ? "may not fit"
                                                                              : "fits";
  if (word != result["memory"]["verdict"].get<std::string>())
    return violated("check: " + checked.output + "run: peak " + std::to_string(peak) + " B", text);
  return holds();
}

Verdict compare(Subject& subject) {
  const auto text = subject.draft.text();
  const auto first = written(subject, "one.yaml", text), second = written(subject, "other.yaml", text);
  const auto answer = ask(subject, {"compare", first, second, "--json", "-"}, text);
  if (answer.defect) return *answer.defect;
  const auto compared = Json::parse(answer.output);
  const double expected = step_on(subject, engine::EngineKind::automatic);
  for (const auto& one : compared["scenarios"]) {
    if (const auto verdict = same(expected, one["result"]["step_time_s"], "compare", text);
        verdict.kind != Verdict::Kind::holds)
      return verdict;
  }
  return holds();
}

Verdict sweep(Subject& subject) {
  const auto text = subject.draft.text();
  (void)written(subject, "swept.yaml", text);
  const auto file = written(subject, "sweep.yaml",
                            "scenario: swept.yaml\nsweep: {grid: {batch.microbatches: [" +
                                subject.draft.value("batch.microbatches") + "]}}\n");
  std::filesystem::remove(subject.folder / "sweep.db");
  const auto answer = ask(subject, {"sweep", file, "--db", "sweep.db", "--jobs", "1", "--export", "sweep.csv"}, text);
  if (answer.defect) return *answer.defect;
  std::istringstream table(read_text(subject.folder / "sweep.csv"));
  std::string header, row;
  std::getline(table, header);
  std::getline(table, row);
  const auto before = header.substr(0, header.find("step_time_s"));
  std::size_t at = 0;
  for (auto commas = std::count(before.begin(), before.end(), ','); commas > 0; --commas) at = row.find(',', at) + 1;
  // A sweep runs many points in a process, which SimGrid cannot.
  return same(step_on(subject, engine::EngineKind::max_min), std::strtod(row.c_str() + at, nullptr), "sweep", text);
}

/// The subject as something to plan, in a space that is searched in a moment.
std::optional<Draft> searched(const Draft& draft) {
  if (draft.has("model.replay") || draft.has("plan") || draft.has("cluster.pods")) return std::nullopt;
  auto search = unperturbed(draft);
  for (const auto* key :
       {"mesh", "pipeline", "parallel.tensor", "parallel.context", "parallel.expert", "parallel.data", "parallel.fsdp",
        "parallel.pipeline", "parallel.zero", "batch.microbatches", "training.recompute", "parallel.context_attention",
        "parallel.context_order", "parallel.experts_over", "parallel.expert_tensor"}) {
    search.remove(key);
  }
  search.set("search.microbatches", "[1, 2, 4]");
  search.set("search.tensor", "[1, 2, 4]");
  search.set("search.pipeline", "[1, 2]");
  search.set("search.schedules", "[1f1b, gpipe, zb-h1]");
  search.set("search.recompute", "[none, full]");
  return search;
}

constexpr double most_planned = 2e4;  // operations of the subject over all ranks: a space is some hundred such steps
constexpr int plans_tried = 3;
constexpr double of_two_that_start_together = 2e-4;  // docs/howto/plan_capacity.md

/// `plan --write` and `run` agree, and no plan of the space that fits is faster than the best.
Verdict plan(Subject& subject) {
  const auto draft = searched(subject.draft);
  if (!draft || subject.figures.operations > most_planned || !subject.random.percent(40)) return does_not_apply();
  const auto text = draft->text();
  const auto file = written(subject, "search.yaml", text);
  const auto ended = run_program(
      {subject.program, "plan", file, "--top", "1", "--jobs", "1", "--json", "plan.json", "--write", "best.yaml"},
      subject.folder);
  if (ended.code == 2) return does_not_apply();  // nothing to choose from, or nothing fits
  if (ended.code != 0)
    return violated("lockstep plan ends with " + std::to_string(ended.code) + ": " + ended.errors, text);
  const auto found = Json::parse(read_text(subject.folder / "plan.json"));
  if (found["best"].empty()) return does_not_apply();
  const double best = found["best"][0]["step_time_s"];
  const auto run = ask(subject, {"run", "best.yaml", "--json", "-"}, text);
  if (run.defect) return *run.defect;
  if (const auto verdict = same(best, Json::parse(run.output)["step_time_s"], "run of the best plan", text);
      verdict.kind != Verdict::Kind::holds)
    return verdict;

  const planning::PlanSpace space(scenario::load_scenario(file));
  for (int i = 0; i < plans_tried; ++i) {
    const auto& node = space.nodes()[static_cast<std::size_t>(subject.random.below(std::ssize(space.nodes())))];
    const auto plans = space.plans_of(node);
    const auto& choice = plans[static_cast<std::size_t>(subject.random.below(std::ssize(plans)))];
    std::vector<std::string> command{"run", file, "--json", "-"};
    for (const auto& [key, value] : space.keys(node, choice))
      command.insert(command.end(), {"--set", key + "=" + value});
    const auto tried = ask(subject, command, text);
    if (tried.defect) return *tried.defect;
    const auto result = Json::parse(tried.output);
    const double time = result["step_time_s"];
    if (result["memory"]["peak_bytes"] > result["memory"]["capacity_bytes"] ||
        time >= best * (1 - of_two_that_start_together))
      continue;
    std::string keys;
    for (std::size_t k = 4; k < command.size(); ++k) keys += " " + command[k];
    return violated(
        "the best plan takes " + std::to_string(best) + " s, another " + std::to_string(time) + " s:" + keys, text,
        best / time - 1);
  }
  return holds();
}

}  // namespace

const std::vector<Relation>& relations_of_program() {
  static const std::vector<Relation> list{
      {"check and run", check_and_run}, {"compare", compare}, {"sweep", sweep}, {"plan", plan}};
  return list;
}

}  // namespace lockstep::test
