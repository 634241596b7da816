#include "tests/unit/engine/child_run.hpp"

#include <spdlog/logger.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lockstep::test {

namespace {

void write_all(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, data, size);
    if (written <= 0) _exit(2);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (ssize_t count = 0; (count = read(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

engine::EngineResult run_here(const program::Program& program, engine::EngineKind kind) {
  spdlog::logger silent("test");
  engine::EngineOptions options;
  options.kind = kind;
  return run(program, options, silent);
}

}  // namespace

std::vector<double> in_child(const std::function<std::vector<double>()>& body) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    try {
      const std::vector<double> values = body();
      write_all(ends[1], "v", 1);
      std::string bytes(values.size() * sizeof(double), '\0');
      if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
      write_all(ends[1], bytes.data(), bytes.size());
    } catch (const std::exception& error) {
      const std::string message = std::string("e") + error.what();
      write_all(ends[1], message.data(), message.size());
    }
    _exit(0);
  }
  close(ends[1]);
  const std::string answer = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (answer.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("the child died");
  if (answer.front() == 'e') throw std::runtime_error(answer.substr(1));
  std::vector<double> values((answer.size() - 1) / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), answer.data() + 1, values.size() * sizeof(double));
  return values;
}

Spans run_in_child(const program::Program& program, engine::EngineKind kind) {
  engine::load(kind);
  return {program.ranks(), in_child([&] {
            const timeline::Timeline timeline = run_here(program, kind).timeline;
            std::vector<double> values;
            for (std::int32_t op = 0; op < timeline.ops(); ++op) {
              for (std::int32_t rank = 0; rank < timeline.ranks(); ++rank) {
                const bool took_part = timeline.took_part(op, rank);
                values.push_back(took_part ? timeline.span(op, rank).start.value() : -1);
                values.push_back(took_part ? timeline.span(op, rank).end.value() : -1);
              }
            }
            return values;
          })};
}

engine::EngineResult run_reference(const program::Program& program) {
  return run_here(program, engine::EngineKind::reference);
}

}  // namespace lockstep::test
