#pragma once

#include <array>
#include <string>
#include <vector>

namespace holdfast::cli {

using verb_function = int (*)(const std::vector<std::string>& after_verb);

int verb_run(const std::vector<std::string>& after_verb);
int verb_elect(const std::vector<std::string>& after_verb);
int verb_leader(const std::vector<std::string>& after_verb);
int verb_ls(const std::vector<std::string>& after_verb);
int verb_show(const std::vector<std::string>& after_verb);
int verb_watch(const std::vector<std::string>& after_verb);
int verb_check(const std::vector<std::string>& after_verb);
int verb_deny(const std::vector<std::string>& after_verb);
int verb_break(const std::vector<std::string>& after_verb);
int verb_fence(const std::vector<std::string>& after_verb);
int verb_redlock(const std::vector<std::string>& after_verb);
int verb_verify(const std::vector<std::string>& after_verb);
int verb_doctor(const std::vector<std::string>& after_verb);
int verb_version(const std::vector<std::string>& after_verb);

/// One file of its own per verb, named verb_NAME.cpp.
struct verb {
  const char* name;
  verb_function run;
  const char* summary;
};

const std::array<verb, 14>& all_verbs() noexcept;

}  // namespace holdfast::cli
