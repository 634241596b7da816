#include "tools/sweep/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "sim/core/errors.hpp"

namespace lockstep::sweep {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what, const std::string& expected) {
  throw ConfigError({{{file.string(), 0, 0}, "", what, expected}});
}

bool same_file(int handle, const std::filesystem::path& place) {
  struct ::stat held {
  }, there{};
  return ::fstat(handle, &held) == 0 && ::stat(place.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

struct ::flock whole_file() {
  struct ::flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file) : place_(file.string() + ".lock") {
  while (true) {
    handle_ = ::open(place_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (handle_ < 0)
      refuse(file, "cannot be written: " + std::generic_category().message(errno),
             "a file in a folder that exists and may be written");
    auto lock = whole_file();
    if (::fcntl(handle_, F_SETLK, &lock) != 0) {
      const bool owned = ::fcntl(handle_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
      ::close(handle_);
      refuse(file, "is in use by another sweep" + (owned ? ", process " + std::to_string(lock.l_pid) : std::string()),
             "its end, or another --db");
    }
    if (same_file(handle_, place_)) break;  // else its last owner removed it meanwhile
    ::close(handle_);
  }
}

FileLock::~FileLock() {
  ::unlink(place_.c_str());
  ::close(handle_);
}

}  // namespace lockstep::sweep
