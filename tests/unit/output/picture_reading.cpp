#include "tests/unit/output/picture_reading.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep::test {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  std::vector<Element> all() {
    std::vector<Element> found;
    std::vector<Element> open;               // from the outermost
    std::vector<std::size_t> place_of_open;  // in found
    while (at_ < text_.size()) {
      const auto content = plain('<');
      if (!open.empty()) open.back().text += content;
      if (at_ >= text_.size()) break;
      ++at_;
      if (text_[at_] == '/') {
        ++at_;
        const auto name = word();
        expect('>');
        if (open.empty() || open.back().name != name) throw std::runtime_error("</" + name + "> closes nothing");
        const auto closed = open.back();
        open.pop_back();
        found[place_of_open.back()] = closed;
        place_of_open.pop_back();
        if (name == "title" && !open.empty()) open.back().title = closed.text;
      } else {
        Element element{word(), {}, {}, {}};
        read_attributes(element);
        const bool closed = text_[at_] == '/';
        if (closed) ++at_;
        expect('>');
        found.push_back(element);
        if (closed) continue;
        open.push_back(element);
        place_of_open.push_back(found.size() - 1);
      }
    }
    if (!open.empty()) throw std::runtime_error("<" + open.back().name + "> is never closed");
    std::erase_if(found, [](const Element& element) { return element.name == "title"; });
    return found;
  }

 private:
  /// Text up to a sign, with its entities resolved.
  std::string plain(char until) {
    std::string result;
    for (; at_ < text_.size() && text_[at_] != until; ++at_) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < ' ' && c != '\n') throw std::runtime_error("a control character");
      if (c == '<') throw std::runtime_error("< within an attribute");
      if (c != '&') {
        result += c;
        continue;
      }
      const auto end = text_.find(';', at_);
      const auto entity = text_.substr(at_, end - at_ + 1);
      const std::map<std::string, char> known{{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}};
      if (!known.contains(entity)) throw std::runtime_error("a bare & in " + entity.substr(0, 20));
      result += known.at(entity);
      at_ = end;
    }
    return result;
  }
  std::string word() {
    const auto end = text_.find_first_of(" />=\n", at_);
    const auto result = text_.substr(at_, end - at_);
    at_ = end;
    return result;
  }
  void read_attributes(Element& element) {
    while (text_[at_] == ' ') {
      ++at_;
      const auto name = word();
      expect('=');
      expect('"');
      if (!element.attributes.emplace(name, plain('"')).second) throw std::runtime_error(name + " is given twice");
      expect('"');
    }
  }
  void expect(char c) {
    if (at_ >= text_.size() || text_[at_] != c)
      throw std::runtime_error(std::string("no ") + c + " at " + text_.substr(at_, 20));
    ++at_;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

double Element::number(const std::string& attribute) const {
  EXPECT_TRUE(attributes.contains(attribute)) << "<" << name << "> has no " << attribute;
  return attributes.contains(attribute) ? std::stod(attributes.at(attribute)) : 0;
}

std::vector<Element> elements_of(const std::string& svg) {
  try {
    auto all = Reader(svg).all();
    EXPECT_FALSE(all.empty());
    if (!all.empty()) {
      EXPECT_EQ(all.front().name, "svg");
    }
    return all;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "is no XML: " << error.what();
    return {};
  }
}

std::vector<Element> elements_of(const std::string& svg, const std::string& name) {
  auto found = elements_of(svg);
  std::erase_if(found, [&](const Element& element) { return element.name != name; });
  return found;
}

std::vector<std::string> texts_of(const std::string& svg) {
  std::vector<std::string> texts;
  for (const auto& element : elements_of(svg, "text")) texts.push_back(element.text);
  return texts;
}

std::vector<std::pair<double, double>> points_of(const Element& path) {
  std::vector<std::pair<double, double>> points;
  std::string numbers = path.attributes.at("d");
  for (auto& c : numbers) c = c == 'M' || c == 'L' ? ' ' : c;
  std::istringstream stream(numbers);
  for (double x = 0, y = 0; stream >> x >> y;) points.emplace_back(x, y);
  return points;
}

}  // namespace lockstep::test
