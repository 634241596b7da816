#pragma once
/// What a command gives its user: files, then a text whose last line says which files they are.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/output/files/new_file.hpp"

namespace lockstep::output {

class Answer {
 public:
  /// Writes a file. "" is no place, and "-" is stdout, where documents are printed instead of a text.
  void write(const std::filesystem::path& file, std::string_view content);
  /// Gives the files their names; `place` is their folder, or the one file that they are.
  void finish(NewFiles& files, const std::filesystem::path& place);
  /// Remembers a file that is written already, such as a database.
  void add(const std::filesystem::path& file) { written_.push_back(file); }
  /// Prints the text, as wide as the terminal, and then written().
  void print(const std::string& text) const;
  /// "written: out/a/, best.yaml", as a line; "" where nothing was written.
  [[nodiscard]] std::string written() const;

 private:
  std::vector<std::filesystem::path> written_;
};

}  // namespace lockstep::output
