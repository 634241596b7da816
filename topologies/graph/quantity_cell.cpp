#include "topologies/graph/quantity_cell_private.hpp"

#include <charconv>

namespace lockstep::topologies {
namespace {

/// The value, or a problem that says what is wrong with its text.
template <class Value>
std::optional<Value> value_of(const std::variant<Value, QuantityError>& parsed, TextPlace place, const std::string& key,
                              NetworkBuilder& builder) {
  if (const auto* value = std::get_if<Value>(&parsed)) return *value;
  const auto& error = std::get<QuantityError>(parsed);
  builder.problem(place, key, error.what, error.expected);
  return std::nullopt;
}

}  // namespace

std::optional<BytesPerSecond> read_rate(const std::string& text, TextPlace place, const std::string& key,
                                        NetworkBuilder& builder) {
  if (text.empty()) return std::nullopt;
  const auto rate = value_of(parse_bytes_per_second(text), place, key, builder);
  if (!rate || rate->value() > 0) return rate;
  builder.problem(place, key, "'" + text + "' is zero", "a rate such as 400 Gbps");
  return std::nullopt;
}

std::optional<Seconds> read_latency(const std::string& text, TextPlace place, const std::string& key,
                                    NetworkBuilder& builder) {
  if (text.empty()) return std::nullopt;
  return value_of(parse_seconds(text), place, key, builder);
}

int read_cable_count(const std::string& text, TextPlace place, NetworkBuilder& builder) {
  if (text.empty()) return 1;
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count >= 1 && count <= most_parallel_cables)
    return count;
  builder.problem(place, "count", "'" + text + "' is no number of cables",
                  "1 to " + std::to_string(most_parallel_cables));
  return 1;
}

void connect_with_adapters(CableEnd from, CableEnd to, int count, Cable like, TextPlace place,
                           NetworkBuilder& builder) {
  auto *from_host = std::get_if<AdapterEnd>(&from), *to_host = std::get_if<AdapterEnd>(&to);
  const bool one_by_one = from_host != nullptr || to_host != nullptr;
  like.count = one_by_one ? 1 : count;
  for (int i = 0; i < (one_by_one ? count : 1) && !builder.gives_up(); ++i) {
    like.from = from_host != nullptr ? CableEnd(builder.add_adapter(from_host->host)) : from;
    like.to = to_host != nullptr ? CableEnd(builder.add_adapter(to_host->host)) : to;
    builder.connect(like, place);
  }
}

}  // namespace lockstep::topologies
