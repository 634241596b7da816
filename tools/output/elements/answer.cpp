#include "tools/output/elements/answer.hpp"

#include "sim/core/visible_text.hpp"
#include "tools/output/elements/terminal.hpp"
#include "tools/output/files/file.hpp"

namespace lockstep::output {

void Answer::write(const std::filesystem::path& file, std::string_view content) {
  if (file.empty() || file == "-") return;
  write_file(file, content);
  add(file);
}

void Answer::finish(NewFiles& files, const std::filesystem::path& place) {
  files.finish();
  std::error_code error;
  add(std::filesystem::is_directory(place, error) ? place / "" : place);
}

void Answer::print(const std::string& text) const { output::print(fitted(text + written())); }

std::string Answer::written() const {
  std::string list;
  for (const auto& place : written_) list += (list.empty() ? "" : ", ") + visible(place.string());
  return list.empty() ? "" : "written: " + list + "\n";
}

}  // namespace lockstep::output
