#include "workloads/traces/named_collectives.hpp"

#include <algorithm>
#include <map>

namespace lockstep::workloads {
namespace {

struct Row {
  YamlView view;
  std::string kernels;
  RecordedCollective what;
  std::int64_t matches = 0;
};

TokenCopies copies_of(const YamlView& list) {
  const auto items = list.items();
  if (items.size() == 3)
    return {items[0].integer(1, 1'000'000), items[1].integer(1, 1'000'000), items[2].integer(1, 1'000'000)};
  if (list.is_list()) list.problem("is no list of three", "experts, groups, groups of a token");
  return {};
}

std::vector<Row> rows_of(const YamlView& list, RecordedJob& job) {
  std::vector<std::string> kinds;
  for (const auto kind : all_collective_kinds) {
    if (kind != CollectiveKind::point_to_point) kinds.emplace_back(name(kind));
  }
  const std::int64_t world = std::max(job.world, 1);
  std::vector<Row> rows;
  for (const auto& view : list.items()) {
    if (!view.expect_map("a collective such as {kernels: dispatch, kind: all_to_all, ranks: 64, bytes: 235 MB}"))
      continue;
    Row row{view, "", {}};
    const auto kernels = view.require("kernels", "a part of the names of its kernels");
    if (kernels.exists()) row.kernels = kernels.text();
    if (kernels.exists() && row.kernels.empty()) kernels.problem("is empty", "a part of the names of its kernels");
    const auto kind = view.require("kind", "a collective, such as all_to_all");
    if (kind.exists()) row.what.kind = all_collective_kinds[position_of(kind.choice(kinds))];
    const auto bytes = view.require("bytes", "the larger buffer of one rank, such as 235 MB");
    if (bytes.exists()) row.what.buffer = bytes.bytes();
    const auto ranks = view["ranks"];
    const auto size = ranks.exists() ? ranks.integer(1, world) : world;
    if (const auto copies = view["copies"]; copies.exists()) row.what.copies = copies_of(copies);
    view.refuse_unknown_keys();
    row.what.group = job.groups.next_id();
    job.groups.push_back({row.kernels, "", {}, static_cast<std::int32_t>(size)});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

void name_collectives(const YamlView& list, RecordedJob& job) {
  auto rows = rows_of(list, job);
  for (auto& rank : job.ranks) {
    std::map<RecordedGroupId, std::int64_t> seen;
    for (auto& event : rank.events) {
      if (event.kind != RecordedEvent::Kind::kernel) continue;
      const auto& kernel = job.names[event.name];
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) {
        return !one.kernels.empty() && kernel.find(one.kernels) != std::string::npos;
      });
      if (row == rows.end()) continue;
      ++row->matches;
      row->what.sequence = seen[row->what.group]++;
      event.kind = RecordedEvent::Kind::collective;
      event.collective = rank.collectives.next_id();
      rank.collectives.push_back(row->what);
    }
  }
  for (const auto& row : rows) {
    if (row.matches == 0 && !row.kernels.empty())
      row.view.problem("no kernel's name contains '" + row.kernels + "'", "a part of the names of its kernels");
  }
}

void name_collectives(const std::filesystem::path& file, RecordedJob& job) {
  Problems problems;
  const auto list = YamlView::from_file(file, problems);
  problems.throw_if_any();
  name_collectives(list, job);
  problems.throw_if_any();
}

}  // namespace lockstep::workloads
