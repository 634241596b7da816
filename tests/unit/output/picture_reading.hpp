#pragma once
/// SVG pictures read back, by a reader that takes nothing but well-formed XML.
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::test {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;   ///< between its tags
  std::string title;  ///< of a <title> within it

  [[nodiscard]] double number(const std::string& attribute) const;
};

/// Every element in the order of its opening tag, titles left out; fails the test for text that is no XML: tags that do
/// not match, a bare & or a control character, an attribute that is given twice.
[[nodiscard]] std::vector<Element> elements_of(const std::string& svg);
[[nodiscard]] std::vector<Element> elements_of(const std::string& svg, const std::string& name);
/// All texts of a picture.
[[nodiscard]] std::vector<std::string> texts_of(const std::string& svg);
/// Points of a path of M and L alone.
[[nodiscard]] std::vector<std::pair<double, double>> points_of(const Element& path);

}  // namespace lockstep::test
