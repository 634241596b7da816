// A collective algorithm of either format. One that reads has transfers that wait for earlier ones with an end in
// common, over connections between ranks.
#include <algorithm>

#include "sim/collectives/files/read_collective.hpp"
#include "tests/fuzz/readers/target.hpp"

namespace {

using namespace lockstep;

void read(std::string_view text) {
  const auto schedule = collectives::read_collective_text(text, "fuzzed");
  if (schedule.ranks < 2 || schedule.chunks < 1) throw test::Defect("an algorithm of nobody or of nothing");
  for (const auto& line : schedule.connections) {
    if (line.from == line.to || std::min(line.from, line.to) < 0 || std::max(line.from, line.to) >= schedule.ranks)
      throw test::Defect("a connection that leads nowhere");
  }
  for (const auto id : schedule.transfers.ids()) {
    const auto& transfer = schedule.transfers[id];
    if (transfer.chunks < 1 || !schedule.connections.contains(transfer.connection))
      throw test::Defect("a transfer of nothing, or over no connection");
    const auto [from, to] = schedule.connections[transfer.connection];
    for (const auto other : transfer.after) {
      if (other < 0 || other >= id) throw test::Defect("a transfer that waits for a later one");
      const auto [source, target] = schedule.connections[schedule.transfers[other].connection];
      if (source != from && source != to && target != from && target != to)
        throw test::Defect("a transfer that waits for one between other ranks");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = test::text_of(data, size);
  return test::answered([&] { read(text); });
}
