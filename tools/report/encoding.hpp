#pragma once
/// Encodes the data of a report page, and decodes the page that is built into the program.
#include <span>
#include <string>
#include <string_view>

namespace lockstep::report {

/// What compressing is for: a file that is kept, or an answer that is read at once.
enum class PackedFor { keeping, reading_now };

/// Equal content gives equal bytes: the header carries neither a name nor a time.
[[nodiscard]] std::string gzipped(std::string_view content, PackedFor what = PackedFor::keeping);
/// Throws InternalError for what is not gzip.
[[nodiscard]] std::string gunzipped(std::span<const unsigned char> content);
[[nodiscard]] std::string base64(std::string_view content);

}  // namespace lockstep::report
