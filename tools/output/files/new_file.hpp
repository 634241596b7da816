#pragma once
/// The one way in which the program writes files: under a temporary name beside the place, and renamed when it is
/// complete. Whatever ends the program before that, an error or a signal, takes the temporary files with it.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::output {

/// One file while it is written. An existing path that is not a regular file, such as /dev/null, is written directly.
class NewFile {
 public:
  /// Throws ConfigError when the place cannot be written, like the other members, or is a file that the program reads,
  /// and OutOfRoom when the disk is full.
  explicit NewFile(const std::filesystem::path& place);
  ~NewFile();  ///< removes the file unless name() was called
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view content);
  /// To be called after the last write. Reports errors that the system finds only when a file is closed.
  void close();
  /// Gives a closed file its name, replacing an older one.
  void name();

  [[nodiscard]] int handle() const { return handle_; }
  [[nodiscard]] const std::filesystem::path& written_at() const { return temporary_; }
  /// Throws the exception for a system error, given its errno.
  [[noreturn]] void fail(int error) const;

 private:
  std::filesystem::path place_, target_, temporary_;
  int handle_ = -1;
  int slot_ = -1;  ///< among the files that a signal removes
  bool as_it_stands_ = false;
};

/// Files that belong together: none gets its name before the content of all is written.
class NewFiles {
 public:
  NewFiles() = default;
  /// In a folder of their own, which is made with its parents, and removed where nothing came of it.
  explicit NewFiles(const std::filesystem::path& folder);
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  NewFile& open(const std::filesystem::path& place);
  void write(const std::filesystem::path& place, std::string_view content);
  void finish();

 private:
  std::vector<std::unique_ptr<NewFile>> files_;
  std::vector<std::filesystem::path> made_folders_;  ///< the innermost first
};

/// Throws what a system's error means for a place that is written: ConfigError, or OutOfRoom where nothing but room is
/// missing.
[[noreturn]] void refuse_to_write(const std::string& place, int error);
/// Writing beyond a limit on file sizes (`ulimit -f`) is an error like a full disk, not the end of the program.
void survive_file_size_limit();

}  // namespace lockstep::output
