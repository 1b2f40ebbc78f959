#include "cmd/common/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/text/edit_distance.h"
#include "base/text/numbers.h"
#include "base/text/shell.h"
#include "base/text/utf8.h"
#include "cmd/command.h"
#include "cmd/common/terminal.h"
#include "compare/run.h"
#include "output/weight.h"

namespace gpuprof::cmd {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kTextColumn = 26;
constexpr const char* kTime = "TIME";
constexpr std::string_view kUsage = "Usage: ";
constexpr std::string_view kNextUsage = "       ";
constexpr const char* kMore = "more";      // group of the options that only --help-all shows
constexpr const char* kAlways = "always";  // group of the options for help and log levels

// Appends `text` to `line`, and wraps it. Indents all lines except the first by `indent` blanks.
std::string wrapped(std::string line, const std::string& text, size_t indent) {
  std::string out;
  bool fresh = true;  // no word of `text` was added yet
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    if (!fresh && line.size() + 1 + word.size() > kWidth) {
      out.append(line).append("\n");
      line.assign(indent, ' ');
      fresh = true;
    }
    line.append(fresh ? "" : " ").append(word);
    fresh = false;
    at = end + 1;
  }
  return out.append(line).append("\n");
}

std::string option_names(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) {
    text.append(text.empty() ? "-" : ", -").append(name);
  }
  for (const std::string& name : option.get_lnames()) {
    text.append(text.empty() ? "--" : ", --").append(name);
  }
  return text.empty() ? option.get_name(true) : text;
}

// Formats help texts: the options in two columns, and the description of the command in lines of at most kWidth
// characters.
class HelpText : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    (void)name;
    const HelpParts parts = help_parts(*app);
    std::string text = wrapped("", app->get_description(), 0) + "\n";
    for (const std::string& line : parts.usage) {
      text.append(&line == &parts.usage.front() ? kUsage : kNextUsage).append(line).append("\n");
    }
    text += "\n";
    text += options(*app, "Options", "");
    if (mode == CLI::AppFormatMode::All) {
      text += options(*app, "More options", kMore);
    }
    text += options(*app, "Options of all commands", kAlways);
    for (size_t at = 0; at < parts.footer.size();) {
      const size_t end = std::min(parts.footer.find('\n', at), parts.footer.size());
      text += wrapped("", parts.footer.substr(at, end - at), 0);
      at = end + 1;
    }
    return text;
  }

 private:
  static std::string options(const CLI::App& app, const std::string& title, const std::string& group) {
    std::string text;
    for (const CLI::Option* option : app.get_options()) {
      const std::string& its = option->get_group();
      if (its == group || (group.empty() && its != kMore && its != kAlways)) {
        text += shown(*option);
      }
    }
    return text.empty() ? text : title + ":\n" + text + "\n";
  }

  static std::string shown(const CLI::Option& option) {
    std::string names = option_names(option);
    const bool is_flag = option.get_items_expected_max() == 0;
    if (names.starts_with("-") && (!is_flag || !value_words(option).empty())) {
      names += is_flag ? "[=" + value_word(option) + "]" : " " + value_word(option);
    }
    std::string line = "  " + names;
    if (line.size() + 2 > kTextColumn) {
      return line + "\n" + wrapped(std::string(kTextColumn, ' '), full_text(option), kTextColumn);
    }
    line.resize(kTextColumn, ' ');
    return wrapped(line, full_text(option), kTextColumn);
  }
};

}  // namespace

CLI::Option* add_file_option(CLI::App& app, const std::string& names, std::string& value, const std::string& text) {
  return app.add_option(names, value, text)
      ->type_name("FILE")
      ->check(CLI::Validator([](const std::string& name) { return name.empty() ? "the name is empty" : ""; }, ""));
}

void add_lenient_flag(CLI::App& app, bool& lenient) {
  app.add_flag("--lenient", lenient, "skip and count lines that cannot be read, instead of failing");
}

CLI::Option* add_measure_option(CLI::App& app, analyze::Measure& measure, const std::string& text) {
  std::vector<std::string> words;
  words.reserve(compare::kRunMeasures.size());
  for (const analyze::Measure known : compare::kRunMeasures) {
    words.emplace_back(output::weight_of(known).word);
  }
  auto* const option = app.add_option_function<std::string>(
      "--weight", [&measure](const std::string& word) { measure = output::weight_of(word).measure; }, text);
  return expect_one_of(option, words)->type_name("WEIGHT");
}

void add_width_option(CLI::App& app, size_t& width, size_t least) {
  expect_number(app.add_option("--width", width, "line width in characters (default: the terminal's)"), least,
                kMaxWidth);
}

CLI::Option* add_top_option(CLI::App& app, size_t& top, const std::string& text) {
  return expect_number(app.add_option("--top", top, text), 0, 1'000'000'000);
}

void add_profile_output_option(CLI::App& app, std::string& output) {
  add_file_option(app, "-o,--output", output, "profile to write; - is stdout (default: -)");
}

CLI::Option* add_duration_option(CLI::App& app, const std::string& names, uint64_t& value_ns, const std::string& text,
                                 uint64_t least_ns, uint64_t most_ns) {
  const auto take = [names, least_ns, most_ns, &value_ns](const std::string& given) {
    const auto ns = parse_duration(given);
    if (!ns) {
      throw CLI::ValidationError(names,
                                 "'" + given + "' is not a time; times are like 200ms, 2s, 1.5m, or 2 for seconds");
    }
    if (*ns < least_ns || *ns > most_ns) {
      throw CLI::ValidationError(names, given + " is not from " + duration_text(least_ns) + " to " +
                                            duration_text(most_ns) + "; times are like 200ms, 2s or 1m");
    }
    value_ns = *ns;
  };
  return app.add_option_function<std::string>(names, take, text)->type_name(kTime);
}

std::string options_given(const CLI::App& app, std::initializer_list<const char*> but) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    const bool left_out =
        std::any_of(but.begin(), but.end(), [option](const char* name) { return option->check_name(name); });
    if (option->count() == 0 || left_out || option->get_lnames().empty()) {
      continue;
    }
    const std::string name = "--" + option->get_lnames().front();
    if (option->get_items_expected_max() == 0) {
      text.append(text.empty() ? "" : " ").append(name);
      continue;
    }
    for (const std::string& value : option->results()) {
      text.append(text.empty() ? "" : " ").append(name).append(" ").append(shell_word(value));
    }
  }
  return text;
}

void show_in_help(CLI::App& app, std::initializer_list<const char*> names) {
  for (CLI::Option* option : app.get_options()) {
    const bool shown =
        std::any_of(names.begin(), names.end(), [option](const char* name) { return option->check_name(name); });
    if (option->get_group() != kAlways) {
      option->group(shown ? "Options" : kMore);
    }
  }
}

namespace {

// Returns a text such as "did you mean --top or --to?" for a misspelt word, or "" if no word is similar.
std::string meant(std::string_view given, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string_view word : nearest_words(given, words)) {
    text.append(text.empty() ? "did you mean " : " or ").append(word);
  }
  return text.empty() ? text : text + "?";
}

// Adds a check with an empty description, because the help of the option would show it.
CLI::Option* add_check(CLI::Option* option, const std::function<std::string(std::string&)>& check,
                       const std::string& description = "") {
  // The check may change the text, and CLI11's check() would drop the change.
  return option->transform(CLI::Validator(check, description));
}

}  // namespace

CLI::Option* expect_one_of(CLI::Option* option, const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) {
    all.append(all.empty() ? "" : ",").append(word);
  }
  const auto check = [words, all](const std::string& given) {
    const std::string similar = meant(given, words);
    return std::find(words.begin(), words.end(), given) != words.end()
               ? std::string()
               : "'" + escaped(given) + "' is not one of " + all + (similar.empty() ? "" : "; " + similar);
  };
  return add_check(option, check, "{" + all + "}");
}

CLI::Option* expect_number(CLI::Option* option, uint64_t least, uint64_t most, const std::string& what) {
  return add_check(option, [=](const std::string& given) {
    const auto number = whole_number(given);
    return number && *number >= least && *number <= most
               ? std::string()
               : "'" + escaped(given) + "' is not a " + what + " from " + count_text(least) + " to " + count_text(most);
  });
}

CLI::Option* expect_percentage(CLI::Option* option, double least, double most) {
  return add_check(option, [=](std::string& given) {
    const std::string number = given.substr(0, given.size() - (given.ends_with('%') ? 1 : 0));
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error == std::errc() && end == number.data() + number.size() && value >= least && value <= most) {
      given = number;
      return std::string();
    }
    char range[96];
    std::snprintf(range, sizeof range, "' is not a percentage from %g to %.7g, such as 2 or 2%%", least, most);
    return "'" + escaped(given) + range;
  });
}

Error unknown_option(const CLI::App& app, const std::string& given) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::string name = given.substr(0, given.find('='));
  const std::string similar = meant(name, names);
  return {"unknown option '" + escaped(name) + "'",
          (similar.empty() ? "" : similar + " ") + app.get_name() + " --help lists the options", kExitUsage};
}

Status check_no_options(const CLI::App& app, const std::vector<std::string>& words) {
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with('-') && word.find_first_not_of('-') != std::string::npos;
  });
  if (option == words.end()) {
    return {};
  }
  const std::string name = option->substr(0, option->find('='));
  return app.get_option_no_throw(name) == nullptr
             ? unknown_option(app, *option)
             : Error{"'" + escaped(name) + "' stands after a file name",
                     "options go before the files: " + help_parts(app).usage.front(), kExitUsage};
}

Error unusable_arguments(const CLI::App& app, const CLI::ParseError& error) {
  // The value of an unknown option looks like a positional argument. So report the option, not the value.
  const auto extras = app.get_prefix_command() ? std::vector<std::string>() : app.remaining();
  const auto option = std::find_if(extras.begin(), extras.end(), [](const auto& extra) { return extra[0] == '-'; });
  if (option != extras.end()) {
    return unknown_option(app, *option);
  }
  const std::string help = app.get_name() + " --help lists the options";
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::string_view list = error.what();  // the text is "The following arguments were not expected: C B"
    const bool reads_one = app.get_option_no_throw("--input") != nullptr;
    return {"unexpected argument '" + escaped(list.substr(list.rfind(' ') + 1)) + "'",
            (reads_one ? "give one profile; gpuprof merge combines several, and gpuprof diff compares two; "
                       : "usage: " + help_parts(app).usage.front() + "; ") +
                help,
            kExitUsage};
  }
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return {std::move(message), help, kExitUsage};
}

CLI::Option* suggest(CLI::Option* option, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : ",").append(word);
  }
  // The validator accepts every value. CLI11 appends its description to the option's type name, and value_words()
  // reads it there.
  return option->check(CLI::Validator([](const std::string&) { return std::string(); }, "{" + text + "}"));
}

void declare_all(CLI::App& app, Command& command, Levels& levels) {
  app.add_flag("-q,--quiet", levels.quiet, "print only errors and warnings")->group(kAlways);
  app.add_flag("-v,--verbose", levels.verbose, "also print debugging messages")->group(kAlways);
  app.formatter(std::make_shared<HelpText>());
  app.set_help_flag("-h,--help", "show the common options")->group(kAlways);
  app.set_help_all_flag("--help-all", "show all options")->group(kAlways);
  command.declare(app);
}

bool is_basic(const CLI::Option& option) {
  return option.get_group() != kMore;
}

bool is_common(const CLI::Option& option) {
  return option.get_group() == kAlways;
}

std::vector<std::string> value_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> words;
  const size_t begin = type.find('{');
  const size_t end = begin == std::string::npos ? begin : type.find('}', begin);
  for (size_t at = begin + 1; end != std::string::npos && at < end;) {
    const size_t comma = std::min(type.find(',', at), end);
    const std::string word = type.substr(at, comma - at);
    words.push_back(word.substr(0, word.find("->")));  // keeps "name" of "name->number"
    at = comma + 1;
  }
  return words;
}

std::string value_word(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string word = type.substr(0, type.find_first_of(": "));
  if (word != "TEXT" && word != "ENUM" && !word.empty()) {
    return word == "UINT" || word == "INT" || word == "FLOAT" ? "N" : word;
  }
  std::string text;
  for (const std::string& choice : value_words(option)) {
    text.append(text.empty() ? "" : "|").append(choice);
  }
  return text.empty() ? word : text;
}

std::string full_text(const CLI::Option& option) {
  std::string words;
  for (const std::string& word : value_words(option)) {
    words.append(words.empty() ? ": " : ", ").append(word);
  }
  const bool named = !option.get_lnames().empty() && value_word(option).find('|') != std::string::npos;
  return option.get_description() + (named ? "" : words);
}

HelpParts help_parts(const CLI::App& app) {
  HelpParts parts{{}, app.get_footer()};
  const auto options = app.get_options();
  if (std::any_of(options.begin(), options.end(), [](const auto* option) { return value_word(*option) == kTime; })) {
    parts.footer.append(parts.footer.empty() ? "" : "\n")
        .append("A TIME is like 200ms, 2s or 1m. Without a unit, it is in seconds.");
  }
  for (std::string_view prefix = kUsage; parts.footer.starts_with(prefix); prefix = kNextUsage) {
    const size_t end = std::min(parts.footer.find('\n'), parts.footer.size());
    parts.usage.push_back(parts.footer.substr(prefix.size(), end - prefix.size()));
    parts.footer.erase(0, end + 1);
  }
  if (!parts.usage.empty()) {
    return parts;
  }
  std::string text = app.get_name() + " [OPTIONS]";
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    const std::string name = option->get_name(true);
    const bool many = option->get_items_expected_max() > 1;
    const std::string word = name.starts_with("FILE") ? "FILE" : name;
    text.append(option->get_required() ? " " + word + (many ? "..." : "") : " [" + word + "]");
  }
  parts.usage.push_back(text + (app.get_prefix_command() ? " -- COMMAND [ARGS...]" : ""));
  return parts;
}

}  // namespace gpuprof::cmd
