#pragma once
/// What the fuzz targets share. A target takes any bytes as one file and reads it: an answer is a value or a
/// ConfigError with problems; any other exception, a signal or a sanitizer's report is a defect.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/core/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lockstep::test {

/// Thrown where a reader contradicts itself; nothing catches it.
class Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Refusals have something to say, and a place to say it of.
inline void check(const std::vector<Problem>& problems) {
  if (problems.empty()) throw Defect("refused without a problem");
  for (const auto& problem : problems) {
    if (problem.what.empty() || problem.where.file.empty())
      throw Defect("a problem that says nothing: " + problem.to_string());
  }
}

/// Runs `read`, whose refusals are answers; always 0, as libFuzzer wants it.
template <typename Read>
int answered(const Read& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    check(error.problems());
  }
  return 0;
}

/// A file of this process for readers that take nothing else; gone at the end of the program.
class InputFile {
 public:
  explicit InputFile(const std::string& name);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();
  [[nodiscard]] const std::filesystem::path& with(std::string_view content) const;

 private:
  std::filesystem::path file_;
};

/// The folder of this source tree.
[[nodiscard]] std::filesystem::path source_folder();

}  // namespace lockstep::test
