#include <expat.h>

#include <memory>
#include <optional>

#include "sim/core/xml_tree.hpp"

namespace lockstep {
namespace {

constexpr std::size_t most_depth = 64, most_elements = 1'000'000;

class TreeReader {
 public:
  TreeReader(std::string_view text, const std::string& file, Problems& problems)
      : text_(text), file_(file), problems_(problems), parser_(XML_ParserCreate(nullptr), XML_ParserFree) {}

  XmlElement read() {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(), [](void* self, const char* name, const char** given) { of(self).start(name, given); },
        [](void* self, const char*) { of(self).end(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* letters, int count) {
      auto& open = of(self).open_;
      if (!open.empty()) open.back().text.append(letters, static_cast<std::size_t>(count));
    });
    XML_SetStartDoctypeDeclHandler(parser_.get(), [](void* self, const char*, const char*, const char*, int) {
      of(self).stop("has a document type", "XML without a document type and entities");
    });
    if (XML_Parse(parser_.get(), text_.data(), static_cast<int>(text_.size()), XML_TRUE) != XML_STATUS_OK && !stopped_)
      problem(std::string("malformed XML: ") + XML_ErrorString(XML_GetErrorCode(parser_.get())), "");
    return stopped_ ? XmlElement() : std::move(root_);
  }

 private:
  static TreeReader& of(void* self) { return *static_cast<TreeReader*>(self); }

  [[nodiscard]] int line() const { return static_cast<int>(XML_GetCurrentLineNumber(parser_.get())); }
  [[nodiscard]] int column() const { return static_cast<int>(XML_GetCurrentColumnNumber(parser_.get())) + 1; }

  void problem(std::string what, std::string expected) {
    stopped_ = true;
    problems_.add({{file_, line(), column()}, "", std::move(what), std::move(expected)});
  }

  void stop(std::string what, std::string expected) {
    if (stopped_) return;
    problem(std::move(what), std::move(expected));
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void start(const char* name, const char** given) {
    if (stopped_) return;
    if (open_.size() == most_depth)
      return stop("elements are nested too deeply", "at most " + std::to_string(most_depth) + " levels");
    if (++elements_ > most_elements) return stop("has too many elements", "at most " + std::to_string(most_elements));
    XmlElement& element = open_.emplace_back();
    element.name = name;
    element.line = line();
    element.column = column();
    for (; *given != nullptr; given += 2) element.attributes.emplace_back(given[0], given[1]);
  }

  void end() {
    if (stopped_) return;
    XmlElement element = std::move(open_.back());
    open_.pop_back();
    constexpr const char* space = " \t\r\n";
    const std::size_t first = element.text.find_first_not_of(space);
    element.text =
        first == std::string::npos ? "" : element.text.substr(first, element.text.find_last_not_of(space) - first + 1);
    if (open_.empty())
      root_ = std::move(element);
    else
      open_.back().children.push_back(std::move(element));
  }

  std::string_view text_;
  const std::string& file_;
  Problems& problems_;
  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_;
  std::vector<XmlElement> open_;
  XmlElement root_;
  std::size_t elements_ = 0;
  bool stopped_ = false;
};

}  // namespace

XmlElement read_xml(std::string_view text, const std::string& file, Problems& problems) {
  return TreeReader(text, file, problems).read();
}

bool is_xml_of(std::string_view head, std::string_view root) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  while (true) {
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    std::string_view close;
    if (head.starts_with("<!--"))
      close = "-->";
    else if (head.starts_with("<?"))
      close = "?>";
    else if (head.starts_with("<!"))  // a document type, which read_xml refuses; it may have declarations of its own
      close = head.substr(0, head.find('>')).find('[') == std::string_view::npos ? ">" : "]>";
    if (close.empty()) break;
    const std::size_t end = head.find(close);
    if (end == std::string_view::npos) return false;
    head.remove_prefix(end + close.size());
  }
  if (!head.starts_with("<") || !head.substr(1).starts_with(root)) return false;
  const std::string_view after = head.substr(1 + root.size());
  return after.empty() || std::string_view(" \t\r\n/>").find(after.front()) != std::string_view::npos;
}

}  // namespace lockstep
