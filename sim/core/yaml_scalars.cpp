// The getters of YamlView: each records a problem at its place and gives a harmless fallback.
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/core/plain_number_private.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_tree_private.hpp"

namespace lockstep {
namespace {

std::string quote(std::string_view text) { return '`' + std::string(text) + '`'; }

/// Whether the node is a scalar; what it is instead goes to the problem.
bool is_single_value(const YamlView& view, const YamlNode& node, const std::string& expected) {
  switch (node.kind) {
    case YamlNode::Kind::null: view.problem("is null", expected); return false;
    case YamlNode::Kind::list: view.problem("is a list", expected); return false;
    case YamlNode::Kind::map: view.problem("is a map", expected); return false;
    case YamlNode::Kind::scalar: return true;
  }
  return false;
}

bool is_plain_value(const YamlView& view, const YamlNode& node, const std::string& expected) {
  if (!is_single_value(view, node, expected)) return false;
  if (node.quoted) view.problem("\"" + node.text + "\" is a quoted text", expected + " without quotes");
  return !node.quoted;
}

std::string whole_number_in(std::int64_t least, std::int64_t most) {
  std::string from = "a whole number";
  const bool unbounded = most == std::numeric_limits<std::int64_t>::max();
  if (unbounded && least == std::numeric_limits<std::int64_t>::min()) return from;
  if (unbounded) return from + " of at least " + std::to_string(least);
  return from + " from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string number_in(double least, double most) {
  const bool has_least = std::isfinite(least) && least > std::numeric_limits<double>::lowest();
  const bool has_most = std::isfinite(most) && most < std::numeric_limits<double>::max();
  if (has_least && has_most) return "a number from " + exact(least) + " to " + exact(most);
  if (has_least) return "a number of at least " + exact(least);
  if (has_most) return "a number of at most " + exact(most);
  return "a number";
}

/// Turns the parser's answer into a quantity or a problem. Rates have a range: outside it operations would take no
/// time, or more seconds than a clock that also counts nanoseconds can represent.
template <class Wanted>
Wanted quantity(const YamlView& view, const YamlNode& node, bool allow_zero, std::string_view expected,
                std::variant<Wanted, QuantityError> (*parse)(std::string_view),
                std::optional<std::pair<Wanted, Wanted>> range = std::nullopt) {
  // One of the smallest unit: no division by zero follows from a problem.
  const Wanted fallback(typename Wanted::rep{1});
  if (!is_single_value(view, node, std::string(expected))) return fallback;
  const std::variant<Wanted, QuantityError> parsed = parse(node.text);
  if (const auto* error = std::get_if<QuantityError>(&parsed)) {
    view.problem(error->what, error->expected);
    return fallback;
  }
  const Wanted value = std::get<Wanted>(parsed);
  if (range && value > Wanted() && (value < range->first || value > range->second)) {
    view.problem(quote(node.text) + (value < range->first ? " is too small" : " is too large"),
                 "a rate from " + format(range->first) + " to " + format(range->second));
    return fallback;
  }
  if (allow_zero || value > Wanted()) return value;
  view.problem(quote(node.text) + " is zero", std::string(expected));
  return fallback;
}

}  // namespace

std::string YamlView::text() const { return exists() && is_single_value(*this, *node_, "a text") ? node_->text : ""; }

std::int64_t YamlView::integer(std::int64_t least, std::int64_t most) const {
  const std::string expected = whole_number_in(least, most);
  if (!exists() || !is_plain_value(*this, *node_, expected)) return least;
  const std::string& text = node_->text;
  const auto wrong = [&](const std::string& what) {
    problem(quote(text) + ' ' + what, expected);
    return least;
  };
  if (has_leading_zero(text)) return wrong("has a leading zero");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool complete = error != std::errc::invalid_argument && end == text.data() + text.size();
  if (!complete) return wrong("is not a whole number");
  const bool overflows = error == std::errc::result_out_of_range;
  if (overflows ? text.starts_with('-') : value < least) return wrong("is too small");
  if (overflows || value > most) return wrong("is too large");
  return value;
}

double YamlView::number(double least, double most) const {
  const std::string expected = number_in(least, most);
  if (!exists() || !is_plain_value(*this, *node_, expected)) return least;
  const auto wrong = [&](const std::string& what) {
    problem(quote(node_->text) + ' ' + what, expected);
    return least;
  };
  if (has_leading_zero(node_->text)) return wrong("has a leading zero");
  const std::size_t length = plain_number_length(node_->text);
  if (length == 0 || length != node_->text.size()) return wrong("is not a plain number");
  const std::optional<double> value = plain_number_value(node_->text);
  if (!value) return wrong("is out of range");
  if (*value < least) return wrong("is too small");
  if (*value > most) return wrong("is too large");
  return *value;
}

bool YamlView::boolean() const {
  const std::string expected = "true or false";
  if (!exists() || !is_plain_value(*this, *node_, expected)) return false;
  if (node_->text == "true") return true;
  if (node_->text != "false") problem(quote(node_->text) + " is not a boolean", expected);
  return false;
}

std::size_t YamlView::choice(const std::vector<std::string>& words) const {
  std::string expected = "one of";
  for (const std::string& word : words) expected += (word == words.front() ? " " : ", ") + word;
  if (!exists() || !is_single_value(*this, *node_, expected)) return 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == node_->text) return i;
  }
  const std::string near = did_you_mean(node_->text, words);
  problem(quote(node_->text) + " is not known", near.empty() ? expected : expected + "; " + near);
  return 0;
}

Bytes YamlView::bytes(bool allow_zero) const {
  return exists() ? quantity(*this, *node_, allow_zero, "a size such as 80 GiB", &parse_bytes) : Bytes(1);
}

Seconds YamlView::seconds(bool allow_zero) const {
  return exists() ? quantity(*this, *node_, allow_zero, "a time such as 2 us", &parse_seconds) : Seconds(1);
}

BytesPerSecond YamlView::bytes_per_second() const {
  constexpr std::string_view expected = "a bandwidth such as 90 GB/s or 400 Gbps";
  constexpr std::pair<BytesPerSecond, BytesPerSecond> range(1e3, 1e18);
  return exists() ? quantity(*this, *node_, false, expected, &parse_bytes_per_second, std::optional(range))
                  : BytesPerSecond(1);
}

FlopsPerSecond YamlView::flops_per_second() const {
  constexpr std::string_view expected = "a compute rate such as 989 TFLOP/s";
  constexpr std::pair<FlopsPerSecond, FlopsPerSecond> range(1e9, 1e21);
  return exists() ? quantity(*this, *node_, false, expected, &parse_flops_per_second, std::optional(range))
                  : FlopsPerSecond(1);
}

}  // namespace lockstep
