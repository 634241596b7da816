#include "tests/fuzz/mutator.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace lockstep::test {
namespace {

/// The line around a place of its choice, with its end.
std::size_t line_start(const std::string& text, std::size_t at) {
  const auto newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::vector<std::string> read_seeds(const std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> files;
  for (const auto& place : places) {
    if (!std::filesystem::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

std::string Mutator::next() {
  auto text = texts_[below(texts_.size())];
  for (auto changes = 1 + below(3); changes > 0; --changes) change(text);
  return text;
}

void Mutator::change(std::string& text) {
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

void Mutator::replace_number(std::string& text, std::size_t at) {
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

void Mutator::replace_word(std::string& text, std::size_t at) {
  static constexpr std::array words = {
      "null",    "~",        "true",       "rest",     "x",           "y/2",          "z/4",         "[]",
      "{}",      "tensor",   "fsdp",       "data",     "Win[D_X, F]", "96 GB",        "90 GB/s",     "llama-3-8b",
      "tpu-v5e", "h100",     "gemma-2-2b", "pipeline", "zero: 2",     "prefetch: 0",  "config.json", "",
      "zb-h1",   "dualpipe", "wave",       "in_order", "linear",      "bidirectional"};
  const auto start = static_cast<std::size_t>(
      std::find_if(text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), text.end(), is_letter) -
      text.begin());
  auto end = start;
  while (end < text.size() && is_letter(text[end])) ++end;
  text.replace(start, end - start, words[below(words.size())]);
}

std::string Mutator::extra_line() {
  static constexpr std::array lines = {
      "communication: {prefetch: 0, gradient_buckets: 25 MB, weight_buckets: matrix}",
      "communication: {collective_matmul: true, regather_weights: false, host_waits_for_transfers: true}",
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

std::string Mutator::line_of(const std::string& text) {
  const auto start = line_start(text, below(text.size() + 1));
  return text.substr(start, text.find('\n', start) - start) + "\n";
}

}  // namespace lockstep::test
