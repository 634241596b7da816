#include "workloads/traces/trace_text.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>

#include "sim/core/readable_file.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t buffer_size = 1u << 20, packed_size = 1u << 18, head_size = 64u << 10;
constexpr std::uint64_t most_unpacked = std::uint64_t{1} << 40;

}  // namespace

/// gzip, one member after the other.
class TraceText::Unpacking {
 public:
  explicit Unpacking(TraceText& text) : text_(text), packed_(packed_size) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacking() { inflateEnd(&stream_); }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

  /// What was read before it was known to be packed.
  void begin_with(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), packed_.begin());
    offer(bytes.size());
  }

  std::size_t read(char* to, std::size_t room) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room && !ended_) {
      if (stream_.avail_in == 0) offer(text_.source_(packed_.data(), packed_.size()));
      if (stream_.avail_in == 0 && between_members_) ended_ = true;
      if (stream_.avail_in == 0 && !ended_)
        text_.refuse("the gzip data end in the middle", "a file that was copied whole");
      if (!ended_) step();
    }
    return room - stream_.avail_out;
  }

 private:
  void offer(std::size_t bytes) {
    text_.taken_ += bytes;
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(bytes);
  }

  void step() {
    if (between_members_) inflateReset(&stream_);
    between_members_ = false;
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
      text_.refuse(std::string("broken gzip data: ") + (stream_.msg != nullptr ? stream_.msg : "no further reason"),
                   "a file that was copied whole");
    between_members_ = answer == Z_STREAM_END;
  }

  TraceText& text_;
  std::vector<char> packed_;
  z_stream stream_{};
  bool between_members_ = false, ended_ = false;
};

TraceText::TraceText(Source source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), buffer_(buffer_size) {
  std::size_t have = 0;
  while (have < 2) {
    const std::size_t more = source_(buffer_.data() + have, packed_size - have);
    if (more == 0) break;
    have += more;
  }
  if (have >= 2 && buffer_[0] == '\x1f' && buffer_[1] == '\x8b') {
    unpacking_ = std::make_unique<Unpacking>(*this);
    unpacking_->begin_with({buffer_.data(), have});
    have = 0;
  } else {
    taken_ = have;
  }
  while (have < head_size) {
    const std::size_t more = fill(buffer_.data() + have, buffer_.size() - have);
    if (more == 0) break;
    have += more;
  }
  setg(buffer_.data(), buffer_.data(), buffer_.data() + have);
  counted_ = buffer_.data();
}

TraceText::~TraceText() = default;

std::unique_ptr<TraceText> TraceText::of_file(const std::filesystem::path& file,
                                              const std::function<void(double)>& progress) {
  const std::string name = file.empty() ? "''" : file.string();
  const auto refuse = [&](std::string what, std::string expected) {
    throw ConfigError({{{name, 0, 0}, "", std::move(what), std::move(expected)}});
  };
  if (const auto why = why_unreadable(file); !why.empty()) refuse(why, why.starts_with("is ") ? "a file" : "");
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (size == 0) refuse("the file is empty", "a trace");
  auto stream = std::make_shared<std::ifstream>(file, std::ios::binary);
  return std::make_unique<TraceText>(
      [stream, size, progress, taken = std::uint64_t{0}, told = std::uint64_t{0}](char* to, std::size_t room) mutable {
        constexpr std::uint64_t each = 16u << 20;
        stream->read(to, static_cast<std::streamsize>(room));
        const auto count = static_cast<std::size_t>(stream->gcount());
        taken += count;
        if (progress && taken - told >= each) {
          told = taken;
          progress(static_cast<double>(taken) / static_cast<double>(size));
        }
        return count;
      },
      name);
}

std::unique_ptr<TraceText> TraceText::of_bytes(std::string_view bytes, const std::string& name) {
  return std::make_unique<TraceText>(
      [left = bytes](char* to, std::size_t room) mutable {
        const std::size_t count = std::min(room, left.size());
        std::memcpy(to, left.data(), count);
        left.remove_prefix(count);
        return count;
      },
      name);
}

std::size_t TraceText::fill(char* to, std::size_t room) {
  if (unpacking_) return unpacking_->read(to, room);
  const std::size_t count = source_(to, room);
  taken_ += count;
  return count;
}

std::string_view TraceText::head() { return {gptr(), std::min(static_cast<std::size_t>(egptr() - gptr()), head_size)}; }

/// Counts the lines that end before a byte of the buffer; each byte is looked at once.
void TraceText::count_lines(const char* until) const {
  while (counted_ < until) {
    const void* newline = std::memchr(counted_, '\n', static_cast<std::size_t>(until - counted_));
    if (newline == nullptr) break;
    counted_ = static_cast<const char*>(newline) + 1;
    line_start_ = before_ + static_cast<std::uint64_t>(counted_ - eback());
    if (lines_ < std::numeric_limits<int>::max() - 1) ++lines_;
  }
  counted_ = std::max(counted_, until);
}

TraceText::int_type TraceText::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  count_lines(egptr());
  before_ += static_cast<std::uint64_t>(egptr() - eback());
  if (before_ > most_unpacked) refuse("the trace is too long", "at most 1 TiB of text");
  setg(buffer_.data(), buffer_.data(), buffer_.data());
  counted_ = buffer_.data();
  const std::size_t count = fill(buffer_.data(), buffer_.size());
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return count == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

std::uint64_t TraceText::offset() const { return before_ + static_cast<std::uint64_t>(gptr() - eback()); }

Location TraceText::place() const {
  // The byte read last, or the one that would be the first.
  const bool at_start = gptr() == eback();
  if (!at_start) count_lines(gptr() - 1);
  const std::uint64_t at = at_start ? before_ : offset() - 1;
  const auto column = std::min<std::uint64_t>(at - line_start_ + 1, std::numeric_limits<int>::max());
  return {name_, lines_ + 1, static_cast<int>(column)};
}

void TraceText::refuse(std::string what, std::string expected) const {
  throw ConfigError({{place(), "", std::move(what), std::move(expected)}});
}

}  // namespace lockstep::workloads
