// A trace, read by the reader of LOCKSTEP_FUZZED_FORMAT, or of the format that it has where this is empty. What reads
// is whole: events in streams that are there, and after earlier events only.
#include "tests/fuzz/readers/target.hpp"
#include "workloads/traces/read_traces.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  return test::answered([&] {
    const auto job = workloads::read_trace_bytes(test::text_of(data, size), "fuzzed", LOCKSTEP_FUZZED_FORMAT);
    if (job.ranks.size() != 1) throw test::Defect("not one rank");
    const auto& rank = job.ranks.front();
    if (rank.rank < 0 || rank.rank >= job.world) throw test::Defect("a rank outside of its job");
    for (const auto id : rank.events.ids()) {
      const auto& event = rank.events[id];
      if (!rank.streams.contains(event.stream)) throw test::Defect("an event on no stream");
      if (!job.names.contains(event.name)) throw test::Defect("an event without a name");
      if (!(event.duration >= Seconds(0))) throw test::Defect("a negative duration");
      if (job.dated && !(event.start.value() >= Seconds(0))) throw test::Defect("an event before the first");
      for (const auto before : event.after) {
        if (before >= id) throw test::Defect("an event that waits for a later one");
      }
      if (event.kind != workloads::RecordedEvent::Kind::collective) continue;
      const auto& collective = rank.collectives[event.collective];
      if (!job.groups.contains(collective.group)) throw test::Defect("a collective of no group");
      if (collective.buffer.value_or(Bytes(0)) < Bytes(0)) throw test::Defect("a negative size");
    }
  });
}
