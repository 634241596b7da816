#include "tests/fuzz/readers/target.hpp"

#include <unistd.h>

#include <fstream>

#include "tests/source_dir.hpp"

namespace lockstep::test {

namespace {

/// In memory where there is such a place: a disk takes longer than most readers.
std::filesystem::path scratch() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

}  // namespace

InputFile::InputFile(const std::string& name)
    : file_(scratch() / ("lockstep_fuzz_" + std::to_string(::getpid())) / name) {
  std::filesystem::create_directories(file_.parent_path());
}

InputFile::~InputFile() {
  std::error_code left;
  std::filesystem::remove_all(file_.parent_path(), left);
}

const std::filesystem::path& InputFile::with(std::string_view content) const {
  std::ofstream(file_, std::ios::binary | std::ios::trunc)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return file_;
}

std::filesystem::path source_folder() { return source_dir; }

}  // namespace lockstep::test
