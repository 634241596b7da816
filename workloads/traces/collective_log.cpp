#include "workloads/traces/collective_log_private.hpp"

#include <algorithm>

#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {

CollectiveLog::CollectiveLog(JobWriter& writer) : writer_(writer) {
  writer.dated = writer.kernels = false;
  writer.rank.streams = {"communication"};
}

void CollectiveLog::add(std::string_view name, RecordedCollective collective, Seconds duration) {
  auto& rank = writer_.rank;
  collective.sequence = seen_[collective.group]++;
  if (!collective.kind) writer_.missing("Of some collectives the trace does not tell the kind; they keep their times.");
  if (collective.kind && !collective.buffer)
    writer_.missing("Of some collectives the trace does not tell the size; they keep their times.");
  RecordedEvent event;
  event.kind = RecordedEvent::Kind::collective;
  event.name = writer_.name(name);
  event.duration = duration;
  event.collective = rank.collectives.count();
  rank.collectives.push_back(collective);
  rank.events.push_back(std::move(event));
}

std::int64_t elements_in(std::string_view dimensions) {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  std::int64_t sum = -1;
  std::size_t at = 0;
  while ((at = dimensions.find_first_of("0123456789-", at)) != std::string_view::npos) {
    const std::size_t end = std::min(dimensions.find(']', at), dimensions.size());
    std::int64_t product = 1;
    for (const auto factor : integers_in(dimensions.substr(at, end - at))) {
      const auto next = bounded_product(product, factor);
      if (!next || *next > most) return -1;
      product = *next;
    }
    sum = std::max<std::int64_t>(sum, 0) + product;
    if (sum > most) return -1;
    at = end;
  }
  return sum;
}

}  // namespace lockstep::workloads
