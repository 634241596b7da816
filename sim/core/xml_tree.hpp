#pragma once
/// A small XML document with the places of its elements. A document type, and with it every entity, is refused before
/// it is read, as are deep nesting and documents of too many elements.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  ///< directly in the element, without the spaces around it
  std::vector<XmlElement> children;
  int line = 0, column = 0;

  /// The value; "" without such an attribute.
  [[nodiscard]] std::string_view attribute(std::string_view key) const {
    for (const auto& [name_of, value] : attributes) {
      if (name_of == key) return value;
    }
    return "";
  }
};

/// The root; an element without a name where something is wrong, which is a problem then.
[[nodiscard]] XmlElement read_xml(std::string_view text, const std::string& file, Problems& problems);

/// Whether the first element of a text has this name, possibly after a declaration and remarks.
[[nodiscard]] bool is_xml_of(std::string_view head, std::string_view root);

}  // namespace lockstep
