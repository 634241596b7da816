#pragma once
/// The colours of pictures and of the page, one for each thing, from one file: colours.json.
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::output {

/// Colours of names: those with a meaning of their own, the others in order of appearance.
class Colours {
 public:
  [[nodiscard]] std::string of(const std::string& name);

 private:
  std::vector<std::string> seen_;
};

/// Of lines that only have a number. After so many as there are they come again.
[[nodiscard]] std::string colour_of_line(std::size_t number);
[[nodiscard]] std::size_t line_colours();
/// Between the colour ("#rrggbb") and white: 0 is the colour itself, 1 is white.
[[nodiscard]] std::string lighter(const std::string& colour, double white);

}  // namespace lockstep::output
