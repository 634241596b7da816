#include "tests/metamorphic/figures.hpp"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "sim/studies/isolated.hpp"

namespace lockstep::test {

namespace {

std::string mesh_of(const preparation::PreparedStep& preparation) {
  std::string text;
  for (const auto& axis : preparation.machine.mesh->axes()) {
    std::string parts;
    for (const auto& part : place_text(*preparation.machine.cluster, axis)) parts += (parts.empty() ? "" : ", ") + part;
    text += (text.empty() ? "" : ", ") + axis.name + ": [" + parts + "]";
  }
  return "{" + text + "}";
}

}  // namespace

std::string to_string(const Figures& figures) {
  char text[200];
  std::snprintf(text, sizeof text, "step %.17g s, compute %.17g s, exposed %.17g s, bubble %.17g s, peak %.0f B",
                figures.step_s, figures.compute_s, figures.exposed_s, figures.bubble_s, figures.peak_bytes);
  return text;
}

std::optional<Figures> simulated(const std::string& text, const std::filesystem::path& folder, bool fold,
                                 engine::EngineKind engine) {
  spdlog::logger silent("test");
  try {
    const auto answer = studies::in_child([&] {
      const auto scenario = scenario::scenario_of_text(text, "random.yaml", folder);
      const auto simulation = simulate(scenario, {engine, fold, {}}, silent);
      const auto& metrics = simulation.metrics;
      const std::array made{metrics.step_time.value(),
                            metrics.breakdown.compute.value(),
                            metrics.breakdown.exposed_comm.value(),
                            metrics.breakdown.bubble.value(),
                            static_cast<double>(metrics.memory.peak.value()),
                            static_cast<double>(simulation.program.ops.size()) * static_cast<double>(metrics.chips)};
      return std::string(reinterpret_cast<const char*>(made.data()), sizeof made) + mesh_of(simulation.preparation);
    });
    std::array<double, 6> numbers{};
    std::memcpy(numbers.data(), answer.data(), sizeof numbers);
    return Figures{
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], answer.substr(sizeof numbers)};
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

Ended run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
  std::vector<char*> words;
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  std::fflush(stdout);  // else the child prints it again
  const auto child = ::fork();
  if (child == 0) {
    if (::chdir(folder.c_str()) != 0 || std::freopen("stdout", "w", stdout) == nullptr ||
        std::freopen("stderr", "w", stderr) == nullptr)
      ::_exit(99);
    ::execv(words.front(), words.data());
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_text(folder / "stdout"),
          read_text(folder / "stderr")};
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace lockstep::test
