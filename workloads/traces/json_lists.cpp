#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_depth = 64, most_fields = 4096, most_letters = 64u << 20, most_letters_of_a_key = 4096;

using Kind = JsonFields::Kind;

/// nlohmann tells values as they come; here they become fields.
class Flattening {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  Flattening(TraceText& text, const std::istream& stream, const JsonLists& lists)
      : text_(text), stream_(stream), lists_(lists) {}

  bool null() { return value(Kind::null, "null"); }
  bool boolean(bool yes) { return value(Kind::boolean, yes ? "true" : "false"); }
  bool number_integer(std::int64_t number) { return integer(number); }
  bool number_unsigned(std::uint64_t number) { return integer(number); }
  bool number_float(double /*number*/, const std::string& digits) { return value(Kind::number, digits); }
  bool string(std::string& content) { return value(Kind::text, content); }
  bool binary(binary_t& /*bytes*/) { return false; }

  bool start_object(std::size_t /*elements*/) {
    if (list_depth_ > 0) return open('{');
    deeper();
    if (depth_ == 1) return true;
    if (in_list_ && depth_ == 2 + (top_is_list_ ? 0 : 1)) {  // an object of one of the lists
      where_ = text_.place();
      item_.clear();
      prefix_.clear();
      prefixes_.clear();
      key_.clear();
      return true;
    }
    prefixes_.push_back(prefix_.size());
    if (!key_.empty()) prefix_ += key_ + ".";
    if (prefix_.size() > most_letters_of_a_key) text_.refuse("names of nested objects are too long", "at most 4 KiB");
    return true;
  }

  bool key(std::string& name) {
    if (list_depth_ > 0) {
      separate();
      quote(name);
      *list_ += ':';
      after_key_ = true;
    } else {
      key_.swap(name);
    }
    return true;
  }

  bool end_object() {
    if (list_depth_ > 0) return close('}');
    --depth_;
    if (in_list_ && depth_ == (top_is_list_ ? 1u : 2u)) {
      lists_.each(list_name_, item_, where_);
      item_.clear();
      prefix_.clear();
    } else if (!prefixes_.empty()) {
      prefix_.resize(prefixes_.back());
      prefixes_.pop_back();
    } else if (depth_ == 0) {
      lists_.rest(rest_);
      rest_.clear();
    }
    return true;
  }

  bool start_array(std::size_t /*elements*/) {
    if (list_depth_ > 0) return open('[');
    if (!in_list_ && (depth_ == 0 || (depth_ == 1 && prefix_.empty()))) {
      const std::string_view name = depth_ == 0 ? std::string_view() : std::string_view(key_);
      for (const auto wanted : lists_.names) {
        if (wanted != name) continue;
        in_list_ = true;
        top_is_list_ = depth_ == 0;
        list_name_ = wanted;
        deeper();
        return true;
      }
    }
    if (in_list_ && depth_ == (top_is_list_ ? 1u : 2u))
      text_.refuse("a list stands where an object should", "a list of objects");
    if (depth_ == 0) text_.refuse("the document is a list", "an object");
    list_ = &field(Kind::list).text;
    list_->clear();
    return open('[');
  }

  bool end_array() {
    if (list_depth_ > 0) return close(']');
    --depth_;  // the end of one of the lists
    in_list_ = false;
    if (depth_ == 0) lists_.rest(rest_);
    prefix_.clear();
    prefixes_.clear();
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const nlohmann::json::exception& error) {
    const std::string_view message = error.what();
    if (stream_.eof())  // the parser looked for more, be it in a text, a number or an object
      text_.refuse("the JSON ends in the middle", "a file that was written and copied whole");
    const auto mark = message.find(": ");
    text_.refuse("malformed JSON: " + std::string(mark == std::string_view::npos ? message : message.substr(mark + 2)),
                 "");
  }

 private:
  void deeper() {
    if (++depth_ > most_depth) text_.refuse("values are nested too deeply", "at most 64 levels");
  }

  JsonFields::Field& field(Kind kind) {
    auto& fields = in_list_ ? item_ : rest_;
    if (fields.fields().size() == most_fields) text_.refuse("an object has too many fields", "at most 4096");
    auto& made = fields.add();
    made.key.assign(prefix_).append(key_);
    made.kind = kind;
    return made;
  }

  bool integer(auto number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return value(Kind::number, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  bool value(Kind kind, std::string_view text) {
    if (list_depth_ > 0) {
      separate();
      if (kind == Kind::text)
        quote(text);
      else
        *list_ += text;
      limit(*list_);
      return true;
    }
    if (depth_ == 0) text_.refuse("the document is a single value", "an object");
    if (in_list_ && depth_ == (top_is_list_ ? 1u : 2u))
      text_.refuse("a plain value stands where an object should", "a list of objects");
    auto& made = field(kind).text;
    made.assign(text);
    limit(made);
    return true;
  }

  void limit(const std::string& text) const {
    if (text.size() > most_letters) text_.refuse("a value is too long", "at most 64 MiB");
  }

  void separate() {
    if (after_key_) {
      after_key_ = false;
    } else if (!list_->empty() && list_->back() != '[' && list_->back() != '{') {
      *list_ += ',';
    }
  }

  void quote(std::string_view text) {
    *list_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  bool open(char bracket) {
    deeper();
    separate();
    *list_ += bracket;
    ++list_depth_;
    return true;
  }

  bool close(char bracket) {
    *list_ += bracket;
    --depth_;
    --list_depth_;
    return true;
  }

  TraceText& text_;
  const std::istream& stream_;
  const JsonLists& lists_;
  JsonFields item_, rest_;
  Location where_;
  std::string key_, prefix_;
  std::vector<std::size_t> prefixes_;
  std::string_view list_name_;
  std::string* list_ = nullptr;  // the field that takes the list being read as text
  std::size_t depth_ = 0, list_depth_ = 0;
  bool in_list_ = false, top_is_list_ = false, after_key_ = false;
};

bool only_space_left(TraceText& text) {
  for (auto next = text.sgetc(); next != std::char_traits<char>::eof(); next = text.snextc()) {
    const char letter = std::char_traits<char>::to_char_type(next);
    if (letter != ' ' && letter != '\t' && letter != '\r' && letter != '\n') return false;
  }
  return true;
}

}  // namespace

JsonFields::Field& JsonFields::add() {
  if (count_ == fields_.size()) fields_.emplace_back();
  return fields_[count_++];
}

const JsonFields::Field* JsonFields::find(std::string_view key) const {
  for (const auto& field : fields()) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

std::string_view JsonFields::text(std::string_view key) const {
  const auto* field = find(key);
  return field != nullptr && field->kind == Kind::text ? std::string_view(field->text) : std::string_view();
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key) const {
  const auto* field = find(key);
  if (field == nullptr || (field->kind != Kind::number && field->kind != Kind::text)) return std::nullopt;
  std::int64_t value = 0;
  const auto* end = field->text.data() + field->text.size();
  const auto [rest, error] = std::from_chars(field->text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const auto* field = find(key);
  if (field == nullptr || field->kind != Kind::number) return std::nullopt;
  double value = 0;
  const auto* end = field->text.data() + field->text.size();
  const auto [rest, error] = std::from_chars(field->text.data(), end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> JsonFields::boolean(std::string_view key) const {
  const auto* field = find(key);
  if (field == nullptr || field->kind != Kind::boolean) return std::nullopt;
  return field->text == "true";
}

std::vector<std::int64_t> JsonFields::integers(std::string_view key) const {
  const auto* field = find(key);
  return field == nullptr ? std::vector<std::int64_t>() : integers_in(field->text);
}

std::vector<std::int64_t> integers_in(std::string_view text) {
  std::vector<std::int64_t> values;
  const auto* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error == std::errc()) values.push_back(value);
    at = error == std::errc() ? rest : at + 1;
  }
  return values;
}

void read_json_lists(TraceText& text, const JsonLists& lists, bool sequence) {
  std::istream stream(&text);
  do {
    Flattening reader(text, stream, lists);
    nlohmann::json::sax_parse(stream, &reader, nlohmann::json::input_format_t::json, !sequence);
  } while (sequence && !only_space_left(text));
}

}  // namespace lockstep::workloads
