#pragma once
/// A folder of a test's own, gone with the test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep::test {

class ScratchFolder : public testing::Test {
 protected:
  ScratchFolder()
      : folder_(std::filesystem::temp_directory_path() /
                ("lockstep_test_" + std::to_string(::getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ScratchFolder() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path place(const std::string& name) const { return folder_ / name; }
  void make(const std::string& name, const std::string& content) const { std::ofstream(place(name)) << content; }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream stream(place(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// All that lies in the folder, in order.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
      found.push_back(entry.path().lexically_relative(folder_).string());
    std::sort(found.begin(), found.end());
    return found;
  }
  /// The message with which the work is refused; "" if it is not.
  template <class Do>
  [[nodiscard]] static std::string refusal(Do work) {
    try {
      work();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

}  // namespace lockstep::test
