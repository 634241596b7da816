#pragma once
/// The lockstep program run as a user runs it, in a scratch folder of the test's own.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::test {

struct ProgramRun {
  int exit_code = 0;
  std::string output;  ///< of stdout
  std::string errors;  ///< of stderr
};

class CommandLine : public testing::Test {
 protected:
  CommandLine();
  ~CommandLine() override;

  /// Any way to end is fine; the working directory is the scratch folder.
  [[nodiscard]] ProgramRun run(const std::vector<std::string>& arguments) const;
  /// What a good run prints; it exits with 0 and says nothing on stderr.
  [[nodiscard]] std::string good(const std::vector<std::string>& arguments) const;
  /// With --json -; without `format` and `lockstep`, which every document has.
  [[nodiscard]] nlohmann::json json(std::vector<std::string> arguments) const;
  [[nodiscard]] nlohmann::json json_file(
      const std::string& file) const;  ///< a document in the scratch folder, likewise
  [[nodiscard]] std::vector<std::string> files_in(const std::string& folder) const;
  /// What --out writes, without report.html where the program was built without Node.js and has no page.
  [[nodiscard]] std::vector<std::string> with_page(std::vector<std::string> files) const;
  [[nodiscard]] bool has_page() const;
  [[nodiscard]] std::string content(const std::string& file) const;
  void write(const std::string& file, const std::string& text) const;

  std::filesystem::path scratch;
  const std::string small = LOCKSTEP_SCENARIOS "/small.yaml";
};

std::vector<std::string> keys_of(const nlohmann::json& object);

}  // namespace lockstep::test
