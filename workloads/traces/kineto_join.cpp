// Kernels of a Kineto trace joined with their launches, and collectives with what annotations around their launches
// say.
#include <algorithm>
#include <limits>
#include <map>

#include "workloads/traces/collective_log_private.hpp"
#include "workloads/traces/kineto_private.hpp"

namespace lockstep::workloads {
namespace {

Seconds seconds(std::int64_t nanoseconds) { return Seconds(static_cast<double>(nanoseconds) * 1e-9); }

/// What one description lacks, taken from another.
void complete(KinetoCollective& one, const KinetoCollective& other) {
  if (!one.word.kind) one.word = other.word;
  if (one.in_elements < 0) one.in_elements = other.in_elements;
  if (one.out_elements < 0) one.out_elements = other.out_elements;
  if (one.type.empty()) one.type = other.type;
  if (!one.source) one.source = other.source;
  if (!one.destination) one.destination = other.destination;
  if (one.group_name.empty()) one.group_name = other.group_name;
  if (one.group_description.empty()) one.group_description = other.group_description;
  if (one.group_ranks.empty()) one.group_ranks = other.group_ranks;
  if (one.group_size == 0) one.group_size = other.group_size;
}

class Joining {
 public:
  Joining(KinetoEvents& events, JobWriter& writer)
      : events_(events), writer_(writer), rank_(writer.rank), origin_(first_stamp()) {}

  void run() {
    std::stable_sort(events_.device.begin(), events_.device.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    std::sort(events_.annotations.begin(), events_.annotations.end(), [](const auto& a, const auto& b) {
      return std::tie(a.thread, a.start, a.collective) < std::tie(b.thread, b.start, b.collective);
    });
    for (const auto& device : events_.device) write(device);
    count_overlaps();
    number_collectives();
    for (const auto id : rank_.events.ids())
      by_launch_[events_.device[position_of(id)].stream].emplace_back(events_.device[position_of(id)].correlation, id);
    for (auto& [stream, launched] : by_launch_) std::sort(launched.begin(), launched.end());
    for (const auto& wait : events_.stream_waits) write(wait);
    write_host();
    if (unlaunched_ > 0) {
      writer_.missing(
          "Of some kernels the trace has no launch; they start as soon as their stream and what they wait "
          "for lets them.");
    }
    if (events_.unnamed_stream_waits.size() > events_.stream_waits.size()) {
      writer_.missing(
          "cudaStreamWaitEvent does not say which streams it joins (a trace made with "
          "torch.profiler's event synchronisation does).");
    }
  }

 private:
  [[nodiscard]] std::int64_t first_stamp() const {
    std::optional<std::int64_t> first;
    const auto see = [&](std::int64_t stamp) { first = first ? std::min(*first, stamp) : stamp; };
    for (const auto& device : events_.device) {
      see(device.start);
      if (const auto launch = events_.launches.find(device.correlation); launch != events_.launches.end())
        see(launch->second.start);
    }
    for (const auto& step : events_.steps) see(step.start);
    return first.value_or(0);
  }

  [[nodiscard]] Seconds since_first(std::int64_t stamp) const { return seconds(stamp - origin_); }

  /// Dates of kernels on one stream overlap by some microseconds where one prepares itself while the last one ends.
  void count_overlaps() {
    constexpr Seconds usual(10e-6);
    Indexed<RecordedStreamId, Seconds> end(rank_.streams.size(), Seconds(0));
    for (const auto& event : rank_.events) {
      auto& before = end[event.stream];
      const auto overlap = std::min(before, *event.start + event.duration) - *event.start;
      if (overlap > usual) {
        ++rank_.overlaps;
        rank_.longest_overlap = std::max(rank_.longest_overlap, overlap);
      }
      before = std::max(before, *event.start + event.duration);
    }
  }

  RecordedStreamId stream(std::int64_t device, std::int64_t number) {
    const auto [known, is_new] = streams_.try_emplace({device, number}, rank_.streams.next_id());
    if (is_new) {
      const bool first = streams_.begin()->first.first == streams_.rbegin()->first.first;
      rank_.streams.push_back((first ? "" : "device " + std::to_string(device) + " ") + "stream " +
                              std::to_string(number));
    }
    return known->second;
  }

  void write(const KinetoEvents::Device& device) {
    RecordedEvent event;
    event.kind = device.kind;
    event.name = device.name;
    event.stream = stream(device.device, device.stream);
    event.start = since_first(device.start);
    event.duration = seconds(device.duration);
    const auto launch = events_.launches.find(device.correlation);
    if (launch != events_.launches.end() && launch->second.start <= device.start) {
      event.launched = since_first(launch->second.start);
    } else {
      ++unlaunched_;
    }
    if (const auto call = events_.operators.find(device.call); call != events_.operators.end()) {
      event.called_by = call->second;
      event.call = device.call;
    }
    if (device.collective >= 0) {
      auto told = events_.collectives[position_of(device.collective)];
      if (launch != events_.launches.end()) ask_annotations(launch->second, told);
      event.collective = rank_.collectives.count();
      rank_.collectives.push_back(collective(told));
    }
    rank_.events.push_back(std::move(event));
  }

  /// Annotations of the launching thread that were open when it launched, the innermost first.
  void ask_annotations(const KinetoEvents::Launch& launch, KinetoCollective& told) const {
    constexpr int deepest = 8;
    auto after =
        std::upper_bound(events_.annotations.begin(), events_.annotations.end(), launch,
                         [](const KinetoEvents::Launch& call, const KinetoEvents::Annotation& annotation) {
                           return std::tie(call.thread, call.start) < std::tie(annotation.thread, annotation.start);
                         });
    for (int seen = 0; seen < deepest && after != events_.annotations.begin(); ++seen) {
      --after;
      if (after->thread != launch.thread) return;
      if (after->end >= launch.start) complete(told, events_.collectives[position_of(after->collective)]);
    }
  }

  RecordedCollective collective(const KinetoCollective& told) {
    RecordedCollective made;
    made.kind = told.word.kind;
    made.role = told.word.role;
    made.group = writer_.group(group_of(told));
    if (!made.kind) writer_.missing("Of some collectives the trace does not tell the kind; they keep their times.");
    if (made.kind == CollectiveKind::point_to_point) find_peer(told, made);
    const auto element = bytes_of_type(told.type);
    const auto elements = std::max(told.in_elements, told.out_elements);
    made.buffer_is_shard = made.kind == CollectiveKind::all_gather && told.out_elements < 0;
    if (told.word.barrier && elements < 0) {
      made.buffer = Bytes(4);  // PyTorch's barrier is an all-reduce of one element
    } else if (element && elements >= 0) {
      if (const auto bytes = bounded_product(elements, *element)) made.buffer = Bytes(*bytes);
    }
    if (made.kind && !made.buffer)
      writer_.missing("Of some collectives the trace does not tell the size; they keep their times.");
    return made;
  }

  void find_peer(const KinetoCollective& told, RecordedCollective& made) {
    if (made.role == RecordedCollective::Role::all && told.source && told.destination)
      made.role = *told.source == rank_.rank ? RecordedCollective::Role::sends : RecordedCollective::Role::receives;
    const auto peer = made.role == RecordedCollective::Role::sends ? told.destination : told.source;
    if (peer && *peer >= 0 && *peer < most_recorded_ranks && *peer != rank_.rank) {
      made.peer = static_cast<std::int32_t>(*peer);
    } else {
      made.kind.reset();
      writer_.missing("Of some sends and receives the trace does not tell the other rank; they keep their times.");
    }
  }

  RecordedGroup group_of(const KinetoCollective& told) {
    RecordedGroup group{told.group_name, told.group_description, told.group_ranks,
                        static_cast<std::int32_t>(std::clamp<std::int64_t>(told.group_size, 0, most_recorded_ranks))};
    if (group.size > 0 && std::ssize(group.ranks) != group.size) group.ranks.clear();  // a shortened list
    if (group.name.empty() && group.ranks.empty() && group.size == 0) {
      writer_.guessed("The trace does not say which ranks a collective joins; taken to be all of them.");
      group.size = writer_.job().world;
    }
    return group;
  }

  void number_collectives() {
    std::map<RecordedGroupId, std::int64_t> seen;
    for (const auto& event : rank_.events) {
      if (event.collective < 0) continue;
      auto& collective = rank_.collectives[event.collective];
      collective.sequence = seen[collective.group]++;
    }
  }

  /// The first kernel that was launched on the waiting stream after the wait, after the last one of the other stream
  /// from before the event was recorded.
  void write(const KinetoEvents::StreamWait& wait) {
    constexpr auto highest = std::numeric_limits<RecordedEventId>::max();
    const auto& waiting = by_launch_[wait.stream];
    const auto& other = by_launch_[wait.other_stream];
    const auto next = std::upper_bound(waiting.begin(), waiting.end(), std::pair(wait.correlation, highest));
    const auto behind = std::lower_bound(other.begin(), other.end(), std::pair(wait.recorded, RecordedEventId{0}));
    if (next == waiting.end() || behind == other.begin()) return;
    const auto first = next->second, last = std::prev(behind)->second;
    if (last >= first) return;
    auto& after = rank_.events[first].after;
    if (std::find(after.begin(), after.end(), last) == after.end()) after.push_back(last);
  }

  void write_host() {
    for (const auto& wait : events_.waits) rank_.waits.push_back({since_first(wait.start), since_first(wait.end)});
    std::sort(rank_.waits.begin(), rank_.waits.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    if (events_.stream_waits.empty()) {
      std::sort(events_.unnamed_stream_waits.begin(), events_.unnamed_stream_waits.end());
      for (const auto stamp : events_.unnamed_stream_waits) rank_.stream_waits.push_back(since_first(stamp));
    }
    for (auto& step : events_.steps)
      rank_.steps.push_back({since_first(step.start), since_first(step.end), std::move(step.name)});
    std::sort(rank_.steps.begin(), rank_.steps.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  }

  KinetoEvents& events_;
  JobWriter& writer_;
  RecordedRank& rank_;
  std::int64_t origin_;
  std::map<std::pair<std::int64_t, std::int64_t>, RecordedStreamId> streams_;
  /// By the number that the trace gives a stream: its events by the number of their launch.
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, RecordedEventId>>> by_launch_;
  std::int64_t unlaunched_ = 0;
};

}  // namespace

KinetoCollective kineto_collective(const JsonFields& event, std::string_view name) {
  KinetoCollective told;
  const auto word = event.text("args.Collective name");
  told.word = collective_named(word);
  if (!told.word.kind) told.word = collective_named(name);
  told.type = event.text("args.dtype");
  told.in_elements = event.integer("args.In msg nelems").value_or(-1);
  told.out_elements = event.integer("args.Out msg nelems").value_or(-1);
  told.source = event.integer("args.Src Rank");
  told.destination = event.integer("args.Dst Rank");
  told.group_name = event.text("args.Process Group Name");
  told.group_description = event.text("args.Process Group Description");
  if (const auto* ranks = event.find("args.Process Group Ranks");  // PyTorch shortens long lists by dots
      ranks != nullptr && ranks->text.find("..") == std::string::npos)
    told.group_ranks = as_ranks(integers_in(ranks->text)).value_or(std::vector<std::int32_t>());
  told.group_size = event.integer("args.Group size").value_or(0);
  if (told.in_elements < 0 && told.type.empty()) {
    if (const auto* dimensions = event.find("args.Input Dims")) told.in_elements = elements_in(dimensions->text);
    if (const auto* type = event.find("args.Input type")) {
      const auto begin = type->text.find('"');
      const auto end = type->text.find('"', begin + 1);
      if (begin != std::string::npos && end != std::string::npos)
        told.type = type->text.substr(begin + 1, end - begin - 1);
    }
  }
  return told;
}

void join_kineto(KinetoEvents& events, JobWriter& writer) { Joining(events, writer).run(); }

}  // namespace lockstep::workloads
