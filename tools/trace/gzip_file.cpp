#include "tools/trace/gzip_file.hpp"

#include <unistd.h>
#include <zlib.h>

#include <string>
#include <system_error>
#include <utility>

#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

constexpr unsigned buffer_size = 1u << 18;
constexpr const char* mode = "wb3";  // of traces as fast as level 1, and smaller; higher levels cost time

}  // namespace

GzipFile::GzipFile(std::filesystem::path file) : file_(std::move(file)), temporary_(file_) {
  temporary_ += ".tmp" + std::to_string(::getpid());
  stream_ = ::gzopen(temporary_.c_str(), mode);
  if (stream_ == nullptr) fail("");
  ::gzbuffer(stream_, buffer_size);
}

GzipFile::~GzipFile() {
  if (stream_ == nullptr) return;
  ::gzclose(stream_);
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void GzipFile::write(std::string_view content) {
  if (!content.empty() && ::gzwrite(stream_, content.data(), static_cast<unsigned>(content.size())) == 0) fail("");
}

void GzipFile::finish() {
  const int closed = ::gzclose(std::exchange(stream_, nullptr));
  std::error_code error;
  if (closed == Z_OK) std::filesystem::rename(temporary_, file_, error);
  if (closed == Z_OK && !error) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
  fail(error ? ": " + error.message() : "");
}

void GzipFile::fail(const std::string& why) const {
  throw ConfigError(
      {{{file_.string(), 0, 0}, "", "cannot be written" + why, "a file in a folder that exists and has room"}});
}

}  // namespace lockstep
