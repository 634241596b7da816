#pragma once
#include <filesystem>

namespace lockstep::sweep {

/// Held by one process at a time and by none that it forks, and gone with it: `FILE.lock`, removed at an orderly end.
/// Not on the database itself, since closing another handle of that file would drop SQLite's own locks.
class FileLock {
 public:
  /// Throws ConfigError, about `file`, if another process has it or the folder cannot be written.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  std::filesystem::path place_;
  int handle_ = -1;
};

}  // namespace lockstep::sweep
