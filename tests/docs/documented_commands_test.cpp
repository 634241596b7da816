// Every command of the README and of the pages under docs runs, in the order of its page and in a folder of the page's
// own, and prints what the page says that it prints, into a pipe or on a terminal of 80 columns: each line of the page
// in the output, in order and without gaps but where the page has "...". Commands that need what is not here are listed
// below with their reason.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/docs/page_blocks.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;

/// Commands that begin so are not run.
const std::map<std::string, std::string> not_run{
    {"lockstep run /usr/share/lockstep", "it needs an installed package, which the package test has"},
    {"lockstep sweep sweep.yaml --shard 0/8", "it stands for eight commands; the sweep tests run shards"},
    {"lockstep merge", "it needs the eight shards"},
    {"lockstep explore", "it serves until it is ended; the explorer's tests run it"},
    {"lockstep validate", "the validation tests hold its numbers"},
    {"lockstep run DIR/", "it needs the scenarios that lockstep validate writes"},
    {"lockstep replay rank0.json.gz", "it needs a trace with the shapes of a language model"},
    {"lockstep plan job.yaml", "it needs that trace's scenario"},
    {"./tools/test", "this test is a part of it"},
};

/// The user's own files, by the name that pages give them: what stands for them here, seen from the tree.
const std::map<std::string, std::string> stand_ins{
    {"path/to/config.json", "tests/data/hf_configs/Qwen__Qwen2-7B.json"},
    {"configs/meta-llama/Meta-Llama-3-70B/config.json", "tests/data/hf_configs/meta-llama__Meta-Llama-3-70B.json"},
    {"kernels.csv", "tests/fuzz/seeds/measured_csv/kernels.csv"},
    {"my_steps.csv", "tests/docs/my_steps.csv"},
    {"products.csv", "tests/docs/products.csv"},
    {"all_reduce_1node.log", "tests/fuzz/seeds/nccl_log/all_reduce.log"},
    {"all_reduce_2nodes.log", "tests/fuzz/seeds/nccl_log/all_reduce.log"},
    {"all_gather_2nodes.log", "tests/fuzz/seeds/nccl_log/older.log"},
    {"FILE", "tests/data/scenarios/small.yaml"},
    {"order.csv", "tests/docs/order.csv"},
};

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

/// Why the output has not these lines; empty: it has.
std::string missing(const std::vector<std::string>& expected, const std::vector<std::string>& output) {
  const auto matches_from = [&](std::size_t from, std::size_t& failed) {
    bool gap = false;
    for (failed = 0; failed < expected.size(); ++failed) {
      std::string line = expected[failed];
      line.erase(line.find_last_not_of(' ') + 1);
      if (line == "...") {
        gap = true;
        continue;
      }
      while (gap && from < output.size() && output[from] != line) ++from;
      if (from >= output.size() || output[from] != line) return false;
      ++from;
      gap = false;
    }
    return true;
  };
  std::size_t furthest = 0;
  for (std::size_t from = 0; from < output.size(); ++from) {
    std::size_t failed = 0;
    if (matches_from(from, failed)) return "";
    furthest = std::max(furthest, failed);
  }
  return "the page's line\n  " + expected[furthest] + "\nis not there (" + std::to_string(furthest) +
         " lines before it are)";
}

/// Whether a block of output is no wider than a terminal: then it is tried first, so that long commands run once.
bool may_be_of_a_terminal(const PageBlock& block) {
  constexpr std::size_t columns = 80;
  return block.kind == PageBlock::Kind::output &&
         std::all_of(block.lines.begin(), block.lines.end(), [](const auto& line) { return line.size() <= columns; });
}

class DocumentedCommands : public testing::TestWithParam<std::string> {
 protected:
  DocumentedCommands() {
    std::string name = GetParam();
    std::replace(name.begin(), name.end(), '/', '_');
    folder_ = fs::temp_directory_path() / ("lockstep-docs-" + std::to_string(::getpid()) + name);
    fs::create_directories(folder_);
    for (const char* part : {"scenarios", "tests", "topologies"})
      fs::create_directory_symlink(fs::path(source_dir) / part, folder_ / part);
    for (const auto& [own, here] : stand_ins) {
      fs::create_directories((folder_ / own).parent_path());
      fs::copy_file(fs::path(source_dir) / here, folder_ / own);
    }
  }
  ~DocumentedCommands() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  enum class Onto { pipe, terminal };

  /// What a command prints to stdout.
  std::string run(const std::string& command, Onto onto = Onto::pipe) const {
    std::ofstream(folder_ / ".command") << "stty cols 80\n" << command << " 2>.stderr\n";
    const std::string words = onto == Onto::pipe
                                  ? command + " >.stdout 2>.stderr </dev/null"
                                  : "script -qec 'bash -e .command' /dev/null </dev/null | tr -d '\\r' >.stdout";
    const std::string whole = "cd '" + folder_.string() + "' && PATH='" +
                              fs::path(LOCKSTEP_PROGRAM).parent_path().string() + "':$PATH && " + words;
    const int status = std::system(("bash -c \"$(cat <<'END'\n" + whole + "\nEND\n)\"").c_str());
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0) << command << '\n' << read(folder_ / ".stderr");
    return read(folder_ / ".stdout");
  }

  fs::path folder_;
};

TEST_P(DocumentedCommands, RunAndPrintWhatThePageSays) {
  std::string output;
  std::vector<std::string> commands;  // that made it
  Onto onto = Onto::pipe;
  const auto run_all = [&](Onto place) {
    onto = place;
    output.clear();
    for (const auto& command : commands) output += run(command, place);
  };
  const auto blocks = blocks_of(read(fs::path(source_dir) / GetParam()));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& block = blocks[i];
    SCOPED_TRACE(GetParam() + ":" + std::to_string(block.line));
    switch (block.kind) {
      case PageBlock::Kind::file: {
        std::ofstream file(folder_ / block.name);
        for (const auto& line : block.lines) file << line << '\n';
        break;
      }
      case PageBlock::Kind::commands:
        commands.clear();
        for (const auto& command : block.lines) {
          const bool skipped = std::any_of(not_run.begin(), not_run.end(),
                                           [&](const auto& one) { return command.starts_with(one.first); });
          if (!skipped) commands.push_back(command);
        }
        run_all(i + 1 < blocks.size() && may_be_of_a_terminal(blocks[i + 1]) ? Onto::terminal : Onto::pipe);
        break;
      case PageBlock::Kind::output:
        if (!missing(block.lines, lines_of(output)).empty()) run_all(onto == Onto::pipe ? Onto::terminal : Onto::pipe);
        EXPECT_EQ(missing(block.lines, lines_of(output)), "")
            << (onto == Onto::terminal ? "on a terminal" : "into a pipe") << " the program prints\n"
            << output;
        break;
    }
  }
}

/// Pages with at least one command.
std::vector<std::string> pages() {
  std::vector<std::string> found{"README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_dir) / "docs")) {
    if (entry.path().extension() != ".md") continue;
    for (const auto& block : blocks_of(read(entry.path()))) {
      if (block.kind != PageBlock::Kind::commands) continue;
      found.push_back(fs::relative(entry.path(), source_dir).string());
      break;
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

INSTANTIATE_TEST_SUITE_P(Pages, DocumentedCommands, testing::ValuesIn(pages()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace lockstep::test
