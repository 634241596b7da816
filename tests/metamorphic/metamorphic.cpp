// metamorphic PROGRAM SCRATCH SEED FIRST COUNT [RELATION]: draws COUNT scenarios, of which FIRST says where the
// sequence of the seed begins, and holds each to every relation (or to the one named). Violations are written into
// SCRATCH, with the scenario that does not go with another. The README says what each relation is.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <thread>

#include "sim/studies/isolated.hpp"
#include "tests/metamorphic/random_scenario.hpp"
#include "tests/metamorphic/relations.hpp"

namespace lockstep::test {
namespace {

constexpr rlim_t most_seconds = 120;     // of processor time, for one process of a scenario
constexpr int most_draws = 200;          // until a combination is possible
constexpr double most_operations = 2e6;  // over all ranks, had nothing been folded: as many as `check` simulates

struct Arguments {
  std::string program;
  std::filesystem::path scratch;
  std::uint64_t seed = 1;
  std::uint64_t first = 0, count = 1;
  std::string only;
};

std::string comment(const std::string& text) {
  std::string lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines += "# " + line + "\n";
  return lines;
}

/// The first possible scenario of a sequence; how many were refused before.
struct Drawn {
  Draft draft;
  Figures figures;
  int refused = 0;
};

Drawn draw(Random& random, const std::filesystem::path& folder) {
  for (int i = 0; i < most_draws; ++i) {
    auto draft = random_draft(random);
    const auto figures = simulated(draft.text(), folder);
    if (figures && figures->operations <= most_operations) return {std::move(draft), *figures, i};
  }
  throw std::logic_error("no scenario in " + std::to_string(most_draws) + " draws was possible");
}

/// A line for each relation: name, kind of the verdict, excess; tabs between them.
std::string verdicts(const Arguments& arguments, std::uint64_t index) {
  const rlimit seconds = {most_seconds, most_seconds + 5};
  ::setrlimit(RLIMIT_CPU, &seconds);
  const auto name = std::to_string(arguments.seed) + "_" + std::to_string(index);
  const auto folder = arguments.scratch / name;
  std::filesystem::create_directories(folder);
  Random random(arguments.seed * 1'000'003 + index);
  auto drawn = draw(random, folder);
  Subject subject{std::move(drawn.draft), drawn.figures, Random(random), arguments.program, folder};
  std::string lines = "draws\t" + std::to_string(drawn.refused + 1) + "\t0\n";
  for (const auto& relation : relations()) {
    if (!arguments.only.empty() && relation.name != arguments.only) continue;
    Verdict verdict;
    try {
      verdict = relation.check(subject);
    } catch (const std::exception& error) {
      verdict = violated(error.what(), subject.draft.text());
    }
    char excess[40];
    std::snprintf(excess, sizeof excess, "%.3g", verdict.excess);
    lines += std::string(relation.name) + "\t" + std::to_string(static_cast<int>(verdict.kind)) + "\t" + excess + "\n";
    if (verdict.kind != Verdict::Kind::violated) continue;
    std::string file(relation.name);
    std::replace_if(
        file.begin(), file.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    write_text(arguments.scratch / (name + "_" + file + ".yaml"),
               comment("violates '" + std::string(relation.name) + "' by " + excess + "\n" + verdict.why) +
                   subject.draft.text() + "---\n" + verdict.other);
  }
  std::filesystem::remove_all(folder);
  return lines;
}

/// What became of a relation over all scenarios.
struct Tally {
  std::uint64_t held = 0, violated = 0;
  std::vector<double> excesses;  ///< of those that held within a bound
};

/// "3 of 60 by up to 4.1 %".
std::string bounded(const Tally& tally) {
  if (tally.excesses.empty()) return "";
  char text[80];
  std::snprintf(text, sizeof text, "; %zu only within a bound, by up to %.3g", tally.excesses.size(),
                *std::max_element(tally.excesses.begin(), tally.excesses.end()));
  return text;
}

int run(const Arguments& arguments) {
  std::filesystem::create_directories(arguments.scratch);
  std::map<std::string, Tally, std::less<>> tallies;
  std::uint64_t draws = 0;
  int died = 0;
  const auto jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  engine::load(engine::EngineKind::simgrid);
  studies::in_children(
      arguments.count, jobs, [&](std::size_t index) { return verdicts(arguments, arguments.first + index); },
      [&](std::size_t index, const studies::Answer& answer) {
        const auto number = arguments.first + index;
        try {
          std::istringstream lines(answer.text());
          for (std::string line; std::getline(lines, line);) {
            const auto tab = line.find('\t'), next = line.find('\t', tab + 1);
            const auto name = line.substr(0, tab);
            const auto kind = std::stoi(line.substr(tab + 1));
            if (name == "draws") {
              draws += static_cast<std::uint64_t>(kind);
              continue;
            }
            auto& tally = tallies[name];
            const double excess = std::stod(line.substr(next + 1));
            if (kind == static_cast<int>(Verdict::Kind::holds)) ++tally.held;
            if (kind == static_cast<int>(Verdict::Kind::holds) && excess > 0) tally.excesses.push_back(excess);
            if (kind != static_cast<int>(Verdict::Kind::violated)) continue;
            ++tally.violated;
            std::printf("scenario %llu violates '%s' by %g\n", static_cast<unsigned long long>(number), name.c_str(),
                        excess);
          }
        } catch (const std::exception& error) {
          ++died;
          std::printf("scenario %llu: %s\n", static_cast<unsigned long long>(number), error.what());
        }
        std::fflush(stdout);
      });
  std::uint64_t violations = 0;
  for (const auto& relation : relations()) {
    const auto& tally = tallies[std::string(relation.name)];
    violations += tally.violated;
    std::printf("%-22s held %llu times, violated %llu%s\n", std::string(relation.name).c_str(),
                static_cast<unsigned long long>(tally.held), static_cast<unsigned long long>(tally.violated),
                bounded(tally).c_str());
  }
  std::printf("%llu scenarios of %llu draws, %llu violations, %d without an answer\n",
              static_cast<unsigned long long>(arguments.count), static_cast<unsigned long long>(draws),
              static_cast<unsigned long long>(violations), died);
  return violations == 0 && died == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 64;
  return lockstep::test::run({std::filesystem::absolute(argv[1]), std::filesystem::absolute(argv[2]),
                              std::stoull(argv[3]), std::stoull(argv[4]), std::stoull(argv[5]),
                              argc == 7 ? argv[6] : ""});
}
