#include "sim/studies/collectives/scheduled_collective.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/collectives/algorithms.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::studies {
namespace {

constexpr std::int64_t most_flows = 4'000'000, most_lanes = 1 << 28;
constexpr std::size_t most_predecessors = 60'000;  // of one operation

std::string lower(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

[[noreturn]] void refuse(const collectives::ChunkSchedule& schedule, std::string what, std::string expected) {
  throw ConfigError({{{schedule.file, 0, 0}, "", std::move(what), std::move(expected)}});
}

}  // namespace

ScheduledCollective::ScheduledCollective(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                         const std::string& axis, const collectives::ChunkSchedule& schedule)
    : cluster_(cluster), mesh_(mesh), schedule_(schedule) {
  const auto size = mesh.axis(axis).size();
  if (size != schedule.ranks) {
    refuse(schedule,
           "is an algorithm of " + std::to_string(schedule.ranks) + " ranks for groups of " + std::to_string(size),
           "groups of as many");
  }
  auto groups = mesh.groups({axis});
  Indexed<topologies::DeviceId, topologies::DeviceId> places(cluster.devices());
  for (topologies::DeviceId place = 0; place < cluster.devices(); ++place)
    places[cluster.device_at_position(place)] = place;
  for (auto& group : groups) {
    std::sort(group.members.begin(), group.members.end(), [&](topologies::RankId left, topologies::RankId right) {
      return places[mesh.device_of(left)] < places[mesh.device_of(right)];
    });
  }
  if (std::int64_t{schedule.transfers.count()} * std::ssize(groups) > most_flows) {
    refuse(schedule,
           "has " + std::to_string(schedule.transfers.size()) + " transfers on each of " +
               std::to_string(groups.size()) + " groups",
           "at most " + std::to_string(most_flows) + " in all");
  }
  for (const auto& group : groups) members_.push_back({group.members, {}});
  for (const auto id : schedule.connections.ids()) lay_line(id, groups);
  find_streams();
  find_busiest_link();
}

void ScheduledCollective::lay_line(collectives::ConnectionId id, const std::vector<topologies::Group>& groups) {
  const auto [from, to] = schedule_.connections[id];
  auto& line = lines_.emplace_back();
  line.name = "from " + std::to_string(from) + " to " + std::to_string(to);
  for (const auto& group : groups) {
    const auto sender = group.members[position_of(from)], receiver = group.members[position_of(to)];
    const auto source = mesh_.device_of(sender), target = mesh_.device_of(receiver);
    line.latency = std::max(line.latency, collectives::network::route_latency(cluster_, source, target));
    line.remote = line.remote || cluster_.unit_of(source) != cluster_.unit_of(target);
    auto links = cluster_.routes(source, target);
    std::map<topologies::LinkId, double> crossings;
    for (const auto link : links) ++crossings[link];
    for (const auto& [link, count] : crossings)
      line.seconds_for_byte = std::max(line.seconds_for_byte, count / cluster_.link(link).bandwidth.value());
    line.groups.push_back({{sender, receiver}, {{0, std::move(links)}}});
  }
  line.seconds_for_byte /= cluster_.flows_of_connection();
}

/// Connections of one rank are on streams of their own, since they carry transfers at the same time.
void ScheduledCollective::find_streams() {
  Indexed<collectives::MemberId, std::vector<bool>> taken(static_cast<std::size_t>(schedule_.ranks));
  for (const auto id : lines_.ids()) {
    auto& [from, to] = schedule_.connections[id];
    const auto is_taken = [&](collectives::MemberId rank, std::size_t stream) {
      return stream < taken[rank].size() && taken[rank][stream];
    };
    std::size_t stream = 0;
    while (is_taken(from, stream) || is_taken(to, stream)) ++stream;
    for (const auto rank : {from, to}) {
      if (taken[rank].size() <= stream) taken[rank].resize(stream + 1);
      taken[rank][stream] = true;
    }
    lines_[id].stream = static_cast<program::StreamId>(stream);
    streams_ = std::max(streams_, lines_[id].stream + 1);
  }
  if (std::int64_t{streams_} * mesh_.ranks() > most_lanes) {
    refuse(schedule_,
           "has " + std::to_string(streams_) + " connections at a rank, on " + std::to_string(mesh_.ranks()) + " ranks",
           "fewer channels, or a smaller cluster");
  }
}

void ScheduledCollective::find_busiest_link() {
  Indexed<collectives::ConnectionId, double> chunks(lines_.size(), 0);
  for (const auto& transfer : schedule_.transfers) chunks[transfer.connection] += transfer.chunks;
  Indexed<topologies::LinkId, double> carried(static_cast<std::size_t>(cluster_.links()), 0);
  for (const auto id : lines_.ids()) {
    for (const auto& group : lines_[id].groups) {
      for (const auto link : group.flows.front().links) carried[link] += chunks[id];
    }
  }
  for (const auto link : carried.ids())
    busiest_ = std::max(busiest_, carried[link] / cluster_.link(link).bandwidth.value());
  busiest_ /= cluster_.flows_of_connection();
}

Seconds ScheduledCollective::launch(const topologies::Protocol& protocol) const {
  const bool remote = std::any_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.remote; });
  const double passes = !remote ? 0 : schedule_.kind == workloads::CollectiveKind::all_reduce ? 2 : 1;
  return protocol.launch + passes * protocol.remote_launch;
}

Seconds ScheduledCollective::step(collectives::ConnectionId id, const topologies::Protocol& protocol) const {
  return lines_[id].latency + (lines_[id].remote ? protocol.remote_step : protocol.local_step);
}

ScheduledCollective::Estimate ScheduledCollective::estimate(double chunk_bytes,
                                                            const topologies::Protocol& protocol) const {
  Indexed<collectives::TransferId, Estimate> ends(schedule_.transfers.size(), Estimate{});
  Estimate last;
  for (const auto id : schedule_.transfers.ids()) {
    const auto& transfer = schedule_.transfers[id];
    auto& end = ends[id];
    for (const auto other : transfer.after) {
      end.alone = std::max(end.alone, ends[other].alone);
      end.latency = std::max(end.latency, ends[other].latency);
    }
    const auto latency = step(transfer.connection, protocol);
    const auto bytes = Seconds(lines_[transfer.connection].seconds_for_byte * chunk_bytes * transfer.chunks);
    end.alone += latency + bytes;
    end.latency += latency;
    last = {std::max(last.alone, end.alone), std::max(last.latency, end.latency)};
  }
  const auto start = launch(protocol);
  return {start + std::max(last.alone, Seconds(busiest_ * chunk_bytes)), start + last.latency};
}

std::vector<topologies::Protocol> ScheduledCollective::protocols() const {
  const auto* node = cluster_.node_spec();
  if (node == nullptr || node->protocols.empty()) return {topologies::Protocol{}};
  for (const auto& protocol : node->protocols) {
    if (lower(protocol.name) == lower(schedule_.protocol)) return {protocol};
  }
  return collectives::network::protocols_of(*node, "of a file");
}

void ScheduledCollective::open(program::Program& program) {
  if (barrier_ >= 0) return;
  first_stream_ = program.streams.count();
  for (program::StreamId stream = 0; stream < streams_; ++stream)
    program.streams.push_back("connection " + std::to_string(stream));
  barrier_ = program.communicators.count();
  const auto add = [&](const std::string& name, std::vector<collectives::ProgramGroup> groups) {
    auto& communicator = program.communicators.emplace_back();
    communicator.name = name;
    communicator.slots = 1;
    for (auto& group : groups) communicator.groups.push_back(std::move(group));
  };
  add("all ranks", std::move(members_));
  first_line_ = program.communicators.count();
  for (auto& line : lines_) add(line.name, std::move(line.groups));
}

program::ProgramOpId ScheduledCollective::add_barrier(program::Program& program, Seconds latency,
                                                      const std::vector<program::ProgramOpId>& after) const {
  program::ProgramOp op;
  op.kind = program::ProgramOp::Kind::collective;
  op.streams = {1};
  op.communicator = barrier_;
  op.phases = {collectives::Phase{latency, {0.0}}};
  op.closed_form = latency;
  op.predecessors.assign(after.begin(), after.end());
  program.ops.push_back(std::move(op));
  return program.ops.count() - 1;
}

ScheduledCollective::Added ScheduledCollective::add(program::Program& program, Bytes size) {
  open(program);
  const double chunk = static_cast<double>(size.value()) / schedule_.chunks;
  topologies::Protocol best;
  std::optional<Estimate> least;
  for (const auto& protocol : protocols()) {
    const auto other = estimate(chunk / protocol.efficiency, protocol);
    if (least && !(other.alone < least->alone)) continue;
    least = other;
    best = protocol;
  }
  Added added{add_barrier(program, launch(best), {}), 0, schedule_.name, least->alone, least->latency};
  if (!best.name.empty()) added.label += " (" + best.name + ")";
  const auto first = program.ops.count();
  std::vector<bool> awaited(schedule_.transfers.size(), false);
  const double bytes = chunk / best.efficiency / cluster_.flows_of_connection();
  for (const auto& transfer : schedule_.transfers) {
    const auto latency = step(transfer.connection, best);
    program::ProgramOp op;
    op.kind = program::ProgramOp::Kind::collective;
    op.streams = {first_stream_ + lines_[transfer.connection].stream};
    op.communicator = first_line_ + transfer.connection;
    op.phases = {collectives::Phase{latency, {bytes * transfer.chunks}}};
    op.closed_form =
        latency + Seconds(lines_[transfer.connection].seconds_for_byte * chunk / best.efficiency * transfer.chunks);
    for (const auto other : transfer.after) {
      op.predecessors.push_back(first + other);
      awaited[position_of(other)] = true;
    }
    if (transfer.after.empty()) op.predecessors = {added.first};
    program.ops.push_back(std::move(op));
  }
  std::vector<program::ProgramOpId> last;
  for (const auto id : schedule_.transfers.ids()) {
    if (!awaited[position_of(id)]) last.push_back(first + id);
    if (last.size() == most_predecessors) last = {add_barrier(program, Seconds(0), last)};
  }
  added.last = add_barrier(program, Seconds(0), last);
  return added;
}

}  // namespace lockstep::studies
