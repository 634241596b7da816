#include "tools/output/elements/svg.hpp"

#include "sim/core/errors.hpp"
#include "sim/core/visible_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"

namespace lockstep::output::svg {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : visible(text)) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text, const std::string& more) {
  return "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         escaped(text) + "</text>\n";
}

std::string rectangle(double x, double y, double width, double height, const std::string& colour,
                      const std::string& title) {
  return "<rect x=\"" + fixed(x, 2) + "\" y=\"" + fixed(y, 1) + "\" width=\"" + fixed(width, 2) + "\" height=\"" +
         fixed(height, 1) + "\" fill=\"" + colour + "\"><title>" + escaped(title) + "</title></rect>\n";
}

std::string open(double width, double height) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + fixed(width, 0) + " " + fixed(height, 0) +
         "\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#777\">\n";
}

void check_place(const std::filesystem::path& file) {
  if (file.empty()) return;
  if (file.extension() != ".svg")
    throw ConfigError({{{file.string(), 0, 0}, "", "is not .svg", "a picture's name, such as errors.svg"}});
  check_file_place(file);
}

}  // namespace lockstep::output::svg
