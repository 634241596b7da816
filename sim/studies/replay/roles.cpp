#include "sim/studies/replay/roles.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

namespace lockstep::replay {
namespace {

void append(std::string& key, std::int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void append(std::string& key, Seconds time) { append(key, std::bit_cast<std::int64_t>(time.value())); }

void append(std::string& key, const workloads::RecordedCollective& what) {
  append(key, what.kind ? static_cast<std::int64_t>(*what.kind) : -1);
  append(key, static_cast<std::int64_t>(what.role));  // of its first member: which way a transfer goes
  append(key, what.buffer.value_or(Bytes(-1)).value());
  append(key, what.full_size.value_or(Bytes(-1)).value());
  append(key, (what.exchange ? 1 : 0) + (what.buffer_is_shard ? 2 : 0));
  for (const auto count : {what.copies.each, what.copies.groups, what.copies.groups_per_token}) append(key, count);
}

/// All that tells one rank's work from another's, but whom it communicates with.
std::string text_of(const RankWork& work) {
  std::string key;
  for (const auto& stream : work.streams) key += stream + '\n';
  for (const auto& operation : work.operations) {
    append(key, static_cast<std::int64_t>(operation.kind) * 2 + (operation.computes ? 1 : 0));
    append(key, operation.order);
    append(key, operation.pause);
    append(key, operation.duration);
    append(key, operation.priority);
    append(key, std::ssize(operation.streams));
    for (const auto stream : operation.streams) append(key, stream);
    append(key, std::ssize(operation.after));
    for (const auto before : operation.after) append(key, before);
  }
  return key;
}

/// Numbers texts in the order in which they come.
class Numbering {
 public:
  RoleId number(std::string text) {
    return numbers_.try_emplace(std::move(text), static_cast<RoleId>(numbers_.size())).first->second;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::string, RoleId> numbers_;
};

std::vector<RolePart> parts_of(const MatchedCollective& collective, const std::vector<RoleId>& roles) {
  std::vector<RolePart> parts;
  for (const auto& part : collective.parts) parts.push_back({roles[position_of(part.rank)], part.operation});
  std::sort(parts.begin(), parts.end());
  return parts;
}

/// Roles by what they were and what each of their collectives joins.
std::vector<RoleId> refined(const std::vector<RoleId>& roles, const std::vector<MatchedCollective>& collectives,
                            std::size_t& count) {
  std::vector<std::string> keys(roles.size());
  Numbering joined;
  for (std::size_t rank = 0; rank < roles.size(); ++rank) append(keys[rank], roles[rank]);
  for (const auto& collective : collectives) {
    std::string key;
    append(key, collective.what);
    for (const auto& part : parts_of(collective, roles)) {
      append(key, part.role);
      append(key, part.operation);
    }
    for (const auto& part : collective.parts) {
      append(keys[position_of(part.rank)], part.operation);
      if (collective.what.kind == workloads::CollectiveKind::point_to_point)  // which end it is
        append(keys[position_of(part.rank)], part.rank == collective.parts.front().rank ? 1 : 0);
      append(keys[position_of(part.rank)], joined.number(key));
    }
  }
  Numbering numbering;
  std::vector<RoleId> made;
  for (auto& key : keys) made.push_back(numbering.number(std::move(key)));
  count = numbering.size();
  return made;
}

/// Roles with their first ranks and their collectives.
Roles completed(Roles roles, const std::vector<MatchedCollective>& collectives) {
  for (std::int32_t rank = 0; std::cmp_less(rank, roles.role_of_rank.size()); ++rank) {
    if (roles.role_of_rank[position_of(rank)] == roles.representative.count()) roles.representative.push_back(rank);
  }
  std::map<std::vector<RolePart>, std::size_t> known;
  for (std::int32_t i = 0; std::cmp_less(i, collectives.size()); ++i) {
    auto parts = parts_of(collectives[position_of(i)], roles.role_of_rank);
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    const auto [same, is_new] = known.try_emplace(parts, roles.collectives.size());
    if (is_new) roles.collectives.push_back({std::move(parts), {}});
    roles.collectives[same->second].matched.push_back(i);
  }
  return roles;
}

}  // namespace

Roles roles_of(const std::vector<RankWork>& works, const std::vector<MatchedCollective>& collectives) {
  Roles roles;
  Numbering numbering;
  for (const auto& work : works) roles.role_of_rank.push_back(numbering.number(text_of(work)));
  for (std::size_t before = 0, count = numbering.size(); before < count;) {
    before = count;
    roles.role_of_rank = refined(roles.role_of_rank, collectives, count);
  }
  return completed(std::move(roles), collectives);
}

Roles roles_apart(const std::vector<RankWork>& works, const std::vector<MatchedCollective>& collectives) {
  Roles roles;
  for (RoleId rank = 0; std::cmp_less(rank, works.size()); ++rank) roles.role_of_rank.push_back(rank);
  return completed(std::move(roles), collectives);
}

}  // namespace lockstep::replay
