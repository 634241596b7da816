#include "sim/studies/sweep/swept_values.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_text.hpp"

namespace lockstep::sweep {
namespace {

constexpr double largest = 1e15;  // whole numbers up to here are exact

bool is_whole(const YamlView& view) { return view.text().find_first_of(".eE") == std::string::npos; }

std::string exact_count(double count) { return count < largest ? std::to_string(std::llround(count)) : exact(count); }

double between_zero_and_one(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

}  // namespace

SweptValues::SweptValues(const std::string& key, const YamlView& view, bool drawn, const Problems& problems)
    : key_(key), where_(view.where()) {
  if (view.is_map()) {
    read_range(view, drawn, problems);
  } else if (view.is_list()) {
    for (const auto& item : view.items()) listed_.push_back({key, in_one_line(item), item.where(), ""});
    if (listed_.empty()) view.problem("has no values", "one value or more");
  } else {
    view.problem(view.is_null() ? "is null" : "is a single value",
                 drawn ? "a list of values, or {from: 1, to: 9}" : "a list of values, or {from: 1, to: 9, step: 2}");
  }
}

void SweptValues::read_range(const YamlView& view, bool drawn, const Problems& problems) {
  const std::string shape = drawn ? "{from: 1, to: 9} or {from: 1, to: 64, scale: log}"
                                  : "{from: 1, to: 9, step: 2} or {from: 1, to: 64, times: 2}";
  const auto before = problems.size();
  const auto from = view.require("from", shape), to = view.require("to", shape);
  if (from.exists()) from_ = from.number(-largest, largest);
  if (to.exists()) to_ = to.number(-largest, largest);
  YamlView next;
  if (drawn) {
    const auto scale = view["scale"];
    times_ = scale.exists() && scale.choice({"linear", "log"}) == 1;
  } else {
    const auto times = view["times"];
    times_ = times.exists();
    next = times_ ? times : view["step"];
    if (next.exists()) step_ = next.number(times_ ? 1 : 0, largest);
  }
  view.refuse_unknown_keys();
  if (problems.size() > before) return;
  if (!drawn && !next.exists()) view.problem("the range has no step", shape);
  if (to_ < from_) to.problem("the range ends before it starts", "at least " + from.text());
  if (times_ && from_ <= 0) from.problem("is not positive", "a positive number, since it is multiplied");
  if (!drawn && next.exists() && step_ <= (times_ ? 1 : 0))
    next.problem("never reaches the end", times_ ? "a factor above 1" : "a step above 0");
  if (problems.size() > before) return;
  whole_ = is_whole(from) && is_whole(to) && (drawn || is_whole(next));
  if (drawn) return;
  const double steps = times_ ? std::log(to_ / from_) / std::log(step_) : (to_ - from_) / step_;
  const double count = std::floor(steps * (1 + 1e-12) + 1e-9) + 1;
  if (count > static_cast<double>(most_choices)) {
    view.problem("the range has " + exact_count(count) + " values", "at most " + std::to_string(most_choices));
    return;
  }
  count_ = static_cast<std::int64_t>(count);
}

SweptSetting SweptValues::number(double value) const {
  return {key_, whole_ ? std::to_string(std::llround(value)) : exact(value), where_, ""};
}

std::vector<SweptSetting> SweptValues::all() const {
  auto values = listed_;
  for (std::int64_t i = 0; i < count_; ++i) {
    const auto at = static_cast<double>(i);
    values.push_back(number(times_ ? from_ * std::pow(step_, at) : from_ + at * step_));
  }
  return values;
}

SweptSetting SweptValues::draw(std::mt19937_64& generator) const {
  if (!listed_.empty()) return listed_[generator() % listed_.size()];
  const double share = between_zero_and_one(generator);
  if (times_) return number(from_ * std::pow(to_ / from_, share));
  return number(whole_ ? std::min(to_, std::floor(from_ + share * (to_ - from_ + 1))) : from_ + share * (to_ - from_));
}

}  // namespace lockstep::sweep
