#include "tools/report/encoding.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "sim/core/errors.hpp"

namespace lockstep::report {
namespace {

constexpr int gzip_window = 15 + 16;  // zlib's largest window, with gzip's header
constexpr int level_of_files = 6, level_of_answers = 1;

}  // namespace

std::string gzipped(std::string_view content, PackedFor what) {
  z_stream stream{};
  const int level = what == PackedFor::keeping ? level_of_files : level_of_answers;
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw InternalError("deflate does not start");
  std::string out(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  std::string in(content);  // zlib wants it writable
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw InternalError("deflate does not end");
  return out;
}

std::string gunzipped(std::span<const unsigned char> content) {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window) != Z_OK) throw InternalError("inflate does not start");
  std::string in(content.begin(), content.end());
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  std::string out;
  std::array<char, 1 << 16> buffer;
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw InternalError("what should be gzip is not");
  return out;
}

std::string base64(std::string_view content) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((content.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < content.size(); i += 3) {
    const auto count = std::min<std::size_t>(3, content.size() - i);
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(content[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace lockstep::report
