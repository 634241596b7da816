// fuzz_scenarios PROGRAM SOURCE_ROOT SCRATCH SEED COUNT: breaks scenarios at random, runs `lockstep check` on them,
// and `lockstep run` on what that accepts. Exit codes 0 and 2 are answers; anything else, or a check without an
// answer in time, is a defect, and its file is kept.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/mutator.hpp"

namespace {

constexpr rlim_t most_seconds = 60;  // check simulates up to 2e6 operations, also under sanitizers

/// The exit code, or the negative number of the signal that ended the program.
int ends_with(const std::string& program, const char* command, const std::string& file, const std::string& errors) {
  std::fflush(stdout);  // else the child prints it again
  const auto child = ::fork();
  if (child == 0) {
    const rlimit seconds = {most_seconds, most_seconds + 1};
    ::setrlimit(RLIMIT_CPU, &seconds);
    if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen(errors.c_str(), "w", stderr) == nullptr)
      ::_exit(99);
    ::execl(program.c_str(), program.c_str(), command, file.c_str(), static_cast<char*>(nullptr));
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool said_nothing(const std::string& errors) { return std::filesystem::file_size(errors) == 0; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 64;
  const std::filesystem::path root = argv[2];
  const std::filesystem::path scratch = argv[3];
  const auto seed = std::stoull(argv[4]);
  const int count = std::stoi(argv[5]);
  const auto file = (scratch / ("fuzzed" + std::string(argv[4]) + ".yaml")).string();
  const auto errors = file + ".stderr";
  lockstep::test::Mutator mutator(seed,
                                  lockstep::test::read_seeds({root / "scenarios", root / "tests/data/scenarios"}));
  int defects = 0;
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    std::ofstream(file, std::ios::binary) << mutator.next();
    int code = ends_with(argv[1], "check", file, errors);
    if (code == 0) {
      ++accepted;
      code = ends_with(argv[1], "run", file, errors);
      if (code == -SIGXCPU || code == -SIGKILL) code = 0;  // a large simulation may take its time
    }
    if (code == 0 || ((code == 2 || code == 71) && !said_nothing(errors))) continue;  // 71: too large for this machine
    ++defects;
    const auto kept = scratch / ("defect" + std::string(argv[4]) + "_" + std::to_string(i) + ".yaml");
    std::filesystem::copy_file(file, kept, std::filesystem::copy_options::overwrite_existing);
    std::printf("%s: exit code %d\n", kept.c_str(), code);
  }
  std::printf("%d scenarios: %d accepted, %d refused, %d defects\n", count, accepted, count - accepted - defects,
              defects);
  return defects == 0 && accepted > 0 && accepted < count ? 0 : 1;
}
