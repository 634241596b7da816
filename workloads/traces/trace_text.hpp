#pragma once
/// The bytes of a trace, plain or compressed by gzip, read as a stream of bounded memory that knows its place.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep::workloads {

class TraceText : public std::streambuf {
 public:
  /// Puts up to `room` bytes where it is told, and says how many; 0 at the end.
  using Source = std::function<std::size_t(char* to, std::size_t room)>;

  /// `name` stands in problems.
  TraceText(Source source, std::string name);
  ~TraceText() override;
  TraceText(const TraceText&) = delete;
  TraceText& operator=(const TraceText&) = delete;

  /// A file that is there, is a file and is not empty; otherwise ConfigError. `progress` is called now and then with
  /// the share of its bytes that was taken; may be empty.
  [[nodiscard]] static std::unique_ptr<TraceText> of_file(const std::filesystem::path& file,
                                                          const std::function<void(double)>& progress = {});
  /// Bytes in memory that outlive it.
  [[nodiscard]] static std::unique_ptr<TraceText> of_bytes(std::string_view bytes, const std::string& name);

  /// How the text begins, 64 KiB at most; only before anything was read.
  [[nodiscard]] std::string_view head();
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Line and column of the byte read last.
  [[nodiscard]] Location place() const;
  /// Bytes read so far, as they are when unpacked.
  [[nodiscard]] std::uint64_t offset() const;
  /// Bytes taken from the file so far, packed or not.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  /// Throws a ConfigError at this place.
  [[noreturn]] void refuse(std::string what, std::string expected) const;

 protected:
  int_type underflow() override;

 private:
  class Unpacking;
  std::size_t fill(char* to, std::size_t room);
  void count_lines(const char* until) const;

  Source source_;
  std::string name_;
  std::vector<char> buffer_;
  std::unique_ptr<Unpacking> unpacking_;
  std::uint64_t taken_ = 0, before_ = 0;   // before_: bytes in front of the buffer
  mutable const char* counted_ = nullptr;  // lines that end before this byte of the buffer are counted
  mutable int lines_ = 0;
  mutable std::uint64_t line_start_ = 0;  // offset of the first byte of the line that is being read
};

}  // namespace lockstep::workloads
