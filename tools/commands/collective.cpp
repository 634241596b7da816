#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/designed.hpp"
#include "sim/collectives/files/read_collective.hpp"
#include "sim/collectives/nccl_size.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/studies/collectives/collective_study.hpp"
#include "tools/commands/collective_arguments.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/file_content.hpp"
#include "tools/commands/interrupt.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/link_load_text.hpp"
#include "tools/output/studies/designed_text.hpp"
#include "tools/report/collective_report.hpp"

namespace lockstep::commands {
namespace {

using Json = nlohmann::ordered_json;

struct CollectiveArguments {
  std::string kind, cluster, group, bytes = "1MiB..1GiB", algorithm, json, trace, out, msccl;
  bool all = false;
};

/// The measured collectives, and the data with which they are named and rated.
struct Measurement {
  workloads::CollectiveKind kind;
  const topologies::Cluster& cluster;
  const topologies::Mesh& mesh;
  studies::CollectiveStudy study;
  [[nodiscard]] int group() const { return mesh.axis("group").size(); }
  [[nodiscard]] Json over_bound(const studies::MeasuredCollective& row) const {
    const auto least = bound(row.size);
    return least ? Json(row.time / *least) : Json();
  }
  [[nodiscard]] output::DesignedOn designed_on() const { return {cluster, kind, group()}; }
  [[nodiscard]] bool on_torus() const { return study.chosen.back().book.has_value(); }
  /// The time that no algorithm goes below.
  [[nodiscard]] std::optional<Seconds> bound(Bytes size) const {
    if (!study.bound) return std::nullopt;
    return study.bound->time(collectives::full_size_of(kind, size, group()));
  }
};

/// Pairs between units that would be looked at one by one: on hashed networks, and for groups with unequal parts in
/// units.
void check_pairs(const topologies::Cluster& cluster, const topologies::Mesh& mesh) {
  const auto* fabric = cluster.fabric_spec();
  if (fabric == nullptr) return;
  const auto groups = collectives::GroupNetwork(cluster, mesh, {"group"}).structure();
  const bool hashed =
      fabric->routing == topologies::FabricRouting::ecmp && !std::holds_alternative<topologies::Crossbar>(fabric->kind);
  const std::int64_t ends = groups.local == 0 ? groups.members : groups.units;
  const std::int64_t pairs = ends * (ends - 1) * groups.groups * std::max(groups.local, 1);
  const auto most =
      groups.local == 0 ? collectives::network::most_pairs_in_all : collectives::network::most_counted_pairs;
  if ((!hashed && groups.local > 0) || pairs <= most) return;
  refuse("--group",
         "an all_to_all has " + output::with_separators(static_cast<double>(pairs)) +
             " pairs of members in different nodes, " +
             (hashed ? "each with a hashed route of its own" : "and its groups have unequal parts in them"),
         "at most " + output::with_separators(static_cast<double>(most)) +
             ", or a sprayed network and groups with as many members in each node");
}

/// A collective is designed for groups and networks of limited size, which is counted before anything is made.
void check_designed(const topologies::Cluster& cluster, const topologies::Mesh& mesh, workloads::CollectiveKind kind) {
  if (!collectives::is_designed(kind)) {
    refuse("--algorithm", "no " + std::string(name(kind)) + " is designed",
           "an all_gather, a reduce_scatter or an all_reduce, or another algorithm");
  }
  if (const auto why = collectives::design::why_not_designed(mesh.axis("group").size(), cluster.links()))
    refuse("--group", why->first, why->second);
}

void check_algorithm(const topologies::Cluster& cluster, const topologies::Mesh& mesh, workloads::CollectiveKind kind,
                     const std::string& wanted) {
  if (wanted == collectives::designed_name) return check_designed(cluster, mesh, kind);
  if (wanted.empty() && kind != workloads::CollectiveKind::all_to_all)
    return;  // of the other kinds one serves any group
  if (kind == workloads::CollectiveKind::all_to_all) check_pairs(cluster, mesh);
  const auto serving = collectives::CollectiveModel(cluster, mesh).algorithms(kind, {"group"});
  if (serving.empty() && !cluster.unit_is_torus()) {
    refuse("--group",
           std::string(name(kind)) + " on groups of " + std::to_string(mesh.axis("group").size()) +
               " has too many pairs of members to lay out",
           "smaller groups");
  }
  if (wanted.empty()) return;
  if (std::find(serving.begin(), serving.end(), wanted) != serving.end()) return;
  auto known = serving;
  if (collectives::is_designed(kind) &&
      !collectives::design::why_not_designed(mesh.axis("group").size(), cluster.links()))
    known.emplace_back(collectives::designed_name);
  std::string list;
  for (const auto& algorithm : known) list += (list.empty() ? "one of " : ", ") + algorithm;
  const auto groups = collectives::GroupNetwork(cluster, mesh, {"group"}).structure();
  const std::int64_t pairs = std::int64_t{groups.groups} * groups.members * (groups.members - 1);
  const bool too_many = kind == workloads::CollectiveKind::all_to_all && wanted.starts_with("direct") &&
                        groups.units > 1 && pairs > collectives::network::most_pairs_in_all;
  refuse("--algorithm",
         "'" + wanted + "' cannot run " + std::string(name(kind)) +
             (too_many ? " on groups with " + output::with_separators(static_cast<double>(pairs)) +
                             " pairs of members, whose routes follow no rule on this network"
                       : " on such groups"),
         list);
}

bool algorithm_is_file(const std::string& wanted) {
  const auto extension = std::filesystem::path(wanted).extension();
  return extension == ".xml" || extension == ".yaml" || extension == ".yml";
}

/// The algorithm from a file, if that is what --algorithm names; of this kind and for such groups.
std::optional<collectives::ChunkSchedule> algorithm_from_file(const std::string& wanted,
                                                              workloads::CollectiveKind kind) {
  if (!algorithm_is_file(wanted)) return std::nullopt;
  auto schedule = collectives::read_collective(wanted);
  if (schedule.kind != kind) {
    throw ConfigError({{{wanted, 0, 0},
                        "",
                        "is an algorithm for " + std::string(name(schedule.kind)),
                        "one for " + std::string(name(kind))}});
  }
  return schedule;
}

Json row_json(const Measurement& measurement, const studies::MeasuredCollective& row) {
  const auto algbw = row.size / row.time;
  const auto bound = measurement.bound(row.size);
  return {{"bytes", row.size.value()},
          {"time_s", row.time.value()},
          {"bound_s", bound ? Json(bound->value()) : Json()},
          {"over_bound", measurement.over_bound(row)},
          {"algbw_bytes_per_s", algbw.value()},
          {"busbw_bytes_per_s", (algbw * collectives::bus_factor(measurement.kind, measurement.group())).value()},
          {"algorithm", row.algorithm},
          {"bottleneck", bottleneck(measurement.cluster, row)},
          {"closed_form_s", row.closed_form.value()},
          {"book_form_s", row.book ? Json(row.book->value()) : Json()}};
}

Json json_of(const Measurement& measurement, const CollectiveArguments& arguments) {
  const auto& study = measurement.study;
  Json json = {{"kind", arguments.kind},
               {"cluster", arguments.cluster},
               {"group_size", measurement.group()},
               {"groups", measurement.mesh.ranks() / measurement.group()},
               {"algorithm", study.chosen.back().algorithm},
               {"bound", study.bound ? Json{{"links", study.bound->links},
                                            {"capacity_bytes_per_s", study.bound->capacity.value()},
                                            {"share_of_array", study.bound->share}}
                                     : Json()},
               {"rows", Json::array()}};
  if (study.designed) json["designed"] = output::designed_json(measurement.designed_on(), study);
  for (const auto& row : study.chosen) json["rows"].push_back(row_json(measurement, row));
  if (arguments.all || !study.others.empty()) json["others"] = Json::array();
  for (const auto& row : study.others) json["others"].push_back(row_json(measurement, row));
  return json;
}

constexpr double most_over_bound = 1000;

/// A bound of bytes alone says nothing about a message that takes the time of its latencies.
std::string over_bound_text(double over) { return over < most_over_bound ? output::fixed(over, 2) : "> 1000"; }

/// The table as nccl-tests prints it. In a torus all sizes have the same algorithm and bottleneck, which are printed
/// above the table.
std::string table_of(const Measurement& measurement, const std::vector<studies::MeasuredCollective>& rows) {
  const bool torus = measurement.on_torus();
  std::vector<std::string> header = {"bytes", "time", "bound", "over bound", "algbw", "busbw", "closed form"};
  if (torus) header.emplace_back("book form");
  header.emplace_back("algorithm");
  if (!torus) header.emplace_back("bottleneck link");
  output::Table table(header);
  for (const auto& row : rows) {
    const auto algbw = row.size / row.time;
    const auto bound = measurement.bound(row.size);
    std::vector<std::string> cells = {std::to_string(row.size.value()),
                                      format(row.time),
                                      bound ? format(*bound) : "none",
                                      bound ? over_bound_text(row.time / *bound) : "none",
                                      format(algbw),
                                      format(algbw * collectives::bus_factor(measurement.kind, measurement.group())),
                                      format(row.closed_form)};
    if (torus) cells.push_back(format(*row.book));
    cells.push_back(row.algorithm);
    if (!torus) cells.push_back(bottleneck(measurement.cluster, row));
    table.add(cells);
  }
  return table.to_string();
}

std::string text_of(const Measurement& measurement, const CollectiveArguments& arguments) {
  const auto& study = measurement.study;
  const auto& last = study.chosen.back();
  std::string text =
      arguments.kind + " on groups of " + std::to_string(measurement.group()) + " of " + arguments.cluster;
  if (measurement.on_torus()) {
    text += ": " + last.algorithm + "\nbottleneck link: " + bottleneck(measurement.cluster, last) + "\n";
  } else {
    std::string shapes;
    for (const auto& shape : measurement.mesh.shapes("group")) shapes += (shapes.empty() ? "" : ", ") + shape;
    const int groups = measurement.mesh.ranks() / measurement.group();
    text += ": " + shapes + (groups > 1 ? "; all " + std::to_string(groups) + " groups at once" : "") + "\n";
  }
  if (study.bound) text += "bound, whatever the algorithm: " + study.bound->links + "\n";
  text += table_of(measurement, study.chosen);
  if (std::any_of(study.chosen.begin(), study.chosen.end(), [&](const studies::MeasuredCollective& row) {
        const auto bound = measurement.bound(row.size);
        return bound && !(row.time / *bound < most_over_bound);
      }))
    text += "over bound > 1000: so few bytes take the time of their latencies, which the bound does not count\n";
  const bool asked_for_others = arguments.all || study.designed || algorithm_is_file(arguments.algorithm);
  if (asked_for_others && !study.others.empty())
    text += "\nevery algorithm that can serve:\n" + table_of(measurement, study.others);
  if (arguments.all && study.others.empty()) text += "\nno other algorithm can serve\n";
  if (study.designed) text += "\n" + lines_of(output::designed_reasons(measurement.designed_on(), study));
  if (!arguments.trace.empty()) {
    text += "\nbusiest links over the " + std::to_string(last.size.value()) + " bytes:\n" +
            output::link_load_table(measurement.cluster, last.loads, 5);
  }
  return text;
}

/// Link loads of every size, as CSV or, by the file's name, as JSON.
std::string trace_of(const Measurement& measurement, const std::string& file) {
  const auto& rows = measurement.study.chosen;
  if (file.ends_with(".json")) {
    Json json = Json::array();
    for (const auto& row : rows) {
      json.push_back({{"bytes", row.size.value()},
                      {"algorithm", row.algorithm},
                      {"time_s", row.time.value()},
                      {"links", output::link_load_json(measurement.cluster, row.loads)}});
    }
    return output::json_document(Json{{"sizes", json}});
  }
  std::string text = std::string("message_bytes,algorithm,") + output::link_load_csv_header + "\n";
  for (const auto& row : rows)
    text += output::link_load_csv(measurement.cluster, row.loads,
                                  std::to_string(row.size.value()) + ",\"" + row.algorithm + "\",");
  return text;
}

/// `typed`: the whole command line.
void time_collective(const CollectiveArguments& arguments, const std::string& typed, workloads::CollectiveKind kind,
                     const std::vector<Bytes>& sizes, const CollectiveMachine& machine, spdlog::logger& log) {
  const auto& cluster = machine.cluster;
  const auto mesh = mesh_of_groups(cluster, arguments.group, kind);
  if (mesh.axis("group").size() < 2)
    refuse("--group", "'" + arguments.group + "' is a group of one chip", "a group of at least 2");
  if (sizes.back() >
      collectives::most_full_size / collectives::full_size_of(kind, Bytes(1), mesh.axis("group").size()).value()) {
    refuse("--bytes", "'" + arguments.bytes + "' of each rank makes more than " + format(collectives::most_full_size),
           "a smaller size, or smaller groups");
  }
  const auto from_file = algorithm_from_file(arguments.algorithm, kind);
  if (!from_file) check_algorithm(cluster, mesh, kind, arguments.algorithm);
  std::optional<EndAtInterrupt> interrupt;
  if (arguments.algorithm == collectives::designed_name)
    interrupt.emplace("lockstep: stopped before the collective was designed and timed\n");
  const Measurement measurement{
      kind, cluster, mesh,
      studies::study_collective(
          cluster, mesh, machine.rules, "group", kind, sizes, arguments.algorithm,
          arguments.all || from_file || arguments.algorithm == collectives::designed_name || !arguments.out.empty(),
          machine.perturbations, log, from_file ? &*from_file : nullptr)};
  interrupt.reset();
  const auto json = output::json_document(json_of(measurement, arguments));
  output::Answer answer;
  if (!arguments.trace.empty()) answer.write(arguments.trace, trace_of(measurement, arguments.trace));
  if (!arguments.msccl.empty()) answer.write(arguments.msccl, measurement.study.designed->program);
  answer.write(arguments.json, json);
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "collective.json", json);
    if (measurement.study.designed)
      files.write(std::filesystem::path(arguments.out) / "links.svg",
                  output::designed_picture(measurement.designed_on(), measurement.study));
    const report::TimedCollective timed{kind, cluster, arguments.cluster, measurement.group(),
                                        mesh.ranks() / measurement.group()};
    left_out =
        report::write_report(files, arguments.out,
                             report::collective_report(timed, measurement.study,
                                                       {typed, machine.is_file ? content_of(arguments.cluster) : ""}));
    answer.finish(files, arguments.out);
  }
  if (arguments.json == "-") return output::print(json);
  answer.print(text_of(measurement, arguments) + left_out);
}

void run_collective(const CollectiveArguments& arguments, const std::string& typed, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.trace);
  output::check_file_place(arguments.msccl);
  if (!arguments.msccl.empty() && arguments.algorithm != collectives::designed_name)
    refuse("--msccl", "writes a designed collective, and none is asked for", "--algorithm designed");
  output::check_folder_place(arguments.out);
  const auto kind = kind_named(arguments.kind);
  const auto sizes = sizes_named(arguments.bytes);
  const auto machine = machine_named(arguments.cluster);
  try {
    time_collective(arguments, typed, kind, sizes, machine, log);
  } catch (const topologies::NoRoute& error) {
    throw ConfigError({{machine.where, machine.key, error.what(), "links that can be avoided"}});
  }
}

}  // namespace

void add_collective(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("collective", "time one collective over message sizes, as nccl-tests prints it");
  auto arguments = std::make_shared<CollectiveArguments>();
  command
      .option("kind", arguments->kind,
              "all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, reduce, point_to_point")
      .required();
  command
      .option(
          "--cluster", arguments->cluster,
          "CHIP:SHAPE such as tpu-v5p:16x20x28 (2x16x20x28: two pods), NODE:NODES such as h100:64, or a scenario file")
      .required();
  command
      .option("--group", arguments->group,
              "where the groups lie (x, or x+y, or x/2+y/2, or gpu+node), or how many ranks each has")
      .required();
  command
      .option("--bytes", arguments->bytes,
              "size as nccl-tests print it, the larger buffer of one rank (what it sends in an all_to_all, the whole "
              "array in an all_gather), or a range of doublings")
      .shows_default();
  command.option(
      "--algorithm", arguments->algorithm,
      "use this algorithm instead of the cheapest, or `designed`, trees made for these very links, or one from a file: "
      "MSCCL's .xml, or .yaml of steps; the last two are checked, and timed beside all that can serve");
  command.option("--msccl", arguments->msccl,
                 "write the designed collective of the largest size to a file, as MSCCL's XML");
  command.flag("--all", arguments->all, "also time every other algorithm that can serve");
  command.option("--json", arguments->json, "write the table as JSON to a file, or to stdout with -");
  command.option("--out", arguments->out,
                 "folder for report.html and collective.json, with every algorithm that can serve, and links.svg of a "
                 "designed one");
  command.option("--trace", arguments->trace,
                 "write what every link carried to a file, CSV or .json, and show the busiest");
  command.footer(
      "Examples:\n  lockstep collective all_gather --cluster tpu-v5p:4x4x4 --group x --bytes 1MiB..1GiB\n"
      "  lockstep collective all_reduce --cluster h100:64 --group gpu+node --bytes 1KiB..1GiB --all\n"
      "  lockstep collective all_to_all --cluster gb200-nvl72:4 --group node --bytes 256MiB --trace links.csv\n"
      "  lockstep collective all_reduce --cluster tpu-v5p:2x16x20x28 --group pod+x --bytes 64MiB --json -");
  command.callback([arguments, typed = command.typed(), &log] { run_collective(*arguments, *typed, log); });
}

}  // namespace lockstep::commands
