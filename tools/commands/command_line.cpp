#include "tools/commands/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/visible_text.hpp"
#include "tools/output/elements/columns_text.hpp"
#include "tools/output/elements/shell_word.hpp"
#include "tools/output/files/exit_code.hpp"

namespace lockstep::commands {
namespace {

/// "1e+18", "16", "0.01".
std::string digits_of(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

/// Texts that are no number are left to the check of the option's type.
CLI::Validator in_range(double least, double most) {
  const std::string range =
      digits_of(least) + (most < std::numeric_limits<double>::max() ? " to " + digits_of(most) : " or more");
  return {[=](const std::string& value) -> std::string {
            char* end = nullptr;
            const double number = std::strtod(value.c_str(), &end);
            if (value.empty() || *end != '\0' || (number >= least && number <= most)) return "";
            return value + " is out of range; expected " + range;
          },
          "from " + range};
}

/// What is wrong with a text as a number of this type; "" if nothing is.
template <class Number>
std::string not_a(const std::string& value) {
  if (value.empty()) return "the value is empty; expected a number";
  const auto* end = value.data() + value.size();
  if constexpr (std::is_floating_point_v<Number>) {
    char* rest = nullptr;
    const double number = std::strtod(value.c_str(), &rest);
    return *rest == '\0' && !std::isnan(number) ? "" : "'" + value + "' is not a number; expected one such as 1.5";
  } else {
    Number number = 0;
    const auto* begin = value.data() + (value.starts_with('+') ? 1 : 0);
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error == std::errc::result_out_of_range && rest == end)
      return value + " is out of range; expected at most " + std::to_string(std::numeric_limits<Number>::max());
    return error == std::errc() && rest == end ? ""
                                               : "'" + value + "' is not a whole number; expected digits, such as 16";
  }
}

template <class Value>
struct NumberIn {
  using type = Value;
};
template <class Value>
struct NumberIn<std::optional<Value>> {
  using type = Value;
};

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::between(int least, int most) { return between(static_cast<double>(least), static_cast<double>(most)); }

Option& Option::between(double least, double most) {
  option_->check(in_range(least, most));
  return *this;
}

Option& Option::not_negative() {
  option_->check(in_range(0, std::numeric_limits<double>::max()));
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  std::string list, names;
  for (const auto& word : words) {
    list += (list.empty() ? "" : ",") + word;
    names += (names.empty() ? "" : ", ") + word;
  }
  option_->check(CLI::Validator(
      [=](const std::string& value) -> std::string {
        if (std::find(words.begin(), words.end(), value) != words.end()) return "";
        const auto hint = did_you_mean(value, words);
        return "'" + value + "' is not a choice; expected one of " + names + (hint.empty() ? "" : "; " + hint);
      },
      "{" + list + "}"));
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::repeatable() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::needs(const std::string& other) {
  option_->needs(other);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

template <class Value>
Option Command::option(const std::string& name, Value& value, const std::string& text) {
  auto* option = app_->add_option(name, value, text);
  using Number = typename NumberIn<Value>::type;
  if constexpr (std::is_arithmetic_v<Number>)
    option->check([](const std::string& given) { return not_a<Number>(given); });
  return Option(option);
}
template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, std::int32_t&, const std::string&);
template Option Command::option(const std::string&, std::int64_t&, const std::string&);
template Option Command::option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::option(const std::string&, std::optional<std::int32_t>&, const std::string&);
template Option Command::option(const std::string&, std::optional<double>&, const std::string&);

Option Command::flag(const std::string& name, bool& value, const std::string& text) {
  return Option(app_->add_flag(name, value, text));
}
Command Command::command(const std::string& name, const std::string& text) {
  app_->require_subcommand(1);
  return Command(app_->add_subcommand(name, text), typed_);
}
void Command::footer(const std::string& text) { app_->footer(text); }
void Command::callback(std::function<void()> work) { app_->callback(std::move(work)); }

CommandLine::CommandLine(const std::string& text, const std::string& program)
    : app_(std::make_unique<CLI::App>(text, program)), program_(program) {}
CommandLine::~CommandLine() = default;

Command CommandLine::program() { return Command(app_.get(), typed_); }

Command CommandLine::command(const std::string& name, const std::string& text) {
  app_->require_subcommand(1);
  return Command(app_->add_subcommand(name, text), typed_);
}

void CommandLine::flag(const std::string& name, std::function<void()> given, const std::string& text) {
  app_->add_flag_callback(name, std::move(given), text);
}
void CommandLine::version(const std::string& text) { app_->set_version_flag("--version", text); }

namespace {

OptionHelp help_of(const CLI::Option& option) {
  OptionHelp help;
  help.positional = option.get_positional();
  if (help.positional) {
    help.names = {option.get_name()};
  } else {
    for (const auto& name : option.get_snames()) help.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) help.names.push_back("--" + name);
  }
  help.text = option.get_description();
  if (option.get_expected_max() == 0) return help;
  const auto type = option.get_type_name();  // "TEXT:{a,b}", "INT:from 1 to 8"
  const auto colon = type.find(':');
  help.value = type.substr(0, colon);
  if (const auto open = type.find('{'), close = type.find('}'); open != std::string::npos && close != std::string::npos)
    help.words = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
  return help;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

CommandHelp help_of(const CLI::App& app) {
  CommandHelp help{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const auto* option : app.get_options()) help.options.push_back(help_of(*option));
  for (const auto* command : commands_of(app)) help.commands.push_back(help_of(*command));
  return help;
}

/// The command that was given, as deep as it goes, and its name with those above it.
std::pair<const CLI::App*, std::string> given_command(const CLI::App& app, const std::string& program) {
  std::pair<const CLI::App*, std::string> given{&app, program};
  while (!given.first->get_subcommands().empty()) {
    given.first = given.first->get_subcommands().front();
    given.second += " " + given.first->get_name();
  }
  return given;
}

}  // namespace

CommandHelp CommandLine::help() const { return help_of(*app_); }

/// CLI11 calls a mistyped command a missing one.
void CommandLine::refuse_unknown_command(const std::vector<const char*>& words) const {
  const CLI::App* above = app_.get();
  auto path = program_;
  for (std::size_t i = 1; i < words.size() && !commands_of(*above).empty(); ++i) {
    const std::string word = words[i];
    if (word.starts_with('-')) return;
    std::vector<std::string> names;
    std::string list;
    const CLI::App* known = nullptr;
    for (const auto* command : commands_of(*above)) {
      if (command->get_name() == word) known = command;
      names.push_back(command->get_name());
      list += (list.empty() ? "" : ", ") + names.back();
    }
    if (known == nullptr) {
      const auto hint = did_you_mean(word, names);
      throw ConfigError({{{path, 0, 0},
                          "",
                          "'" + word + "' is not a command",
                          hint.empty() ? "one of " + list : "a command; " + hint}});
    }
    above = known;
    path += " " + word;
  }
}

/// Words that the command that was given has no place for: mistyped options first, since what follows them belongs to
/// them.
void CommandLine::refuse_extra_words() const {
  const auto [given, name] = given_command(*app_, program_);
  const auto& command = *given;
  std::vector<std::string> options;
  for (const auto* option : command.get_options()) {
    for (const auto& word : option->get_lnames()) options.push_back("--" + word);
  }
  Problems problems;
  const auto extras = app_->remaining(true);
  for (const auto& word : extras) {
    if (!word.starts_with('-') || word == "-") continue;
    const auto hint = did_you_mean(word.substr(0, word.find('=')), options);
    problems.add({{name, 0, 0},
                  "",
                  "'" + word + "' is not an option",
                  hint.empty() ? "one of " + name + " --help" : "an option; " + hint});
  }
  if (problems.size() == 0 && !extras.empty())
    problems.add({{name, 0, 0}, "", "'" + extras.front() + "' is one word too many", "as in " + name + " --help"});
  problems.throw_if_any();
}

/// CLI11 names what is missing, but neither the command nor what it is.
void CommandLine::refuse_missing() const {
  const auto [given, name] = given_command(*app_, program_);
  Problems problems;
  if (given != app_.get() && !commands_of(*given).empty()) {
    std::string list;
    for (const auto* command : commands_of(*given)) list += (list.empty() ? "" : ", ") + command->get_name();
    problems.add({{name, 0, 0}, "", "a word is missing", "one of " + list});
  }
  for (const auto* option : given->get_options()) {
    if (given != app_.get() && option->get_required() && option->count() == 0)
      problems.add({{name, 0, 0}, "", option->get_name() + " is missing", option->get_description()});
  }
  problems.throw_if_any();
}

/// An empty value is most often a variable of the shell that is not set.
static void refuse_empty_values_of(CLI::App& app) {
  for (auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    refuse_empty_values_of(*command);
    for (auto* option : command->get_options()) {
      if (option->get_positional() || option->get_expected_max() == 0) continue;
      option->check([](const std::string& value) -> std::string { return value.empty() ? "the value is empty" : ""; });
    }
  }
}

void CommandLine::refuse_empty_values() { refuse_empty_values_of(*app_); }

namespace {

/// Without --out, which says where an answer goes and changes nothing of it.
std::string typed_in_a_shell(std::string text, const std::vector<const char*>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i];
    if (word == "--out") {
      ++i;
    } else if (!word.starts_with("--out=")) {
      text += " " + output::shell_word(word);
    }
  }
  return visible(text);
}

}  // namespace

std::optional<int> CommandLine::run(int argc, const char* const* argv) {
  refuse_empty_values();
  app_->failure_message([](const CLI::App*, const CLI::Error& error) { return std::string(error.what()) + "\n"; });
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {  // help, help run
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  try {
    refuse_unknown_command(words);
    *typed_ = typed_in_a_shell(program_, words);
    app_->parse(static_cast<int>(words.size()), words.data());
    return {};
  } catch (const CLI::ExtrasError&) {
    refuse_extra_words();
    throw;
  } catch (const CLI::RequiredError&) {
    refuse_extra_words();
    refuse_missing();
    output::tell(program_ + ": no command is given; expected one of those below\n\n" + app_->help());
    return 2;
  } catch (const CLI::ArgumentMismatch& error) {  // "--set: 1 required TEXT missing"
    const std::string text = error.what();
    throw ConfigError({{{text.substr(0, text.find(':')), 0, 0}, "", "has no value", "a word after it, as in --help"}});
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app_->exit(error, out, err) == 0 ? 0 : 2;
    output::tell(err.str());
    constexpr std::size_t second_column = 30;  // CLI11's
    std::fputs(visible(output::fitted_columns(out.str(), second_column), LineFeeds::kept).c_str(), stdout);
    return code;
  }
}

}  // namespace lockstep::commands
