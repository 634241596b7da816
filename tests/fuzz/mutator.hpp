#pragma once
/// Breaks texts at random, much as a user's slips and a disk's do: other numbers and words, lines moved and left out.
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace lockstep::test {

/// The content of files, and of the files of folders, in the order of their paths.
[[nodiscard]] std::vector<std::string> read_seeds(const std::vector<std::filesystem::path>& places);

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<std::string> texts) : random_(seed), texts_(std::move(texts)) {}
  /// One of the texts with one to three changes.
  [[nodiscard]] std::string next();
  void change(std::string& text);

 private:
  // The remainder is a little uneven, but the same with every standard library, as a distribution is not.
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  void replace_number(std::string& text, std::size_t at);
  void replace_word(std::string& text, std::size_t at);
  /// A part of a scenario that most files leave out.
  std::string extra_line();
  std::string line_of(const std::string& text);

  std::mt19937_64 random_;
  std::vector<std::string> texts_;
};

}  // namespace lockstep::test
