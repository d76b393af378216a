// The command lines of the examples: options with their help, read into variables; mistakes end the program with code 2.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

class CommandLine {
 public:
  explicit CommandLine(std::string program) : program_(std::move(program)) {}

  CommandLine& flag(const char* name, bool& value, const char* help) {
    return add(name, "", help, [&value](const char*) { value = true; });
  }
  CommandLine& text(const char* name, const char* placeholder, std::string& value, const char* help) {
    return add(name, placeholder, help, [&value](const char* given) { value = given; });
  }
  CommandLine& number(const char* name, long& value, long least, const char* help) {
    return add(name, "N", help,
               [this, name, least, &value](const char* given) { value = static_cast<long>(checked(name, given, static_cast<double>(least))); });
  }
  CommandLine& real(const char* name, double& value, double least, const char* help) {
    return add(name, "X", help, [this, name, least, &value](const char* given) { value = checked(name, given, least); });
  }

  void parse(int argc, char** argv) const {
    for (int i = 1; i < argc; i++) {
      const std::string given = argv[i];
      if (given == "--help" || given == "-h") std::exit(std::fputs(help().c_str(), stdout) == EOF);
      const Option* option = nullptr;
      for (const Option& one : options_)
        if (one.name == given) option = &one;
      if (!option) mistake("unknown option " + given);
      if (option->placeholder.empty()) option->take(nullptr);
      else if (i + 1 == argc) mistake(given + " expects a value");
      else option->take(argv[++i]);
    }
  }

 private:
  struct Option {
    std::string name, placeholder, help;
    std::function<void(const char*)> take;
  };

  CommandLine& add(const char* name, const char* placeholder, const char* help, std::function<void(const char*)> take) {
    options_.push_back({name, placeholder, help, std::move(take)});
    return *this;
  }
  std::string help() const {
    std::string text = "usage: " + program_ + " [options]\n";
    for (const Option& option : options_) {
      std::string left = "  " + option.name + " " + option.placeholder;
      left.resize(18, ' ');
      text += left + option.help + "\n";
    }
    return text;
  }
  [[noreturn]] void mistake(const std::string& message) const {
    std::fprintf(stderr, "%s: %s\n%s", program_.c_str(), message.c_str(), help().c_str());
    std::exit(2);
  }
  double checked(const std::string& name, const char* text, double least) const {
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= least) || value > 1e9) {
      char bound[32];
      std::snprintf(bound, sizeof bound, "%g", least);
      mistake(name + " expects a number of at least " + bound + ", got \"" + text + "\"");
    }
    return value;
  }

  std::string program_;
  std::vector<Option> options_;
};
