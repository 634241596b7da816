#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/collectives/collective_model.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/engine/engine.hpp"
#include "sim/scenario/scenario.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/file.hpp"
#include "tools/output/table.hpp"

namespace lockstep {
namespace {

constexpr Bytes most_bytes(1'000'000'000'000'000);  // doublings and sums stay far inside 64 bits

struct CollectiveArguments {
  std::string kind, cluster, group, bytes = "1MiB..1GiB", json;
};

struct Row {
  Bytes size;
  Seconds simulated, closed_form;
  std::optional<Seconds> book;  ///< on a torus
  std::string algorithm, bottleneck;
};

[[noreturn]] void refuse(const std::string& option, const std::string& what, const std::string& expected) {
  throw ConfigError({{{option, 0, 0}, "", what, expected}});
}

CollectiveKind kind_named(const std::string& word) {
  std::vector<std::string> names;
  for (const auto kind : all_collective_kinds) {
    if (name(kind) == word) return kind;
    names.emplace_back(name(kind));
  }
  std::string list;
  for (const auto& known : names) list += (list.empty() ? "" : ", ") + known;
  const auto hint = did_you_mean(word, names);
  refuse("KIND", "'" + word + "' is not a collective", "one of " + list + (hint.empty() ? "" : "; " + hint));
}

Bytes size_named(const std::string& text) {
  const auto parsed = parse_bytes(text);
  if (const auto* error = std::get_if<QuantityError>(&parsed)) refuse("--bytes", error->what, error->expected);
  const auto size = std::get<Bytes>(parsed);
  if (size < Bytes(1) || size > most_bytes) refuse("--bytes", "'" + text + "' is " + (size < Bytes(1) ? "zero" : "too large"), "a size from 1 B to 1 PB");
  return size;
}

/// "1MiB..1GiB": both ends and every doubling between them.
std::vector<Bytes> sizes_named(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) return {size_named(text)};
  const auto first = size_named(text.substr(0, dots));
  const auto last = size_named(text.substr(dots + 2));
  if (last < first) refuse("--bytes", "'" + text + "' ends before it starts", "a range such as 1MiB..1GiB");
  std::vector<Bytes> sizes;
  for (auto size = first; size < last; size = size * 2) sizes.push_back(size);
  sizes.push_back(last);
  return sizes;
}

/// A mesh of the group and of all the rest.
Mesh mesh_for(const Cluster& cluster, const std::string& group, CollectiveKind kind) {
  std::variant<std::vector<MeshAxis>, PlacementError> placed;
  std::string why = "as asked for";
  if (!group.empty() && std::all_of(group.begin(), group.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
    const auto count = group.size() > 7 ? 0 : std::stoi(group);
    if (count < 2 || cluster.devices() % count != 0) {
      refuse("--group", "groups of " + group + " do not make up " + std::to_string(cluster.devices()) + " chips", "a number of ranks, at least 2, that divides them");
    }
    int tried = 0;
    placed = place_by_cost(cluster, {{"group", count, std::nullopt}, {"others", cluster.devices() / count, std::nullopt}},
                           [&](const Mesh& mesh) { return CollectiveModel(cluster, mesh).cost(kind, {"group"}, Bytes(1 << 30)); }, tried);
    why = "fastest of " + std::to_string(tried) + " placements";
  } else {
    AxisRequest request{"group", 0, std::vector<std::string>{}};
    std::string part;
    for (const char c : group + ",") {
      if (c != ',') {
        part += c;
        continue;
      }
      request.place->push_back(part);
      part.clear();
    }
    placed = place_as_requested(cluster, {request, {"others", 0, std::vector<std::string>{"rest"}}});
  }
  if (const auto* error = std::get_if<PlacementError>(&placed)) refuse("--group", error->what, error->expected);
  return {cluster, std::get<0>(std::move(placed)), why};
}

/// The link that is busy longest while all groups run the collective.
std::string bottleneck(const Cluster& cluster, const Communicator& communicator, const std::vector<Phase>& phases) {
  std::vector<double> seconds(static_cast<std::size_t>(cluster.links()), 0.0);
  for (const auto& group : communicator.groups) {
    for (const auto& flow : group.flows) {
      for (const auto link : flow.links) {
        for (const auto& phase : phases) {
          seconds[static_cast<std::size_t>(link)] += phase.slot_bytes[static_cast<std::size_t>(flow.slot)] / cluster.link(link).bandwidth.value();
        }
      }
    }
  }
  if (seconds.empty()) return "none";
  const auto busiest = std::max_element(seconds.begin(), seconds.end());
  const auto like_it = std::count_if(seconds.begin(), seconds.end(), [&](double s) { return s >= *busiest * (1 - 1e-12); });
  return cluster.link_name(static_cast<LinkId>(busiest - seconds.begin())) + (like_it > 1 ? " and " + std::to_string(like_it - 1) + " alike" : "");
}

std::optional<Seconds> book_form(const Cluster& cluster, const Mesh& mesh, CollectiveKind kind, Bytes size) {
  const auto dimensions = mesh.dimensions({"group"});
  if (!cluster.unit_is_torus() || members(dimensions) != mesh.axis("group").size()) return std::nullopt;
  return book_cost(kind, dimensions, size);
}

std::vector<Row> measure(const Cluster& cluster, const Mesh& mesh, CollectiveKind kind, const std::vector<Bytes>& sizes, spdlog::logger& log) {
  CollectiveModel collectives(cluster, mesh);
  Program program;
  program.streams = {"compute", "group"};
  program.stage_of_rank.assign(static_cast<std::size_t>(mesh.ranks()), 0);
  program.slowdown_of_rank.assign(static_cast<std::size_t>(mesh.ranks()), 1.0);
  for (LinkId link = 0; link < cluster.links(); ++link) program.links.push_back(cluster.link(link).bandwidth);
  std::map<std::string, std::int32_t> communicators;  // by algorithm
  for (const auto size : sizes) {  // one after the other, all groups at once
    ProgramOp op;
    op.kind = ProgramOp::Kind::collective;
    op.streams = {1};
    auto lowered = collectives.lower(kind, {"group"}, size);
    const auto [known, is_new] = communicators.try_emplace(lowered.layout.second, static_cast<std::int32_t>(program.communicators.size()));
    if (is_new) program.communicators.push_back(collectives.communicator(lowered.layout));
    op.communicator = known->second;
    op.phases = std::move(lowered.phases);
    op.closed_form = lowered.closed_form;
    if (!program.ops.empty()) op.predecessors = {static_cast<std::int32_t>(program.ops.size()) - 1};
    program.ops.push_back(std::move(op));
  }
  check(program);
  const auto result = run(program, {EngineKind::simgrid, {}}, log);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto span = result.timeline.span(static_cast<std::int32_t>(i), 0);
    const auto& op = program.ops[i];
    rows.push_back({sizes[i], span.end - span.start, op.closed_form, book_form(cluster, mesh, kind, sizes[i]), collectives.algorithm(kind, {"group"}, sizes[i]),
                    bottleneck(cluster, program.communicators[static_cast<std::size_t>(op.communicator)], op.phases)});
  }
  return rows;
}

void run_collective(const CollectiveArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") check_file_place(arguments.json);
  const auto kind = kind_named(arguments.kind);
  const auto sizes = sizes_named(arguments.bytes);
  Problems problems;
  const auto spec = parse_cluster(arguments.cluster, {"--cluster", 0, 0}, "", problems);
  problems.throw_if_any();
  const auto cluster = build_cluster(spec);
  const auto mesh = mesh_for(cluster, arguments.group, kind);
  const int group = mesh.axis("group").size();
  if (group < 2) refuse("--group", "'" + arguments.group + "' is a group of one chip", "a group of at least 2");
  const auto rows = measure(cluster, mesh, kind, sizes, log);

  nlohmann::ordered_json json = {{"kind", arguments.kind}, {"cluster", arguments.cluster}, {"group_size", group}, {"algorithm", rows.back().algorithm}, {"rows", nlohmann::ordered_json::array()}};
  Table table({"bytes", "time", "algbw", "busbw", "closed form", "book form", "algorithm"});
  for (const auto& row : rows) {
    const auto algbw = row.size / row.simulated;
    const auto busbw = algbw * bus_factor(kind, group);
    table.add({std::to_string(row.size.value()), format(row.simulated), format(algbw), format(busbw), format(row.closed_form), row.book ? format(*row.book) : "-", row.algorithm});
    json["rows"].push_back({{"bytes", row.size.value()}, {"time_s", row.simulated.value()}, {"algbw_Bps", algbw.value()}, {"busbw_Bps", busbw.value()},
                            {"algorithm", row.algorithm}, {"bottleneck", row.bottleneck}, {"closed_form_s", row.closed_form.value()}, {"book_form_s", row.book ? nlohmann::ordered_json(row.book->value()) : nlohmann::ordered_json()}});
  }
  if (!arguments.json.empty() && arguments.json != "-") write_file(arguments.json, json.dump(2) + "\n");
  if (arguments.json == "-") {
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::printf("%s on groups of %d of %s: %s\nbottleneck link: %s\n%s", arguments.kind.c_str(), group, arguments.cluster.c_str(), rows.back().algorithm.c_str(),
              rows.back().bottleneck.c_str(), table.to_string().c_str());
}

}  // namespace

void add_collective(CLI::App& app, spdlog::logger& log) {
  auto* command = app.add_subcommand("collective", "time one collective over message sizes, as nccl-tests prints it");
  auto arguments = std::make_shared<CollectiveArguments>();
  command->add_option("kind", arguments->kind, "all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, reduce, point_to_point")->required();
  command->add_option("--cluster", arguments->cluster, "CHIP:SHAPE such as tpu-v5p:16x20x28, or NODE:NODES such as h100:64")->required();
  command->add_option("--group", arguments->group, "where the groups lie (x, or x,y, or x/2,y/2), or how many ranks each has")->required();
  command->add_option("--bytes", arguments->bytes, "size of the whole array, or a range of doublings")->capture_default_str();
  command->add_option("--json", arguments->json, "write the table as JSON to a file, or to stdout with -");
  command->footer("Examples:\n  lockstep collective all_gather --cluster tpu-v5p:4x4x4 --group x --bytes 1MiB..1GiB\n"
                  "  lockstep collective all_reduce --cluster tpu-v5p:16x20x28 --group x/2,y/2 --bytes 64MiB\n"
                  "  lockstep collective all_to_all --cluster tpu-v5e:16x16 --group 64 --bytes 16MiB --json -");
  command->callback([arguments, &log] { run_collective(*arguments, log); });
}

}  // namespace lockstep
