#pragma once
/// A compressed file, written as a stream. Equal content gives equal bytes, since the header carries neither a name nor
/// a time.
#include <string_view>

#include "tools/output/files/new_file.hpp"

struct gzFile_s;

namespace lockstep::trace {

class GzipFile {
 public:
  /// Throws as `file` does, like the other members.
  explicit GzipFile(output::NewFile& file);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void write(std::string_view content);
  /// All content is written; the file's own end is another's.
  void finish();

 private:
  [[noreturn]] void fail() const;

  output::NewFile& file_;
  gzFile_s* stream_;
};

}  // namespace lockstep::trace
