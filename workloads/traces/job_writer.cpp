#include "workloads/traces/job_writer_private.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace lockstep::workloads {
namespace {

void say_once(std::vector<std::string>& sentences, const std::string& sentence) {
  if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
}

std::string letters_of(std::string_view word) {
  std::string letters;
  for (const char c : word.substr(0, 200)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

}  // namespace

RecordedNameId JobWriter::name(std::string_view text) {
  constexpr std::size_t longest = 300;
  const auto [known, is_new] = names_.try_emplace(std::string(text.substr(0, longest)), job_.names.next_id());
  if (is_new) job_.names.push_back(known->first);
  return known->second;
}

RecordedGroupId JobWriter::group(RecordedGroup group) {
  if (const auto told = described_.find(group.name); !group.name.empty() && told != described_.end()) {
    if (group.ranks.empty()) group.ranks = told->second.ranks;
    if (group.description.empty()) group.description = told->second.description;
    if (group.size == 0) group.size = told->second.size;
  }
  if (!group.ranks.empty()) group.size = static_cast<std::int32_t>(group.ranks.size());
  if (const auto same = groups_.find({group.name, group.ranks, group.size}); same != groups_.end()) return same->second;
  const auto first = groups_.lower_bound({group.name, group.ranks, 0});  // of any size; 0 where none is told
  if (first != groups_.end() && std::get<0>(first->first) == group.name && std::get<1>(first->first) == group.ranks) {
    const auto id = first->second;
    if (group.size == 0) return id;
    if (std::get<2>(first->first) == 0) {
      groups_.erase(first);
      groups_.try_emplace({group.name, group.ranks, group.size}, id);
      job_.groups[id].size = group.size;
      return id;
    }
  }
  const auto id = job_.groups.next_id();
  groups_.try_emplace({group.name, group.ranks, group.size}, id);
  job_.groups.push_back(std::move(group));
  return id;
}

RecordedOperatorId JobWriter::called(RecordedOperator made) {
  const auto [known, is_new] =
      operators_.try_emplace({made.name, made.dims, made.type, made.values}, job_.operators.next_id());
  if (is_new) job_.operators.push_back(std::move(made));
  return known->second;
}

void JobWriter::describe(RecordedGroup group) { described_.insert_or_assign(group.name, std::move(group)); }

void JobWriter::guessed(const std::string& sentence) { say_once(job_.guessed, sentence); }
void JobWriter::missing(const std::string& sentence) { say_once(job_.missing, sentence); }

bool JobWriter::world(std::int64_t ranks) {
  if (ranks < 1 || ranks > most_recorded_ranks) return ranks == 0;
  if (job_.world != 0 && job_.world != ranks) return false;
  job_.world = static_cast<std::int32_t>(ranks);
  return true;
}

CollectiveWord collective_named(std::string_view word) {
  using Role = RecordedCollective::Role;
  const auto letters = letters_of(word);
  const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  if (has("sendrecv")) return {};  // the kernel of sends, receives and all-to-alls alike
  if (has("allreduce")) return {CollectiveKind::all_reduce};
  if (has("reducescatter")) return {CollectiveKind::reduce_scatter};
  if (has("allgather")) return {CollectiveKind::all_gather};
  if (has("alltoall")) return {CollectiveKind::all_to_all};
  if (has("broadcast")) return {CollectiveKind::broadcast};
  if (has("barrier")) return {CollectiveKind::all_reduce, Role::all, true};
  if (has("gather") || has("scatter")) return {};
  if (has("reduce")) return {CollectiveKind::reduce};
  if (has("send")) return {CollectiveKind::point_to_point, Role::sends};
  if (has("recv") || has("receive")) return {CollectiveKind::point_to_point, Role::receives};
  return {};
}

std::optional<std::int64_t> bytes_of_type(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 42> sizes{{{"float", 4},
                                                                                    {"float32", 4},
                                                                                    {"half", 2},
                                                                                    {"float16", 2},
                                                                                    {"c10half", 2},
                                                                                    {"bfloat16", 2},
                                                                                    {"c10bfloat16", 2},
                                                                                    {"double", 8},
                                                                                    {"float64", 8},
                                                                                    {"int", 4},
                                                                                    {"int32", 4},
                                                                                    {"long", 8},
                                                                                    {"longint", 8},
                                                                                    {"int64", 8},
                                                                                    {"byte", 1},
                                                                                    {"char", 1},
                                                                                    {"unsignedchar", 1},
                                                                                    {"signedchar", 1},
                                                                                    {"uint8", 1},
                                                                                    {"int8", 1},
                                                                                    {"bool", 1},
                                                                                    {"short", 2},
                                                                                    {"shortint", 2},
                                                                                    {"int16", 2},
                                                                                    {"uint16", 2},
                                                                                    {"uint32", 4},
                                                                                    {"uint64", 8},
                                                                                    {"float8e4m3fn", 1},
                                                                                    {"float8e5m2", 1},
                                                                                    {"float8e4m3fnuz", 1},
                                                                                    {"float8e5m2fnuz", 1},
                                                                                    {"c10float8e4m3fn", 1},
                                                                                    {"c10float8e5m2", 1},
                                                                                    {"complexfloat", 8},
                                                                                    {"complexdouble", 16},
                                                                                    {"tensorfloat", 4},
                                                                                    {"tensorhalf", 2},
                                                                                    {"tensorc10half", 2},
                                                                                    {"tensorc10bfloat16", 2},
                                                                                    {"tensordouble", 8},
                                                                                    {"tensorint", 4},
                                                                                    {"tensorlongint", 8}}};
  const auto letters = letters_of(type);
  for (const auto& [name, bytes] : sizes) {
    if (letters == name) return bytes;
  }
  return std::nullopt;
}

std::optional<std::int64_t> bounded_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (a < 0 || b < 0 || (b > 0 && a > most / b)) return std::nullopt;
  return a * b;
}

std::optional<std::vector<std::int32_t>> as_ranks(const std::vector<std::int64_t>& numbers) {
  std::vector<std::int32_t> ranks;
  for (const auto number : numbers) {
    if (number < 0 || number >= most_recorded_ranks) return std::nullopt;
    ranks.push_back(static_cast<std::int32_t>(number));
  }
  auto sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return std::nullopt;
  return ranks;
}

}  // namespace lockstep::workloads
