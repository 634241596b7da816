// fuzz_scenarios PROGRAM SOURCE_ROOT SCRATCH SEED COUNT: breaks scenarios at random, runs `lockstep check` on them,
// and `lockstep run` on what that accepts. Exit codes 0 and 2 are answers; anything else, or a check without an
// answer in time, is a defect, and its file is kept.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr rlim_t most_seconds = 10;

std::vector<std::string> read_seeds(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> files;
  for (const auto* folder : {"scenarios", "tests/data/scenarios"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto& file : files) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<std::string> texts) : random_(seed), texts_(std::move(texts)) {}

  std::string next() {
    auto text = texts_[below(texts_.size())];
    for (auto changes = 1 + below(3); changes > 0; --changes) change(text);
    return text;
  }

 private:
  // The remainder is a little uneven, but the same with every standard library, as a distribution is not.
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void change(std::string& text) {
    const auto at = below(text.size() + 1);
    switch (below(12)) {
      case 0: text.insert(at, 1, static_cast<char>(below(256))); break;
      case 1: text.erase(at, 1 + below(8)); break;
      case 2:
      case 8:
      case 9: replace_number(text, at); break;
      case 3:
      case 10: replace_word(text, at); break;
      case 4: text.insert(line_start(text, at), line_of(texts_[below(texts_.size())])); break;
      case 5: text.erase(line_start(text, at), line_of(text.substr(line_start(text, at))).size()); break;
      case 6: text.insert(at, text.substr(below(text.size() + 1), below(40))); break;
      case 7: text.insert(at, 1, "{}[]:,-#&*!|>'\"%@`\t\n "[below(22)]); break;
      default: text.insert(text.size(), extra_line()); break;
    }
  }

  void replace_number(std::string& text, std::size_t at) {
    static constexpr std::array numbers = {"0",
                                           "-1",
                                           "1",
                                           "3",
                                           "7",
                                           "1000000",
                                           "99999999999",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "1e30",
                                           "-0.0",
                                           "nan",
                                           ".inf",
                                           "010",
                                           "0x10",
                                           "1.5",
                                           "2147483647",
                                           "100000",
                                           "100000000000"};
    const auto start = text.find_first_of("0123456789", at);
    if (start == std::string::npos) return;
    const auto end = std::min(text.find_first_not_of("0123456789", start), text.size());
    text.replace(start, end - start, numbers[below(numbers.size())]);
  }

  void replace_word(std::string& text, std::size_t at) {
    static constexpr std::array words = {"null",        "~",        "true",    "rest",        "x",           "y/2",
                                         "z/4",         "[]",       "{}",      "tensor",      "fsdp",        "data",
                                         "Win[D_X, F]", "96 GB",    "90 GB/s", "llama-3-8b",  "tpu-v5e",     "h100",
                                         "gemma-2-2b",  "pipeline", "zero: 2", "prefetch: 0", "config.json", "",
                                         "zb-h1",       "dualpipe", "wave",    "in_order",    "linear",      "bidirectional"};
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto start = static_cast<std::size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), text.end(), is_letter) -
        text.begin());
    auto end = start;
    while (end < text.size() && is_letter(text[end])) ++end;
    text.replace(start, end - start, words[below(words.size())]);
  }

  /// A part of a scenario that most files leave out.
  std::string extra_line() {
    static constexpr std::array lines = {
        "communication: {prefetch: 0, gradient_buckets: 25 MB, weight_buckets: matrix}",
        "communication: {collective_matmul: true, regather_weights: false}",
        "training: {optimizer: sgd, master_weights: true}",
        "training: {zero_shards: dimension, optimizer_barrier: true}",
        "plan: {activations: ['In[B, D_fsdp]']}",
        "plan: {weights: ['Win[D, F_fsdp]']}",
        "plan: {weights: ['Wq[D_fsdp, N_tensor, H]']}",
        "plan: {gradients: ['Win[D, F] {U_fsdp}']}",
        "perturbations: [{chip: [1, 0, 0], slowdown: 2}, {jitter: 0.02, seed: 7}]",
        "perturbations: [{link: [[0, 0, 0], [1, 0, 0]], bandwidth: 0}]",
        "perturbations: [{random_links: 3, seed: 1, bandwidth: 0.5}]",
        "perturbations: [{random_chips: 3, seed: 1, slowdown: 1.5}]",
        "model_of_time: roofline",
        "mesh: {data: [x], fsdp: rest}",
        "parallel: {data: 2, fsdp: 8, tensor: 4, zero: 1}",
        "parallel: {pipeline: 2, zero: 2}",
        "parallel: {pipeline: 4}",
        "pipeline: {schedule: interleaved, chunks: 2, group: 4}",
        "pipeline: {schedule: dualpipe, sends: in_order}",
        "pipeline: {schedule: zb-auto, memory_limit: 3}",
        "pipeline: {schedule: zb-v, layers: [1, 1, 1, 1]}",
        "pipeline: {schedule: pipeline_early_receive.csv, placement: v}"};
    return std::string(lines[below(lines.size())]) + "\n";
  }

  std::string line_of(const std::string& text) {
    const auto start = line_start(text, below(text.size() + 1));
    return text.substr(start, text.find('\n', start) - start) + "\n";
  }
  static std::size_t line_start(const std::string& text, std::size_t at) {
    const auto newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    return newline == std::string::npos ? 0 : newline + 1;
  }

  std::mt19937_64 random_;
  std::vector<std::string> texts_;
};

/// The exit code, or the negative number of the signal that ended the program.
int ends_with(const std::string& program, const char* command, const std::string& file, const std::string& errors) {
  std::fflush(stdout);  // else the child prints it again
  const auto child = ::fork();
  if (child == 0) {
    const rlimit seconds = {most_seconds, most_seconds + 1};
    ::setrlimit(RLIMIT_CPU, &seconds);
    if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen(errors.c_str(), "w", stderr) == nullptr)
      ::_exit(99);
    ::execl(program.c_str(), program.c_str(), command, file.c_str(), static_cast<char*>(nullptr));
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool said_nothing(const std::string& errors) { return std::filesystem::file_size(errors) == 0; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 64;
  const std::filesystem::path root = argv[2];
  const std::filesystem::path scratch = argv[3];
  const auto seed = std::stoull(argv[4]);
  const int count = std::stoi(argv[5]);
  const auto file = (scratch / ("fuzzed" + std::string(argv[4]) + ".yaml")).string();
  const auto errors = file + ".stderr";
  Mutator mutator(seed, read_seeds(root));
  int defects = 0;
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    std::ofstream(file, std::ios::binary) << mutator.next();
    int code = ends_with(argv[1], "check", file, errors);
    if (code == 0) {
      ++accepted;
      code = ends_with(argv[1], "run", file, errors);
      if (code == -SIGXCPU || code == -SIGKILL) code = 0;  // a large simulation may take its time
    }
    if (code == 0 || (code == 2 && !said_nothing(errors))) continue;
    ++defects;
    const auto kept = scratch / ("defect" + std::string(argv[4]) + "_" + std::to_string(i) + ".yaml");
    std::filesystem::copy_file(file, kept, std::filesystem::copy_options::overwrite_existing);
    std::printf("%s: exit code %d\n", kept.c_str(), code);
  }
  std::printf("%d scenarios: %d accepted, %d refused, %d defects\n", count, accepted, count - accepted - defects,
              defects);
  return defects == 0 && accepted > 0 && accepted < count ? 0 : 1;
}
