// The XML of MSCCL's algorithms. Names of elements, attributes and step types are those that its runtime reads.
#include <algorithm>
#include <array>
#include <charconv>

#include "sim/collectives/files/msccl_program.hpp"
#include "sim/collectives/files/promise.hpp"
#include "sim/core/xml_tree.hpp"

namespace lockstep::collectives::msccl {
namespace {

using Kind = workloads::CollectiveKind;

constexpr std::int32_t most_gpus = 65'536, most_of_a_buffer = 1 << 24, most_channels = 1024;

constexpr std::array<Action, 9> actions{{{"s", false, false, false, true},
                                         {"r", true, false, true, false},
                                         {"rcs", true, false, true, true},
                                         {"rrc", true, true, true, false},
                                         {"rrs", true, true, false, true},
                                         {"rrcs", true, true, true, true},
                                         {"cpy", false, false, true, false},
                                         {"re", false, true, true, false},
                                         {"nop", false, false, false, false}}};
constexpr std::array<std::pair<std::string_view, Kind>, 9> kinds{{{"allreduce", Kind::all_reduce},
                                                                  {"allgather", Kind::all_gather},
                                                                  {"reducescatter", Kind::reduce_scatter},
                                                                  {"reduce_scatter", Kind::reduce_scatter},
                                                                  {"alltoall", Kind::all_to_all},
                                                                  {"broadcast", Kind::broadcast},
                                                                  {"reduce", Kind::reduce},
                                                                  {"all_reduce", Kind::all_reduce},
                                                                  {"all_gather", Kind::all_gather}}};

constexpr std::array<std::string_view, 3> protocols{"Simple", "LL", "LL128"};  // of NCCL, which MSCCL takes over

class Reader {
 public:
  Reader(const std::string& file, Problems& problems) : problems_(problems) { algorithm_.file = file; }

  std::optional<Algorithm> read(const XmlElement& root) {
    algorithm_.line = root.line;
    algorithm_.column = root.column;
    algorithm_.name = root.attribute("name");
    if (algorithm_.name.empty()) algorithm_.name = "from a file";
    algorithm_.protocol = root.attribute("proto");
    if (!algorithm_.protocol.empty() &&
        std::find(protocols.begin(), protocols.end(), algorithm_.protocol) == protocols.end())
      problem(root, "proto", "'" + algorithm_.protocol + "' is no protocol", "one of Simple, LL, LL128");
    static_cast<void>(number(root, "nchannels", 1, most_channels, 1));
    algorithm_.in_place = number(root, "inplace", 0, 1, 0) == 1;
    read_kind(root);
    const auto gpus = number(root, "ngpus", 2, most_gpus);
    const auto elements = std::count_if(root.children.begin(), root.children.end(),
                                        [](const XmlElement& child) { return child.name == "gpu"; });
    if (problems_.empty() && elements != gpus) {
      problem(root, "ngpus", "is " + std::to_string(gpus) + " of " + std::to_string(elements) + " gpu elements",
              "one gpu element for each");
    }
    if (!problems_.empty()) return std::nullopt;
    algorithm_.gpus.resize(static_cast<std::size_t>(gpus));
    std::vector<bool> known(algorithm_.gpus.size());
    for (const auto& child : root.children) {
      if (child.name != "gpu") continue;
      const auto before = problems_.size();
      const auto id = static_cast<std::size_t>(number(child, "id", 0, gpus - 1));
      if (problems_.size() > before) continue;  // it may be any
      if (known[id]) {
        problem(child, "id", "gpu " + std::to_string(id) + " appears twice", "each gpu once");
        continue;
      }
      known[id] = true;
      read_gpu(child, algorithm_.gpus[id]);
      if (problems_.size() > most_problems) return std::nullopt;
    }
    if (problems_.empty()) read_chunks(root);
    if (problems_.empty()) check_steps();
    return problems_.empty() ? std::optional(std::move(algorithm_)) : std::nullopt;
  }

 private:
  static constexpr std::size_t most_problems = 20;

  void problem(const XmlElement& at, std::string key, std::string what, std::string expected) {
    problems_.add({{algorithm_.file, at.line, at.column}, std::move(key), std::move(what), std::move(expected)});
  }
  void problem(const Step& at, std::string key, std::string what, std::string expected) {
    if (problems_.size() <= most_problems)
      problems_.add({algorithm_.where(at), std::move(key), std::move(what), std::move(expected)});
  }

  /// A whole number, which may be absent where there is an answer for that.
  std::int32_t number(const XmlElement& element, const char* key, std::int32_t least, std::int32_t most,
                      std::optional<std::int32_t> absent = std::nullopt) {
    const auto text = element.attribute(key);
    if (text.empty() && absent) return *absent;
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() && error == std::errc() && end == text.data() + text.size() && least <= value && value <= most)
      return value;
    problem(element, key, text.empty() ? "missing" : "'" + std::string(text) + "' is no such number",
            "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::max(least, 0);
  }

  /// Elements of a list are numbered one after the other.
  void check_order(const XmlElement& element, const char* key, std::size_t next) {
    const auto before = problems_.size();
    const auto found = number(element, key, 0, most_of_a_buffer);
    if (problems_.size() == before && std::cmp_not_equal(found, next))
      problem(element, key, "is " + std::to_string(found), std::to_string(next) + ", the next in order");
  }

  void read_kind(const XmlElement& root) {
    const auto coll = root.attribute("coll");
    const auto* const known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == coll; });
    if (known != kinds.end()) {
      algorithm_.kind = known->second;
    } else {
      problem(root, "coll", coll.empty() ? "missing" : "'" + std::string(coll) + "' is not a collective",
              "one of allreduce, allgather, reducescatter, alltoall, broadcast, reduce");
    }
  }

  void read_gpu(const XmlElement& element, Gpu& gpu) {
    gpu.input = number(element, "i_chunks", 0, most_of_a_buffer);
    gpu.output = number(element, "o_chunks", 0, most_of_a_buffer);
    gpu.scratch = number(element, "s_chunks", 0, most_of_a_buffer);
    chunks_of_all_ += std::int64_t{gpu.input} + gpu.output + gpu.scratch;
    if (chunks_of_all_ > 2 * std::int64_t{most_of_a_buffer})
      problem(element, "", "the buffers of the gpus so far have too many chunks",
              "at most " + std::to_string(2 * most_of_a_buffer));
    for (const auto& child : element.children) {
      if (child.name != "tb") continue;
      check_order(child, "id", gpu.blocks.size());
      read_block(child, gpu.blocks.emplace_back());
    }
  }

  void read_block(const XmlElement& element, ThreadBlock& block) {
    const auto last = static_cast<std::int32_t>(algorithm_.gpus.size()) - 1;
    block.send = number(element, "send", -1, last);
    block.receive = number(element, "recv", -1, last);
    block.channel = number(element, "chan", 0, most_channels - 1);
    for (const auto& child : element.children) {
      if (child.name != "step") continue;
      check_order(child, "s", block.steps.size());
      block.steps.push_back(read_step(child));
    }
  }

  Step read_step(const XmlElement& element) {
    Step step;
    step.line = element.line;
    step.column = element.column;
    const auto type = element.attribute("type");
    const auto* const known =
        std::find_if(actions.begin(), actions.end(), [&](const Action& action) { return action.type == type; });
    if (known == actions.end()) {
      problem(element, "type", type.empty() ? "missing" : "'" + std::string(type) + "' is no step",
              "one of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop");
      step.action = &actions.back();
      return step;
    }
    step.action = &*known;
    step.source = chunks(element, "srcbuf", "srcoff");
    step.target = chunks(element, "dstbuf", "dstoff");
    step.count = number(element, "cnt", 1, most_of_a_buffer, 1);
    step.after_block = number(element, "depid", -1, most_of_a_buffer, -1);
    step.after_step = number(element, "deps", -1, most_of_a_buffer, -1);
    return step;
  }

  Chunks chunks(const XmlElement& element, const char* buffer_key, const char* offset_key) {
    Chunks chunks;
    const auto word = element.attribute(buffer_key);
    if (word == "o") {
      chunks.buffer = Buffer::output;
    } else if (word == "s") {
      chunks.buffer = Buffer::scratch;
    } else if (!word.empty() && word != "i") {
      problem(element, buffer_key, "'" + std::string(word) + "' is no buffer", "i, o or s");
    }
    chunks.first = number(element, offset_key, -1, most_of_a_buffer, -1);
    return chunks;
  }

  /// The chunks of a loop; older files say them, newer ones leave them to the buffers.
  void read_chunks(const XmlElement& root) {
    std::int32_t most = 1;
    for (const auto& gpu : algorithm_.gpus) most = std::max({most, gpu.input, gpu.output});
    algorithm_.chunks = number(root, "nchunksperloop", 1, most_of_a_buffer, most);
    const auto ranks = static_cast<std::int32_t>(algorithm_.gpus.size());
    if (!problems_.empty()) return;
    if (const auto why = Promise::why_not(algorithm_.kind, ranks, algorithm_.chunks))
      problem(root, "nchunksperloop", why->first, why->second);
  }

  void check_steps() {
    const Promise promise(algorithm_.kind, static_cast<std::int32_t>(algorithm_.gpus.size()), algorithm_.chunks);
    for (std::size_t rank = 0; rank < algorithm_.gpus.size(); ++rank) {
      auto& gpu = algorithm_.gpus[rank];
      const auto member = static_cast<MemberId>(rank);
      // A buffer that lies in the other has all of its chunks, whatever the file counts.
      gpu.input = std::max(gpu.input, promise.input_chunks(member));
      gpu.output = std::max(gpu.output, promise.output_chunks(member));
      for (auto& block : gpu.blocks) {
        check_peers(member, block);
        for (auto& step : block.steps) check_step(gpu, step);
      }
    }
  }

  /// The first step of a thread block that needs a peer which the block does not have.
  void check_peers(MemberId rank, const ThreadBlock& block) {
    const auto lacks = [&](MemberId peer) { return peer < 0 || peer == rank; };
    const auto first = [&](bool Action::*needs) {
      return std::find_if(block.steps.begin(), block.steps.end(),
                          [&](const Step& step) { return step.action->*needs; });
    };
    const auto type = [](const Step& step) { return "'" + std::string(step.action->type) + "'"; };
    if (const auto step = first(&Action::sends); lacks(block.send) && step != block.steps.end())
      problem(*step, "type", type(*step) + " sends, but its tb sends to " + (block.send < 0 ? "nobody" : "its own gpu"),
              "a tb with the peer in send");
    if (const auto step = first(&Action::receives); lacks(block.receive) && step != block.steps.end())
      problem(*step, "type",
              type(*step) + " receives, but its tb receives from " + (block.receive < 0 ? "nobody" : "its own gpu"),
              "a tb with the peer in recv");
  }

  void check_step(Gpu& gpu, Step& step) {
    const auto& action = *step.action;
    if (action.reduces && step.source.first < 0) step.source = step.target;
    if (reads(action) && !check_chunks(step, gpu, step.source, "srcoff")) return;
    if (action.stores && !check_chunks(step, gpu, step.target, "dstoff")) return;
    if ((step.after_block < 0) != (step.after_step < 0)) step.after_block = step.after_step = -1;
    if (step.after_block < 0) return;
    if (std::cmp_greater_equal(step.after_block, gpu.blocks.size())) {
      return problem(step, "depid", "there is no tb " + std::to_string(step.after_block),
                     "a tb of the same gpu, or -1");
    }
    auto& steps = gpu.blocks[position_of(step.after_block)].steps;
    if (std::cmp_greater_equal(step.after_step, steps.size())) {
      return problem(step, "deps",
                     "tb " + std::to_string(step.after_block) + " has no step " + std::to_string(step.after_step),
                     "a step of that tb, or -1");
    }
    steps[position_of(step.after_step)].awaited = true;
  }

  static bool reads(const Action& action) {
    return action.reduces || (!action.receives && (action.sends || action.stores));
  }

  bool check_chunks(const Step& step, const Gpu& gpu, const Chunks& chunks, const char* key) {
    const auto size = chunks.buffer == Buffer::input    ? gpu.input
                      : chunks.buffer == Buffer::output ? gpu.output
                                                        : gpu.scratch;
    if (chunks.first >= 0 && std::int64_t{chunks.first} + step.count <= size) return true;
    problem(step, key,
            std::to_string(step.count) + " chunks from " + std::to_string(chunks.first) +
                " on do not lie in the buffer of " + std::to_string(size),
            "chunks that the gpu's i_chunks, o_chunks or s_chunks hold");
    return false;
  }

  Problems& problems_;
  Algorithm algorithm_;
  std::int64_t chunks_of_all_ = 0;
};

}  // namespace

const Action& action_named(std::string_view type) {
  return *std::find_if(actions.begin(), actions.end(), [&](const Action& action) { return action.type == type; });
}

std::string_view file_name(Kind kind) {
  return std::find_if(kinds.begin(), kinds.end(), [&](const auto& known) { return known.second == kind; })->first;
}

bool is_msccl(std::string_view text) { return is_xml_of(text, "algo"); }

std::optional<Algorithm> read_algorithm(std::string_view text, const std::string& file, Problems& problems) {
  const XmlElement root = read_xml(text, file, problems);
  if (!problems.empty()) return std::nullopt;
  return Reader(file, problems).read(root);
}

}  // namespace lockstep::collectives::msccl
