#include "tools/trace/gzip_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <utility>

namespace lockstep::trace {
namespace {

constexpr unsigned buffer_size = 1u << 18;
constexpr const char* mode = "wb3";  // of traces as fast as level 1, and smaller; higher levels cost time

}  // namespace

GzipFile::GzipFile(output::NewFile& file) : file_(file), stream_(nullptr) {
  const int copy = ::fcntl(file.handle(), F_DUPFD_CLOEXEC, 0);  // gzclose closes its own
  if (copy >= 0) stream_ = ::gzdopen(copy, mode);
  if (stream_ == nullptr) {
    const int error = errno;
    if (copy >= 0) ::close(copy);
    file_.fail(error);
  }
  ::gzbuffer(stream_, buffer_size);
}

GzipFile::~GzipFile() {
  if (stream_ != nullptr) ::gzclose(stream_);
}

void GzipFile::write(std::string_view content) {
  if (!content.empty() && ::gzwrite(stream_, content.data(), static_cast<unsigned>(content.size())) == 0) fail();
}

void GzipFile::finish() {
  errno = 0;
  if (::gzclose(std::exchange(stream_, nullptr)) != Z_OK) fail();
}

/// zlib leaves the number of the system's error where the system left it.
void GzipFile::fail() const { file_.fail(errno); }

}  // namespace lockstep::trace
