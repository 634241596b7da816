#include "tests/cli/program_run.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace lockstep::test {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// A document without the keys that all of them have, which it must have.
nlohmann::json without_format(const std::string& text) {
  auto document = nlohmann::json::parse(text);
  EXPECT_EQ(document.value("format", 0), 1) << text.substr(0, 200);
  EXPECT_NE(document.value("lockstep", ""), "") << text.substr(0, 200);
  document.erase("format");
  document.erase("lockstep");
  return document;
}

}  // namespace

CommandLine::CommandLine() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  scratch =
      std::filesystem::temp_directory_path() / ("lockstep-cli-" + std::to_string(::getpid()) + "-" + test->name());
  std::filesystem::create_directories(scratch / "work");
}

CommandLine::~CommandLine() {
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
}

ProgramRun CommandLine::run(const std::vector<std::string>& arguments) const {
  std::string command = "cd " + quoted((scratch / "work").string()) + " && " + quoted(LOCKSTEP_PROGRAM);
  for (const auto& argument : arguments) command += " " + quoted(argument);
  command += " >../stdout 2>../stderr";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(scratch / "stdout"), read(scratch / "stderr")};
}

std::string CommandLine::good(const std::vector<std::string>& arguments) const {
  const auto done = run(arguments);
  EXPECT_EQ(done.exit_code, 0) << arguments.front();
  EXPECT_EQ(done.errors, "");
  return done.output;
}

nlohmann::json CommandLine::json(std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--json", "-"});
  return without_format(good(arguments));
}

nlohmann::json CommandLine::json_file(const std::string& file) const { return without_format(content(file)); }

std::vector<std::string> CommandLine::files_in(const std::string& folder) const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "work" / folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string CommandLine::content(const std::string& file) const { return read(scratch / "work" / file); }

void CommandLine::write(const std::string& file, const std::string& text) const {
  std::ofstream(scratch / "work" / file) << text;
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

bool CommandLine::has_page() const {
  static const bool has = [this] {
    const auto folder = (scratch / "page").string();
    (void)run({"schedule", "1f1b", "--stages", "2", "--microbatches", "2", "--out", folder});
    return std::filesystem::exists(scratch / "page/report.html");
  }();
  return has;
}

std::vector<std::string> CommandLine::with_page(std::vector<std::string> files) const {
  if (!has_page()) std::erase(files, "report.html");
  return files;
}

}  // namespace lockstep::test
