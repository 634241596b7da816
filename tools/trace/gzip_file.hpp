#pragma once
/// A compressed file, written as a stream under a temporary name: it appears whole or not at all. Equal
/// content gives equal bytes, since the header carries neither a name nor a time.
#include <filesystem>
#include <string_view>

struct gzFile_s;

namespace lockstep {

class GzipFile {
 public:
  /// Throws ConfigError when the place cannot be written, like the other members.
  explicit GzipFile(std::filesystem::path file);
  ~GzipFile();  ///< what was not finished is removed
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void write(std::string_view content);
  /// Closes the file and gives it its name, replacing an older one.
  void finish();

 private:
  [[noreturn]] void fail(const std::string& why) const;

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  gzFile_s* stream_;
};

}  // namespace lockstep
